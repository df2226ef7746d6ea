# Commands that read a folder of a flight recorder: as one profile, in a window of time, of a host.
# tests/root/ebpf/continuous.bats records real ones; here a driver writes segments of known samples.
bats_require_minimum_version 1.5.0

setup() {
	cd "$BATS_TEST_TMPDIR"
	# From 2023-11-14T22:13:20Z on: 10 segments of 60 s with 10 samples a second.
	"$BUILD/tests/drivers/segments" d 10 60 10 3
}

samples() { # OPTIONS...
	"$SPROF" report --json "$@" d 2>/dev/null | jq .samples
}

@test "a folder is one profile for every command" {
	local command
	[ "$(samples)" = 6000 ]
	"$SPROF" info --json d | jq -e '.finished and .samples == 6000 and .segments == 10 and .segments_read == 10 and .duration_s == 600 and .lost == 0 and .hostname == "host"'
	"$SPROF" info d | grep -qx 'segments    10, 10 of them read'
	[ "$("$SPROF" fold d | awk '{ n += $NF } END { print n }')" = 6000 ]
	"$SPROF" export -f json d | jq -e '.samples.time_ns | . == sort and length == 6000'
	"$SPROF" flame -o x.svg d
	"$SPROF" diff d d >/dev/null
	"$SPROF" merge d -o one.data
	diff <("$SPROF" fold one.data | sort) <("$SPROF" fold d | sort)
	# names come from the folder, and are those of each segment alone
	"$SPROF" report --json d | jq -e '[.rows[].function] | all(startswith("function_"))'
	"$SPROF" fold "$(ls d/*.data | head -1)" | grep -q ';function_'
}

@test "a part of the time is cut out, by the sample" {
	[ "$(samples --from 60s)" = 5400 ]
	[ "$(samples --from 90s --to 150s)" = 600 ]
	[ "$(samples --from -2m)" = 1200 ]
	[ "$(samples --from -150s --to -90s)" = 600 ]
	[ "$(samples --from 2023-11-14T22:14:20Z --to 2023-11-14T22:14:50.5Z)" = 305 ]
	[ "$(TZ=UTC-1 samples --from '2023-11-14 23:22:20')" = 600 ]
	[ "$(samples --to 2023-11-14T22:13:20Z)" = 0 ]
	"$SPROF" info --json --from -150s --to -90s d | jq -e '.duration_s == 60 and .start == "2023-11-14T22:20:50Z"'
	# the same times of one file
	"$SPROF" merge d -o one.data
	[ "$("$SPROF" report --json --from -150s --to -90s one.data | jq .samples)" = 600 ]
	[ "$("$SPROF" report --json --from 2023-11-14T22:14:20Z --to 2023-11-14T22:14:50.5Z one.data | jq .samples)" = 305 ]
}

@test "segments outside the time are not opened" {
	local file
	for file in $(ls d/*.data | head -5); do
		touch -r "$file" stamp
		head -c 100 /dev/urandom >"$file"
		touch -r stamp "$file"
	done
	run --separate-stderr "$SPROF" report --json --from -2m d
	[ "$status" -eq 0 ]
	[ -z "$stderr" ]
	[ "$(jq .samples <<<"$output")" = 1200 ]
	run --separate-stderr "$SPROF" report --json d
	[ "$status" -eq 0 ]
	[[ $stderr == *"5 of 10 segments in 'd' cannot be read"* ]]
	[ "$(jq .samples <<<"$output")" = 3000 ]
}

@test "hosts that share a folder are told apart" {
	"$BUILD/tests/drivers/segments" d 5 60 10 3 other 1700000030
	[ "$(samples)" = 9000 ]
	[ "$(samples --on other)" = 3000 ]
	[ "$(samples --on host)" = 6000 ]
	run --separate-stderr "$SPROF" report --on nowhere d
	[ "$status" -eq 1 ]
	[ "${stderr_lines[0]}" = "sprof: cannot show 'd': none of its 15 segments is of that time and host" ]
	run --separate-stderr "$SPROF" report --on nowhere "$(ls d/*.data | head -1)"
	[ "$status" -eq 1 ]
	[[ $stderr == *"it was recorded on host"* ]]
}

@test "equal numbers of processes of two hosts are two processes" {
	"$BUILD/tests/drivers/segments" d 5 60 10 3 other 1700000030
	[ "$(samples --pid 1000)" -gt "$(samples --pid 1000 --on other)" ]
	by() { "$SPROF" report --json --by "$@" d | jq -c '[.rows[] | .function] | sort'; }
	[ "$(by process)" = '["program0 (pid 1000 on host)","program0 (pid 1000 on other)","program1 (pid 1001 on host)","program1 (pid 1001 on other)","program2 (pid 1002 on host)","program2 (pid 1002 on other)"]' ]
	[ "$(by thread --pid 1000)" = '["program0 (tid 1000 on host)","program0 (tid 1000 on other)"]' ]
	[ "$(by process --on other --pid 1000)" = '["program0 (pid 1000)"]' ]
	"$SPROF" report --json --by host d | jq -e '[.rows[] | [.function, .self]] | sort == [["host", 6000], ["other", 3000]]'
	"$SPROF" report --json --by host --on other d | jq -e '[.rows[].function] == ["other"]'
	"$SPROF" flame --no-js --by process --pid 1000 -o x.svg d
	grep -q 'program0 (pid 1000 on other)' x.svg
	"$SPROF" flame --no-js --by host -o x.svg d
	grep -q '<title>other' x.svg
	"$SPROF" info d | grep -q '^36 threads in 6 processes$'
	"$SPROF" info d | grep -Eq '^ +11% +1000 +1000 +program0 +other$'
	"$SPROF" info --json d | jq -e '.processes == 6 and ([.threads[] | select(.name == "program0") | .host] | sort == ["host", "other"])'
	"$SPROF" info --json --on other d | jq -e '[.threads[].host] | unique == ["other"]'
}

# A format whose processes are numbers gives one of two equal ones another number.
# bats test_tags=full
@test "exports tell processes of two hosts apart" {
	"$BUILD/tests/drivers/segments" d 5 60 10 3 other 1700000030
	"$SPROF" export -f json d | jq -e '[.threads[] | select(.name == "program0") | .host] | sort == ["host", "other"]'
	"$SPROF" export -f chrome d | jq -e '[(.traceEvents // .)[] | select(.name == "process_name") | [.pid, .args.name]] | unique | [.[] | select(.[1] | startswith("program0"))] | (length == 2) and ([.[][0]] | unique | length == 2) and ([.[][1]] | sort == ["program0 on host", "program0 on other"])'
	"$SPROF" export -f firefox d | jq -e '[.threads[] | select(.name == "program0") | [.pid, .processName]] | (unique_by(.[0]) | length == 2) and ([.[][1]] | sort == ["program0 on host", "program0 on other"])'
	"$SPROF" export -f speedscope d | jq -e '[.profiles[].name | select(startswith("program0"))] | sort == ["program0 (pid 1000, tid 1000 on host) cpu", "program0 (pid 1000, tid 1000 on other) cpu"]'
	"$SPROF" export -f pprof -o x.pb.gz d
	[ "$("$SPROF" report --json --label host=other x.pb.gz | jq .samples)" = 3000 ]
	"$SPROF" merge d -o one.data
	"$SPROF" report --json --by process one.data | jq -e '.rows | length == 6'
	"$SPROF" merge --origin=host d -o one.data
	"$SPROF" fold one.data | awk '{ sub(/;.*/, "", $1); n[$1] += $NF } END { exit !(n["host"] == 6000 && n["other"] == 3000) }'
}

locks() { # OPTIONS...
	"$SPROF" report --locks --json "$@" d | jq -c "${filter:-.rows | map([.address, .holder, .waits, .samples, .waiting_ns, .longest_ns]) | sort}"
}

# The same sums of each segment alone.
locks_of_each() { # FILE...
	local file
	for file; do "$SPROF" report --locks --json "$file" | jq -c '.rows[]'; done |
		jq -sc 'group_by([.address, .holder]) | map([.[0].address, .[0].holder, (map(.waits) | add), (map(.samples) | add), (map(.waiting_ns) | add), (map(.longest_ns) | max)]) | sort'
}

@test "waits for locks, times of threads and system calls are the sums of the segments" {
	local files=(d/*.data)
	[ "$(locks)" = "$(locks_of_each "${files[@]}")" ]
	# the lock whose holder is the same in all segments
	filter='[.rows[] | select(.address == "0x8000")] | map([.waits, .samples, .waiting_ns, .longest_ns])' locks | grep -qx '\[\[55,10,55000000,10000\]\]'
	filter='[.segments, .segments_partly, .report]' locks | grep -qx '\[10,0,"locks"\]'
	"$SPROF" report --locks d | grep -qx 'Sums of 10 segments'
	[ "$("$SPROF" report --locks "${files[0]}" | grep -c Sums)" = 0 ]
	# percentiles of several sets of calls come from their histograms, to an eighth; without these they are known where they are equal
	"$SPROF" report --syscalls --json d | jq -e '.segments == 10 and .rows == [
		{ total_ns: 385000, calls: 55, errors: 10, p50_ns: 6912, p99_ns: 9728, max_ns: 10000, call: "read" },
		{ total_ns: 385000, calls: 55, errors: 10, p50_ns: null, p99_ns: 9000, max_ns: 10000, call: "write" }]'
	"$SPROF" report --syscalls d | grep -Eq '385 us +55 +10 +6.91 us +9.73 us +10.0 us +read'
	"$SPROF" report --syscalls d | grep -Eq '385 us +55 +10 +- '
	"$SPROF" info --json d | jq -e '.times.threads == 40 and .times_segments == 10 and .times_segments_partly == 0 and .times_beyond == 0
		and (.thread_times | length) == 21 and ([.thread_times[] | select(.name == "once") | .wall_ns] | add) == 600e9
		and ([.thread_times[] | select(.tid == 0)] == [{ pid: 0, tid: 0, name: "", host: "", start_ns: 0, threads: 20, wall_ns: 1200000000000, cpu_ns: 600000000000, runnable_ns: 0, waiting_ns: 600000000000, switches: 200 }])'
	"$SPROF" info d | grep -qx 'Sums of 10 segments'
	# those of a merged folder are those of the folder
	"$SPROF" merge d -o one.data
	"$SPROF" report --locks --json one.data | jq -e '[.rows[].waits] | add == 110'
	diff <("$SPROF" report --syscalls --json d | jq .rows) <("$SPROF" report --syscalls --json one.data | jq .rows)
	# and recordings that are merged one by one, or twice, are added up
	"$SPROF" merge "${files[@]}" -o one.data
	diff <("$SPROF" report --syscalls --json d | jq .rows) <("$SPROF" report --syscalls --json one.data | jq .rows)
	"$SPROF" merge one.data d -o twice.data
	"$SPROF" report --syscalls --json twice.data | jq -e '.rows == [
		{ total_ns: 770000, calls: 110, errors: 20, p50_ns: 6912, p99_ns: 9728, max_ns: 10000, call: "read" },
		{ total_ns: 770000, calls: 110, errors: 20, p50_ns: null, p99_ns: 9000, max_ns: 10000, call: "write" }]'
}

@test "sums are of whole segments, and what lies outside of the wanted time is said" {
	local files=(d/*.data)
	[ "$(locks --from 60s --to 180s)" = "$(locks_of_each "${files[@]:1:2}")" ]
	filter='[.segments, .segments_partly]' locks --from 60s --to 180s | grep -qx '\[2,0\]'
	[ "$(locks --from 90s --to 150s)" = "$(locks_of_each "${files[@]:1:2}")" ]
	filter='[.segments, .segments_partly]' locks --from 90s --to 150s | grep -qx '\[2,2\]'
	[ "$(locks --from -2m)" = "$(locks_of_each "${files[@]:8:2}")" ]
	"$SPROF" report --locks --from 90s d | grep -qx 'Sums of 9 segments; 1 of them is only partly in the wanted time, and counts whole'
	"$SPROF" report --syscalls --from 2023-11-14T22:14:21Z --to 2023-11-14T22:14:22Z --json d | jq -e '.segments == 1 and .segments_partly == 1 and .rows[0].calls == 2 and .rows[0].p50_ns == 1984 and .rows[1].p50_ns == 2000'
	# a thread that is watched since the recorder began ends in each segment
	"$SPROF" info --json --from 60s --to 180s d | jq -e '.times_segments == 2 and .times_beyond == 2 and (.thread_times | length) == 5'
	"$SPROF" info --from 60s d | grep -q '^9 of these threads were watched outside of the wanted time, too, and all of that is counted$'
	# no other tables and filters
	run "$SPROF" report --locks --pid 1000 d
	[ "$status" -eq 2 ]
	run "$SPROF" report --calls --from 1s d
	[ "$status" -eq 2 ]
	run "$SPROF" report --locks --from 1s "${files[0]}"
	[ "$status" -eq 2 ]
}

@test "sums of two hosts are kept apart" {
	"$BUILD/tests/drivers/segments" d 5 60 10 3 other 1700000030
	filter='[.rows[] | select(.address == "0x8000") | [.host, .pid, .waits]] | sort' locks | grep -qx '\[\["host",1000,55\],\["other",1000,15\]\]'
	filter='[.rows[] | select(.address == "0x8000") | [.pid, .waits]]' locks --on other | grep -qx '\[\[1000,15\]\]'
	"$SPROF" report --locks d | grep -Eq ' other '
}

@test "what is not a segment is neither read nor waited for" {
	mkfifo d/sprof-20231114T221000.000Z.data
	ln -s /etc/passwd d/sprof-20231114T221000.001Z.data
	mkdir d/sprof-20231114T221000.002Z.data
	echo x >d/notes
	[ "$(samples)" = 6000 ]
	mkdir empty
	run --separate-stderr "$SPROF" report empty
	[ "$status" -eq 1 ]
	[ "${stderr_lines[0]}" = "sprof: cannot read 'empty': it is a folder without segments" ]
}

@test "a killed recorder leaves a folder that says so" {
	local last=$(ls d/*.data | tail -1)
	truncate -s -700 "$last"
	run --separate-stderr "$SPROF" report d
	[ "$status" -eq 0 ]
	[[ $stderr == *"'d' is UNFINISHED: 1 of 10 segments are not finished"* ]]
	"$SPROF" info --json d | jq -e '.finished == false and .segments_read == 10'
	# While a recorder has the folder, its last segment is only not finished yet.
	python3 - <<-'EOF' 3>&- &
	import fcntl, time
	f = open("d/lock", "r+")
	fcntl.lockf(f, fcntl.LOCK_EX)
	open("locked", "w")
	time.sleep(60)
	EOF
	local holder=$!
	until [ -e locked ]; do sleep 0.05; done
	run --separate-stderr "$SPROF" report d
	"$SPROF" info d >said
	kill $holder
	[ -z "$stderr" ]
	grep -qx 'state       being recorded' said
}

@test "times that are none are refused" {
	local time
	for time in x -x 10x -2023-11-14 2023-13-14 2023-11-14T22 --; do
		run "$SPROF" report --from="$time" d
		[ "$status" -eq 2 ]
	done
	run "$SPROF" report --from -1m --to -2m d
	[ "$status" -eq 2 ]
}

@test "marks are shown, and begin and end a part of the time" {
	local now
	run "$SPROF" mark
	[ "$status" -eq 2 ]
	run --separate-stderr "$SPROF" mark nowhere x
	[ "$stderr" = "sprof: cannot open 'nowhere': No such file or directory" ]
	# Marks of the time of the segments, as sprof mark writes them now.
	"$SPROF" mark d $'deploy\n417'
	now=$(date +%s)
	[[ $(cat d/marks) =~ ^${now:0:7}[0-9]{12}' deploy 417'$ ]]
	printf '1700000060000000000 begin\n1700000090500000000 end\nxx\n17 \n' >>d/marks
	[ "$(samples --from mark:begin --to mark:end)" = 305 ]
	"$SPROF" info --to -1s d | grep -A1 '^marks ' | diff - <(printf '%s\n' 'marks       2023-11-14 22:14:20 +0000  begin' '            2023-11-14 22:14:50 +0000  end')
	"$SPROF" info --json --from 30s --to 80s d | jq -e '.marks == [{ realtime_ns: 1700000060000000000, text: "begin" }]'
	run --separate-stderr "$SPROF" report --from mark:nothing d
	[ "$status" -eq 1 ]
	[ "${stderr_lines[0]}" = "sprof: cannot find the mark 'nothing' in 'd'" ]
	run --separate-stderr "$SPROF" report --from mark:begin "$(ls d/*.data | head -1)"
	[ "$status" -eq 1 ]
	# Nothing else is written to.
	rm d/marks
	ln -s ../victim d/marks
	run "$SPROF" mark d x
	[ "$status" -eq 1 ]
	[ ! -e victim ]
	rm d/marks
	mkfifo d/marks
	run timeout 5 "$SPROF" mark d x
	[ "$status" -eq 1 ]
	[ "$(samples)" = 6000 ]
}
