# What may go wrong around a flight recorder that is left running: it goes on, does no harm to its targets, and says what
# was lost. continuous.bats has the disk that is full, the folder that is deleted and the recorder that is killed.
# bats file_tags=full
bats_require_minimum_version 1.5.0
load ../tree
load ../ready
load ../flight

teardown() {
	local group
	kill -9 ${target:-} ${pids[@]+"${pids[@]}"} 2>/dev/null || true
	wait ${target:-} ${pids[@]+"${pids[@]}"} || true
	for group in ${groups[@]+"${groups[@]}"}; do
		until rmdir "$group" 2>/dev/null || [ ! -d "$group" ]; do sleep 0.1; done
	done
}

# Waits until the recorder has said it, for as long as a busy machine may take. TEXT
comes() {
	for _ in $(seq 600); do
		! said "$1" || return 0
		kill -0 $recorder
		sleep 0.1
	done
	cat "$log"
	return 1
}

# Is there a sample in each of these segments? SEGMENT...
have_samples() {
	local segment
	for segment; do
		"$SPROF" info --json "$segment" 2>/dev/null | jq -e '.samples > 0' || return 1
	done
}

@test "a recorder without a descriptor to spare drops samples, counts them, keeps its segments, and goes on" {
	work shares 100000
	fly --segment 500ms -F 499 -p ${pids[0]}
	until [ "$(segments | wc -l)" -ge 6 ]; do sleep 0.1; done
	prlimit --pid $recorder --nofile=4:
	comes 'Too many open files'
	local there=$(segments) file
	sleep 3.5 # for three more tries
	for file in $there; do [ -e "$file" ]; done
	prlimit --pid $recorder --nofile=1024:
	comes 'is written to again'
	local before=$(segments | wc -l)
	until [ "$(segments | wc -l)" -ge $((before + 2)) ]; do sleep 0.1; done
	land
	[ "$("$SPROF" info --json "$dir" 2>/dev/null | jq '.samples > 0 and .lost > 0')" = true ]
	have_samples "$(segments | tail -2 | head -1)"
	kill -0 ${pids[0]}
}

@test "a disk that fails costs what could not be written, which is counted" {
	command -v strace >/dev/null || skip "there is no strace"
	work shares 100000
	fly --segment 1h -F 499 -p ${pids[0]}
	local first=$(segments)
	sleep 1
	strace -qq -o "$BATS_TEST_TMPDIR/strace" -e trace=write,pwrite64 -P "$(realpath "$(segments | tail -1)")" \
		-e inject=write,pwrite64:error=EIO -p $recorder 3>&- &
	pids+=($!)
	comes 'Input/output error'
	kill -INT ${pids[-1]}
	comes 'is written to again'
	[ -e "$first" ] # there was room, so nothing was deleted for it
	sleep 1.2
	land
	[ "$("$SPROF" info --json "$dir" 2>/dev/null | jq '.samples > 0 and .lost > 0')" = true ]
	have_samples "$(segments | tail -1)"
	kill -0 ${pids[0]}
}

@test "processes of a cgroup that is frozen are waited for without a sample, and sampled when they go on" {
	make_cgroups
	[ -e "${groups[1]}/cgroup.freeze" ] || skip "this kernel does not freeze cgroups of version 2"
	start sh -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "${groups[1]}" "$TARGETS/shares" 100000
	sleep 0.3
	fly --segment 1s -F 499 --cgroup "/sprof-$$"
	echo 1 >"${groups[1]}/cgroup.freeze"
	until grep -qx 'frozen 1' "${groups[1]}/cgroup.events"; do sleep 0.05; done
	local frozen=$(date +%s.%N)
	sleep 4
	kill -0 $recorder
	local thawed=$(date +%s.%N)
	echo 0 >"${groups[1]}/cgroup.freeze"
	sleep 3
	land
	local at=$(awk -v a=$frozen -v b=$thawed 'BEGIN { print int(a + 1.5), int(b) }')
	iso() { date -u -d "@$1" +%Y-%m-%dT%H:%M:%S; }
	run --separate-stderr "$SPROF" report --json "$dir" --from "$(iso ${at% *})" --to "$(iso ${at#* })"
	[ "$(jq '[.rows[].self] | add // 0' <<<"${output:-null}")" = 0 ]
	[ "$("$SPROF" info --json "$dir" 2>/dev/null | jq '.lost')" = 0 ]
	have_samples "$(segments | tail -2 | head -1)"
}

@test "ten thousand threads are sampled to the root, within --max-memory" {
	start_ready "$TARGETS/many_threads" 10000 100000
	fly --segment 2s -F 999 --max-memory 80M -p $target
	sleep 10
	local kib=$(awk '/^RssAnon|^RssShmem/ { n += $2 } END { print n }' /proc/$recorder/status)
	kill -0 $target
	land
	echo "$kib KiB"
	[ $kib -le $((40 << 10)) ]
	"$SPROF" info --json "$dir" 2>/dev/null | jq -e '.samples > 0 and .lost == 0'
	"$SPROF" fold "$dir" 2>/dev/null | awk '/;take_turns;work_[a-d]/ { n += $NF } { all += $NF } END { print n, all; exit n < 0.8 * all }'
}

cpu_ms() { # PID
	sed 's/.*) //' "/proc/$1/stat" | awk '{ print ($12 + $13) * 10 }'
}

# A process that starts programs as fast as it can, for 6 s, once there is a file `go`, and then works: pids[0].
start_storm() {
	cd "$BATS_TEST_TMPDIR"
	start bash -c 'until [ -e go ]; do sleep 0.05; done; "$0/exec_storm" 6000 >rate; exec "$0/shares" 100000' "$TARGETS"
}

# The recorder goes on, takes at most one CPU and little memory, and its folder says what it has and has not.
outlives_the_storm() {
	local before cost kb
	sleep 1
	before=$(cpu_ms $recorder)
	touch go
	sleep 6
	cost=$((($(cpu_ms $recorder) - before) / 60))
	kb=$(awk '/^RssAnon/ { print $2 }' /proc/$recorder/status)
	until [ -s rate ]; do sleep 0.1; done
	sleep 3
	land
	echo "$(cat rate) programs in a second, the recorder took $cost % of a CPU and $kb kB"
	"$SPROF" info --json "$dir" 2>/dev/null >info.json
	jq -c '{ samples, lost, limits_hit, incomplete }' info.json
	"$SPROF" fold "$dir" 2>/dev/null >folded
	# The shares of what it took, and of what works afterwards.
	awk '/exec_storm;/ { storm += $NF } /^shares;.*;main;part_/ { after += $NF } END { print storm, after; exit !(storm > 100 && after > 100) }' folded
	[ $cost -le 100 ]
	[ $kb -le 60000 ]
}

@test "thousands of programs start in a second: the recorder of their parent survives" {
	start_storm
	fly --segment 2s -F 499 -p ${pids[0]}
	outlives_the_storm
}

@test "thousands of programs start in a second: the recorder of the whole system survives" {
	start_storm
	fly --segment 2s -F 499 -a
	outlives_the_storm
}
