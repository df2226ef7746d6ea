# Programs that lie to sprof record --alloc through the memory that they share with it.
bats_require_minimum_version 1.5.0
cd "$BATS_TEST_DIRNAME/../../.." || exit 1
source tests/rights.bash
source tests/root/ready.bash

setup() {
	needs_root "hook another process"
	needs_attach
	data=$BATS_TEST_TMPDIR/data
}

teardown() {
	[ -z "${target-}" ] || kill -9 "$target" 2>/dev/null || true
}

# Where each of its samples was looked for among all, 4 s became 8 to 11 s.
# bats test_tags=full
@test "a target that invents samples of memory keeps no recorder from its end" {
	start_ready "$TARGETS/alloc_claims" 120
	run --separate-stderr timeout -s KILL 60 "$SPROF" record -o "$data" --alloc -d 4s -p "$target"
	echo "$status; $output $stderr"
	[ "$status" -eq 0 ]
	"$SPROF" info --json "$data" | jq -e '.finished and .duration_s < 30'
	[ "$("$SPROF" fold --column allocated "$data" | wc -l)" -gt 1 ]
}
