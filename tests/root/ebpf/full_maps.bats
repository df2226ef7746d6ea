# Maps of the BPF programs that are full: what has no room is counted and said, and the recording goes on. limits.bats has
# those of files, rows and rules, memory.bats the rows that have little memory, record.bats mappings and the ring.
# bats file_tags=full, alone
bats_require_minimum_version 1.5.0
load ../recorder

# The next test needs the room: the kernel takes seconds to end so many.
teardown() {
	[ -z "${pids[*]-}" ] || kill -9 "${pids[@]}" 2>/dev/null || true
	[ -z "${pids[*]-}" ] || wait "${pids[@]}" || true
	for _ in $(seq 300); do
		pgrep -x many_processes >/dev/null || break
		sleep 0.1
	done
}

# The kernel's table holds 16384 processes, 65536 with -a, unless there are never so many.
needs_processes() { # NUMBER
	[ "$(cat /proc/sys/kernel/pid_max)" -gt $(($1 + 2000)) ] || skip "there cannot be $1 processes here (kernel.pid_max)"
}

@test "children beyond the table of processes are counted, and the others are sampled" {
	needs_processes 17000
	run --separate-stderr "$SPROF" record -o "$data" -F 499 -- "$TARGETS/many_processes" wait 17000 2000
	[ "${lines[*]}" = "ready ended" ] || skip "17000 processes cannot be started here"
	echo "$stderr"
	[[ $stderr == *"warning: more processes than the kernel's table holds: further ones are not sampled"* ]]
	[ "$(told '.limits[] | select(.limit == 12).times')" -gt 600 ]
	fold
	[ "$(samples ';main;within')" -gt 500 ]
	[ "$(samples ';beyond')" -eq 0 ]
}

@test "processes that are there already and do not fit into the table are counted" {
	needs_processes 17000
	start "$TARGETS/many_processes" wait 17000 40000
	local group=${pids[0]}
	until [ "$(wc -w <"/proc/$group/task/$group/children")" -ge 17000 ]; do
		kill -0 "$group" || skip "17000 processes cannot be started here"
		sleep 0.1
	done
	run --separate-stderr "$SPROF" record -o "$data" -F 499 -d 3s -p "$group"
	echo "$stderr"
	[ "$status" -eq 0 ]
	[[ $stderr == *"warning: more than 16384 processes belong to the targets: some that run already are not sampled"* ]]
	fold
	[ "$(samples ';main;within')" -gt 100 ]
}

@test "calls in children beyond the table of those that are counted are left out, and that is said" {
	needs_processes 17000
	run --separate-stderr "$SPROF" record -o "$data" --calls 'many_processes:within' --calls 'many_processes:beyond' -- \
		"$TARGETS/many_processes" wait 17000 500
	[ "${lines[*]}" = "ready ended" ] || skip "17000 processes cannot be started here"
	echo "$stderr"
	# 17001 children, and the table has room for 16383 beside their parent.
	[[ $stderr == *"warning: calls in 618 child processes are not counted: too many processes are there at a time"* ]]
	"$SPROF" report --calls --json "$data" >"$BATS_TEST_TMPDIR/calls"
	[ "$(jq '.rows[] | select(.function == "within").calls' "$BATS_TEST_TMPDIR/calls")" -eq 1 ]
	[ "$(jq '[.rows[] | select(.function == "beyond").calls] | add // 0' "$BATS_TEST_TMPDIR/calls")" -eq 0 ]
}

@test "interpreters beyond the table of Pythons are counted, and have native frames" {
	needs_processes 1100
	run --separate-stderr "$SPROF" record -o "$data" -F 499 -- "$TARGETS/many_processes" python 1100 1000
	[ "${lines[*]}" = "ready ended" ] || skip "1100 processes cannot be started here"
	echo "$stderr"
	[[ $stderr == *"warning: more than 1023 Python processes: further ones have native frames only"* ]]
	[ "$(told '.limits[] | select(.limit == 14).times')" -gt 50 ]
	fold
	[ "$(samples ';main;within')" -gt 200 ]
	[ "$(samples ';main;beyond')" -gt 200 ]
}
