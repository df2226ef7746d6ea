# Allocation functions of a running program are hooked and restored, and it notices nothing.
bats_require_minimum_version 1.5.0
load ../attach

# bats test_tags=stress,full
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

@test "what a recorder has left that was killed before its hooks were on is unmapped by the next one" {
	local alive left code
	target "$TARGETS/alloc_left"
	until read -r alive left code <"$said"; do sleep 0.05; done
	grep -q "^0*$code-.* r-xp 00000000 00:00 0" "/proc/$target/maps"
	"$DRIVERS/alloc_hooks" "$target" 1
	grep memfd:sprof "/proc/$target/maps"
	[ "$(grep -c memfd:sprof "/proc/$target/maps")" -eq 2 ] # of the one that seems to be alive
	grep -q "^0*$alive-" "/proc/$target/maps"
	[ -z "$(grep "^0*$left-" "/proc/$target/maps")" ]
	[ -z "$(grep "^0*$code-.* r-xp 00000000 00:00 0" "/proc/$target/maps")" ]
	ends_well
}

# It dies where the old hooks are off and what they led to is still mapped.
# bats test_tags=full
@test "what a recorder has left that was killed while it removed another's hooks is unmapped by the next one" {
	command -v gdb >/dev/null || skip "needs gdb"
	target "$TARGETS/alloc_storm" 60000
	run "$DRIVERS/alloc_hooks" "$target" 1 die
	[ "$status" -eq 137 ]
	sleep 2.5 # its heartbeat is missed
	gdb -batch -nx -ex 'set confirm off' -ex 'break alloc_memory_unmap' -ex run -ex kill \
		--args "$DRIVERS/alloc_hooks" "$target" 1 >"$BATS_TEST_TMPDIR/gdb" 2>&1 3>&- || true
	grep -q 'Breakpoint 1.*, alloc_memory_unmap (' "$BATS_TEST_TMPDIR/gdb" || { cat "$BATS_TEST_TMPDIR/gdb"; return 1; }
	grep -q memfd:sprof-alloc "/proc/$target/maps"
	"$DRIVERS/alloc_hooks" "$target" 1
	nothing_stays
	ends_well
}

# The blocks of the program are checked by itself; its allocators are those of Python, too.
# bats test_tags=full, stress
@test "recorders that are killed at any moment do a Python program no harm" {
	"$SPROF" record -q -s ebpf -o "$BATS_TEST_TMPDIR/data" -- true || skip "no source can sample beside allocation hooks here"
	command -v python3 >/dev/null || skip "needs python3"
	target python3 tests/targets/python_blocks.py
	for ((i = 0; i < $(often 4 200); i++)); do
		"$SPROF" record -q --alloc=64k -o "$BATS_TEST_TMPDIR/data" -p "$target" 3>&- &
		recorder=$!
		sleep "0.$((RANDOM % 9))"
		kill -9 $recorder 2>/dev/null || true
		wait $recorder || true
		kill -0 "$target"
	done
	sleep 2.5 # the last heartbeat is missed
	"$SPROF" record -q --alloc=64k -d 0.5s -o "$BATS_TEST_TMPDIR/data" -p "$target"
	[ -z "$(grep -E ' r-xp 00000000 00:00 0 *$' "/proc/$target/maps")" ]
	nothing_stays
	ends_well
}
