# sprof record --continuous: segments in a folder. tests/unit/core/segments tests names, retention and
# what a segment holds; here are the turns of a real recorder, and what may go wrong around it.
bats_require_minimum_version 1.5.0
load ../flight
load ../waits

has_segments() { # NUMBER: at least
	[ "$(segments | wc -l)" -ge "$1" ]
}

teardown() {
	[ -n "${pids[*]-}" ] || return 0
	kill -9 "${pids[@]}" 2>/dev/null || true
	wait "${pids[@]}" || true
	! mountpoint -q "$dir" || umount -l "$dir"
}

# Of other programs the files may be gone.
folded_shares() { # FILE
	"$SPROF" fold "$1" 2>/dev/null | grep '^shares;' | sort
}

@test "segments open alone, are finished, and no time is missing between them" {
	local file i
	# Every CPU is busy all the time: then each has a sample each ms.
	for i in $(seq "$(nproc)"); do start "$TARGETS/shares" 20000; done
	sleep 0.3
	fly --segment 700ms -F 999 -a
	wait_until has_segments 5
	land TERM
	[ "$(segments | wc -l)" -ge 5 ]
	segments | sort -c
	for file in $(segments); do
		"$SPROF" info --json "$file" 2>/dev/null | jq -e '.finished and .samples > 0 and .source == "ebpf" and .frequency_hz == 999 and .duration_s < 3'
		"$SPROF" export -f json "$file" 2>/dev/null | jq -r --arg f "$file" '.samples.time_ns[] | "\(.) \($f)"' >>"$BATS_TEST_TMPDIR/times"
	done
	sort -n -o "$BATS_TEST_TMPDIR/times" "$BATS_TEST_TMPDIR/times"
	# The largest step from one segment to the next, and inside of segments: another guest of the
	# machine may stop this one.
	awk 'NR > 1 { gap = $1 - time; if ($2 != file) { if (gap > turn) turn = gap } else if (gap > inside) inside = gap }
	     { time = $1; file = $2 }
	     END { print NR, "samples, ms: turn", turn / 1e6, "inside", inside / 1e6; exit !(turn && (turn <= 10e6 || turn <= inside)) }' "$BATS_TEST_TMPDIR/times"
	# Names lie beside the segments; without them, files of this machine have them.
	file=$(segments | sed -n 3p)
	"$SPROF" fold "$file" 2>/dev/null | grep -q ';main;'
	cp "$file" "$BATS_TEST_TMPDIR/alone.data"
	folded_shares "$BATS_TEST_TMPDIR/alone.data" | diff - <(folded_shares "$file")
}

# bats test_tags=full
@test "recordings that have the names of the next segments stay" {
	local now=$(date +%s) s
	mkdir "$dir"
	for s in {0..14}; do
		printf "sprof-$(date -u -d "@$((now + s))" +%Y%m%dT%H%M%S).%03dZ.data\n" {0..999}
	done | (cd "$dir" && xargs touch)
	run --separate-stderr "$SPROF" record --continuous "$dir" --keep all -d 1s -a
	[ "$status" -eq 1 ]
	[[ ${stderr_lines[-1]} == "sprof: cannot write '$dir/sprof-"*"': File exists" ]]
	[ "$(segments | wc -l)" = 15000 ]
}

@test "SIGHUP begins a segment, and a second recorder is refused" {
	work shares 20000
	fly --segment 1h -p ${pids[0]}
	sleep 0.3
	kill -HUP $recorder
	wait_until has_segments 2
	kill -0 $recorder
	run --separate-stderr "$SPROF" record --continuous "$dir" -p ${pids[0]}
	[ "$status" -eq 1 ]
	[ "${stderr_lines[0]}" = "sprof: cannot record into '$dir': another recorder does, process $recorder" ]
	land
	[ "$(segments | wc -l)" -eq 2 ]
	said "in 2 segments, 0 lost"
}

# Of a real recorder, whose rows are told again and again while a segment is written.
# bats test_tags=full
@test "waits for locks and times of threads in a folder are the sums of its segments" {
	local file
	work locks 3000
	fly --segment 500ms --clock wall --source ebpf -p ${pids[0]}
	wait_until has_segments 4
	land
	for file in $(segments); do
		# a segment in which nobody waited for a lock has no such table
		"$SPROF" report --locks --json "$file" 2>/dev/null || true
	done | jq -s '[.[].rows[] | .waiting_ns] | add' >"$BATS_TEST_TMPDIR/each"
	[ "$(cat "$BATS_TEST_TMPDIR/each")" -gt 0 ]
	[ "$("$SPROF" report --locks --json "$dir" | jq '[.rows[].waiting_ns] | add')" = "$(cat "$BATS_TEST_TMPDIR/each")" ]
	for file in $(segments); do "$SPROF" info --json "$file" 2>/dev/null; done | jq -s 'map(.times.wall_ns // 0) | add' >"$BATS_TEST_TMPDIR/each"
	[ "$(cat "$BATS_TEST_TMPDIR/each")" -gt 0 ]
	[ "$("$SPROF" info --json "$dir" 2>/dev/null | jq '.times.wall_ns')" = "$(cat "$BATS_TEST_TMPDIR/each")" ]
}

# Sums of all threads of a segment, in ms.
times_of() { # SEGMENT
	"$SPROF" info --json "$1" 2>/dev/null | jq -r '.duration_s * 1000, (.thread_times[] | .name, .wall_ns / 1e6, .cpu_ns / 1e6, .runnable_ns / 1e6, .waiting_ns / 1e6)' | xargs
}

# bats test_tags=full
@test "a segment has the times that passed in it, also of threads that go on" {
	work waits 20000 # two threads: one waits, one works every other tenth of a second
	fly --segment 1s --clock wall --source ebpf -p ${pids[0]}
	wait_until has_segments 6
	land
	local file nr=0
	for file in $(segments | sed '1d;$d'); do
		times_of "$file"
		"$SPROF" info --json "$file" 2>/dev/null | jq -e '.duration_s as $s | (.thread_times | length) == 2 and
			all(.thread_times[]; (.cpu_ns + .runnable_ns + .waiting_ns) == .wall_ns and (.wall_ns / 1e9 - $s | fabs) < 0.1) and
			any(.thread_times[]; .waiting_ns == .wall_ns) and
			any(.thread_times[]; .cpu_ns + .runnable_ns > 0.35 * .wall_ns and .waiting_ns > 0.35 * .wall_ns)'
		nr=$((nr + 1))
	done
	[ $nr -ge 4 ]
	# A thread is one row in the folder, which says since when it is watched. No time is missing between segments.
	"$SPROF" info --json "$dir" 2>/dev/null | jq -e '.duration_s as $s | (.thread_times | length) == 2 and .times_beyond == 0 and
		all(.thread_times[]; (.wall_ns / 1e9 - $s | fabs) < 0.2 and .start_ns > 0)'
	# A window has the times of its segments alone.
	local output
	output=$("$SPROF" info --json "$dir" --from 2.2s --to 3s 2>/dev/null)
	[ "$(jq '.times_segments' <<<"$output")" -ge 1 ]
	jq -e '.times_segments as $n | all(.thread_times[]; .wall_ns > ($n - 0.3) * 1e9 and .wall_ns < ($n + 0.3) * 1e9)' <<<"$output"
}

# bats test_tags=full
@test "times of threads in a folder are the kernel's" {
	cd "$BATS_TEST_TMPDIR"
	stolen_ns >stolen
	"$SPROF" record --continuous "$dir" --segment 300ms --source ebpf --clock wall -- "$TARGETS/waiting" 3000 >truth
	[ "$(segments | wc -l)" -ge 8 ]
	"$SPROF" info --json "$dir" >info.json
	times_add_up
	kernel_agrees
}

# bats test_tags=full
@test "system calls of a folder are the sums of its segments, with percentiles of all" {
	cd "$BATS_TEST_TMPDIR"
	"$SPROF" record -q --continuous "$dir" --segment 300ms --source ebpf --syscalls=4ms -- "$TARGETS/system_calls" 400000 >truth
	local file
	[ "$(segments | wc -l)" -ge 3 ]
	"$SPROF" report --syscalls --json "$dir" >calls.json
	for file in $(segments); do "$SPROF" report --syscalls --json "$file" 2>/dev/null || true; done | jq -s '[.[].rows[]]' >each.json
	jq -c 'group_by(.call) | map([.[0].call, (map(.calls) | add), (map(.errors) | add), (map(.total_ns) | add), (map(.max_ns) | max)]) | sort' each.json >sums
	jq -c '.rows | map([.call, .calls, .errors, .total_ns, .max_ns]) | sort' calls.json | diff sums -
	calls_are_true
	# Percentiles are known, and lie between those of the segments, to an eighth.
	jq -e --slurpfile each each.json 'all(.rows[]; .call as $call | [$each[0][] | select(.call == $call)] as $of |
		.p50_ns >= ([$of[].p50_ns] | min) / 1.13 and .p50_ns <= ([$of[].p50_ns] | max) * 1.13 and
		.p99_ns >= ([$of[].p99_ns] | min) / 1.13 and .p99_ns <= ([$of[].p99_ns] | max) * 1.13 and .p99_ns <= .max_ns)' calls.json
	jq -e '.rows[] | select(.call == "clock_nanosleep") | .p50_ns >= 4.6e6' calls.json
	# Calls over the threshold have stacks in every segment.
	"$SPROF" fold --time --column long-calls "$dir" 2>/dev/null | grep -E ';main;naps;.*clock_nanosleep'
}

# bats test_tags=full
@test "kill -9 leaves a folder whose last segment has names, and the next recorder goes on" {
	work shares 20000
	fly --segment 4s -F 499 -p ${pids[0]}
	wait_until has_segments 2
	sleep 2.3 # more than the second that may be lost
	kill -9 $recorder
	wait $recorder || true
	local last=$(segments | tail -1)
	run --separate-stderr "$SPROF" fold "$last"
	[[ $stderr == *"is UNFINISHED: the recorder was killed"* ]]
	grep -q ';main;' <<<"$output"
	local before=$(segments | wc -l)
	fly --segment 1s -F 499 -p ${pids[0]}
	wait_until has_segments $((before + 2))
	[ -e "$last" ]
	land
}

# bats test_tags=full
@test "old segments are deleted, and nothing else" {
	work shares 20000
	mkdir "$dir"
	echo mine >"$dir/notes"
	ln -s notes "$dir/sprof-20200101T000000.000Z.data"
	fly --segment 200ms --keep 1s -F 99 -p ${pids[0]}
	sleep 4
	[ "$(segments | wc -l)" -le 8 ]
	land
	[ "$(cat "$dir/notes")" = mine ]
	[ -L "$dir/sprof-20200101T000000.000Z.data" ]
}

# bats test_tags=full
@test "a folder that is deleted is made anew, and the loss is said" {
	work shares 20000
	fly --segment 1h -F 499 -p ${pids[0]}
	sleep 1.2
	rm -r "$dir"
	wait_until said 'is written to again'
	sleep 1.2
	land
	said "'$dir' was deleted, with"
	[ "$("$SPROF" info --json "$(segments)" 2>/dev/null | jq '.samples > 0 and .lost > 0')" = true ]
}

# bats test_tags=full
@test "SIGUSR2 keeps the last segments for good" {
	work shares 20000
	fly --segment 500ms --keep 1s -F 499 -p ${pids[0]}
	wait_until has_segments 3
	kill -USR2 $recorder
	wait_until said 'segments are kept in'
	sleep 2.5
	land
	[ "$(find "$dir/kept" -name 'sprof-*.data' | wc -l)" -ge 3 ]
	"$SPROF" fold "$dir/kept" 2>/dev/null | grep -q ';main;'
}

# bats test_tags=full
@test "a program can be started into a flight recorder" {
	run --separate-stderr "$SPROF" record --continuous "$dir" --segment 500ms -- bash -c '"$0" 2000; exit 7' "$TARGETS/shares"
	[ "$status" -eq 7 ]
	[ "$(segments | wc -l)" -ge 3 ]
	[ "$("$SPROF" info --json "$dir" | jq '.finished and .samples > 100')" = true ]
	"$SPROF" fold "$dir" | grep -q ';main;'
}

# bats test_tags=full
@test "a full disk costs samples, which are counted, and then the oldest segment" {
	mkdir "$dir"
	mount -t tmpfs -o size=96k,mode=700 tmpfs "$dir" || skip "cannot mount a tmpfs"
	work unique 20000
	fly --segment 500ms -F 1999 -p ${pids[0]}
	wait_until said 'No space left on device'
	wait_until said 'is written to again'
	land
	local last=$(segments | tail -1)
	umount -l "$dir"
	[ -n "$last" ]
	! said "Assertion" || false
}

# bats test_tags=full
@test "memory and descriptors do not grow with segments and processes" {
	start bash -c 'while :; do /bin/true; done'
	fly --segment 200ms --keep 2s -F 199 -p ${pids[0]}
	sleep 4
	local fds=$(ls /proc/$recorder/fd | wc -l) rss=$(awk '/VmRSS/ { print $2 }' /proc/$recorder/status)
	sleep 12
	local fds_after=$(ls /proc/$recorder/fd | wc -l) rss_after=$(awk '/VmRSS/ { print $2 }' /proc/$recorder/status)
	land
	echo "descriptors $fds to $fds_after, memory $rss to $rss_after kB"
	[ $fds_after -le $((fds + 20)) ]
	[ $rss_after -le $((rss + 2048)) ]
}

@test "options that cannot work are refused" {
	local options
	for options in "--segment 10s" "--continuous $dir -o x" "--continuous $dir --segment 1ms" "--continuous $dir --keep 1s" "--continuous $dir --max-size 5" "--continuous $dir --gpu on" "--continuous $dir -s timer"; do
		run "$SPROF" record -a $options
		[ "$status" -eq 2 ]
	done
	[ ! -e "$dir" ]
}

# bats test_tags=full
@test "a folder that another user owns or may write to is refused, also in place of a deleted one" {
	mkdir -m 777 "$dir"
	run --separate-stderr "$SPROF" record --continuous "$dir" -a
	[ "$status" -eq 1 ]
	[ "${stderr_lines[0]}" = "sprof: cannot record into '$dir': another user owns it or may write to it" ]
	[ -z "$(ls "$dir")" ]
	chmod 700 "$dir"
	work shares 20000
	fly --segment 200ms -p ${pids[0]}
	mv "$dir" "$dir.old"
	mkdir -m 777 "$dir"
	wait_until said "'$dir' was deleted"
	wait_until said "cannot write '$dir/"
	[ -z "$(ls "$dir")" ]
	rmdir "$dir"
	wait_until has_segments 1
	[ "$(stat -c %a "$dir")" = 700 ]
	land
}

# bats test_tags=full
@test "names beside a segment may take as much memory as a file of their size" {
	local bombs=$BUILD/tests/drivers/bombs file peak status
	work shares 20000
	fly --segment 300ms -p ${pids[0]}
	wait_until has_segments 2
	land
	for file in "$dir"/names/*; do "$bombs" make recording "$file"; done
	file=$(segments | head -1)
	read -r peak status < <("$bombs" peak "$SPROF" fold "$file" 2>"$log")
	echo "$peak MB, status $status, $(cat "$log")"
	[ "$status" -eq 1 ]
	[ "$peak" -lt 320 ]
	grep -q "^sprof: cannot read '$dir/names': its .* would take more than" "$log"
}
