# sprof dump says what each sleeping thread waits for.
load ../recorder

teardown() {
	kill -9 "${pids[@]}" 2>/dev/null || true
}

@test "threads that sleep say what they wait for" {
	pids=()
	"$TARGETS/idle" 20000 3>&- &
	pids+=($!)
	"$TARGETS/waiting" 20000 >/dev/null 3>&- &
	pids+=($!)
	sleep 0.5
	"$SPROF" dump -p "${pids[0]}" --json >"$BATS_TEST_TMPDIR/idle"
	"$SPROF" dump -p "${pids[1]}" --json >"$BATS_TEST_TMPDIR/waiting"
	"$SPROF" dump -p "${pids[0]}" >"$BATS_TEST_TMPDIR/text"
	cd "$BATS_TEST_TMPDIR"
	waits_for() { jq -r --arg name "$2" '[.threads[] | select(.name == $name)][0].waits_for' "$1"; }
	[[ "$(waits_for idle accepts)" =~ ^'socket wait, accept of descriptor '[0-9]+', socket:['[0-9]+']'$ ]]
	[[ "$(waits_for idle loops)" =~ ^'poll wait, epoll_wait on descriptor '[0-9]+', which watches 0'$ ]]
	# Both wait for one queue; the futex is inside that condition variable.
	[[ "$(waits_for idle pool)" =~ ^'lock wait, futex at 0x'[0-9a-f]+', ' ]]
	[ "$(waits_for idle contends)" != "$(waits_for idle pool)" ]
	[[ "$(waits_for idle idle)" == 'sleep, clock_nanosleep' ]]
	[[ "$(waits_for waiting waits_on)" == 'poll wait, poll of 1 descriptor' ]]
	grep -E 'sleeping.*: socket wait, accept of descriptor [0-9]+, socket:' text
	# The address is that of the mutex in the program's data, which has a name.
	base=$(awk '$6 ~ /\/idle$/ && !n++ { sub(/-.*/, "", $1); print $1 }' "/proc/${pids[0]}/maps")
	held=$(nm "$TARGETS/idle" | awk '$3 == "held" { print $1 }')
	[ "$(waits_for idle contends)" = "$(printf 'lock wait, futex at 0x%x, held (idle+0x%x)' $((16#$base + 16#$held)) $((16#$held)))" ]
}
