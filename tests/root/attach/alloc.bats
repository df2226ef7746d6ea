# Allocation functions of a running program are hooked and restored, and it notices nothing.
bats_require_minimum_version 1.5.0
load ../attach

# bats test_tags=stress
@test "hooks come and go under threads, forks and signals: every block keeps its content" {
	target "$TARGETS/alloc_storm" $life
	drive alloc_hooks "$target" "$(often 10 10000)"
	grep ', code as before' "$BATS_TEST_TMPDIR/figures"
	[ "$(awk '/ samples in / { print $1 }' "$BATS_TEST_TMPDIR/figures")" -gt 0 ]
	nothing_stays
	ends_well
}

# bats test_tags=full
@test "a recorder that is killed leaves hooks that work, and the next one removes them" {
	target "$TARGETS/alloc_storm" 60000
	run "$DRIVERS/alloc_hooks" "$target" 1 die
	[ "$status" -eq 137 ]
	run "$DRIVERS/alloc_hooks" "$target" 1
	echo "$output"
	[[ $output == *"another sprof samples its allocations"* ]]
	sleep 2.5 # its heartbeat is missed
	run "$DRIVERS/alloc_hooks" "$target" 2
	echo "$output"
	[[ $output == *", 0 refused, code as before"* ]]
	nothing_stays
	ends_well
}
