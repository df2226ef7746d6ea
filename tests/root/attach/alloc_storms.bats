# Allocation functions are hooked and restored again and again, while others do their worst to the same code. CYCLES=N sets
# how often each storm does it.
load ../attach

# bats file_tags=full, stress

long=36000000 # ms: the target is told to end

cycles() { # FEW MANY
	echo "${CYCLES:-$(often "$1" "$2")}"
}

# Its longest gap is the price of all that was done to it, and of waiting for a CPU.
ends_well_and_says() {
	ends_well
	sed "s/^/# $BATS_TEST_DESCRIPTION: /" "$said" >&3
}

# Each cycle compares all code of the library.
hooks_come_and_go() { # CYCLES [probed]
	drive alloc_hooks "$target" "$@"
	grep -E 'samples in|refused' "$BATS_TEST_TMPDIR/figures" | sed "s/^/# $BATS_TEST_DESCRIPTION: /" >&3
	grep ', code as before' "$BATS_TEST_TMPDIR/figures"
	[ "$(awk '/ samples in / { print $1 }' "$BATS_TEST_TMPDIR/figures")" -gt 0 ]
}

@test "threads, forks, dlopen and a signal each millisecond" {
	target "$TARGETS/alloc_storm" $long
	hooks_come_and_go "$(cycles 10 10000)"
	nothing_stays
	ends_well_and_says
}

@test "breakpoints of another tool on malloc and free" {
	target "$TARGETS/alloc_storm" $long
	"$TARGETS/probe_storm" "$target" >"$BATS_TEST_TMPDIR/probes" 2>&1 3>&- &
	probes=$!
	pids+=($probes)
	sleep 0.2
	kill -0 $probes || skip "$(cat "$BATS_TEST_TMPDIR/probes")"
	hooks_come_and_go "$(cycles 20 10000)" probed
	: >"$END_FILE"
	wait $probes
	sed "s/^/# $BATS_TEST_DESCRIPTION: /" "$BATS_TEST_TMPDIR/probes" >&3
	ends_well_and_says
}

# The breakpoints have gone, and so has all else: the code is as it was.
@test "after such breakpoints have gone, hooks come and go as before" {
	target "$TARGETS/alloc_storm" $long
	END_FILE=$BATS_TEST_TMPDIR/probed "$TARGETS/probe_storm" "$target" >"$BATS_TEST_TMPDIR/probes" 2>&1 3>&- &
	probes=$!
	pids+=($probes)
	sleep 0.2
	kill -0 $probes || skip "$(cat "$BATS_TEST_TMPDIR/probes")"
	drive alloc_hooks "$target" "$(cycles 5 1000)" probed
	: >"$BATS_TEST_TMPDIR/probed"
	wait $probes
	hooks_come_and_go 5
	nothing_stays
	ends_well_and_says
}

preloaded() { # LIBRARY
	local allocator
	allocator=$(ldconfig -p | awk -v name="$1" 'index($1, name) && /x86-64/ { print $NF; exit }')
	[ -n "$allocator" ] || skip "$1 is not installed"
	target env LD_PRELOAD="$allocator" "$TARGETS/alloc_storm" $long
	until grep -q "$1" "/proc/$target/maps"; do sleep 0.05; done
	before=$(footprint)
	export LIBRARY=$1 LD_PRELOAD=$allocator
	hooks_come_and_go "$(cycles 10 10000)"
	unset LIBRARY LD_PRELOAD
	nothing_stays
	ends_well_and_says
}

@test "jemalloc in place of the C library's allocator" {
	preloaded libjemalloc.so.2
}

@test "tcmalloc in place of the C library's allocator" {
	preloaded libtcmalloc_minimal.so.4
}

# What it leaves is known to be left when its heartbeat is missed.
@test "the recorder is killed at any moment" {
	target "$TARGETS/alloc_storm" $long
	local i nr
	nr=$(cycles 3 500)
	for ((i = 0; i < nr; i++)); do
		"$DRIVERS/alloc_hooks" "$target" 100000 >"$BATS_TEST_TMPDIR/killed" 2>&1 3>&- &
		driver=$!
		sleep "$((i ? 2 : 0)).$((RANDOM % 10))$((RANDOM % 10))"
		kill -9 $driver
		wait $driver || true
		kill -0 "$target"
	done
	sleep 2.5
	hooks_come_and_go 2
	nothing_stays
	ends_well_and_says
}
