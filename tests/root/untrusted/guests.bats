# Processes that do the recorder harm: those that it samples, and others of the same machine.
bats_require_minimum_version 1.5.0
cd "$BATS_TEST_DIRNAME/../../.." || exit 1
source tests/rights.bash
GUEST=tests/root/untrusted/guest.py

setup() {
	command -v python3 >/dev/null || skip "needs python3"
	data=$BATS_TEST_TMPDIR/data pids=()
}

teardown() {
	[ -n "${pids[*]-}" ] || return 0
	kill -9 "${pids[@]}" 2>/dev/null || true
	wait "${pids[@]}" 2>/dev/null || true
}

start() {
	"$@" >/dev/null 2>&1 3>&- &
	pids+=($!)
}

# ---- shared memory

@test "a target cannot take away the memory that it shares with the recorder" {
	run --separate-stderr "$SPROF" record -o "$data" --source timer -F 999 -- python3 $GUEST shrink
	echo "$output $stderr"
	[ "$status" -eq 0 ]
	[ "${lines[0]}" = "refused: Operation not permitted" ]
	[ "${lines[1]}" = "refused: Operation not permitted" ]
	[ "$("$SPROF" info --json "$data" | jq '.samples > 20 and .finished')" = true ]
}

@test "GPU data in memory that could shrink is refused" {
	run --separate-stderr "$SPROF" record -o "$data" --source timer --gpu on -F 999 -- python3 $GUEST region
	echo "$output $stderr"
	[ "$status" -eq 0 ]
	[ "${lines[0]}" = "refused: Connection reset by peer" ] || [ "${lines[0]}" = "answer: b''" ]
	[[ $stderr == *"could not hand over its GPU data: Operation not permitted"* ]]
}
