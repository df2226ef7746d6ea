# Over many recordings: the sums of sampled memory have no bias, and each is as close to the truth as it says. Under STRESS
# each allocator is recorded 40 times.
load ../recorder
load ../allocations

# bats file_tags=full, stress

with_library() { # NAME [PROGRAM]
	allocator=$(ldconfig -p | awk -v name="$1" 'index($1, name) && /x86-64/ { print $NF; exit }')
	[ -n "$allocator" ] || skip "$1 is not installed"
	many_recordings "${2-$TARGETS/alloc_sites}"
}

@test "glibc" {
	many_recordings "$TARGETS/alloc_sites"
}

@test "glibc, static" {
	cc -O2 -g -static -pthread -o "$BATS_TEST_TMPDIR/static" tests/targets/alloc_sites.c
	many_recordings "$BATS_TEST_TMPDIR/static"
}

@test "jemalloc" {
	with_library libjemalloc.so.2
}

@test "tcmalloc" {
	with_library libtcmalloc_minimal.so.4
}

@test "musl" {
	command -v musl-gcc >/dev/null || skip "needs musl-gcc"
	musl-gcc -O2 -g -o "$BATS_TEST_TMPDIR/musl" tests/targets/alloc_sites.c
	many_recordings "$BATS_TEST_TMPDIR/musl"
}

@test "musl, static" {
	command -v musl-gcc >/dev/null || skip "needs musl-gcc"
	musl-gcc -O2 -g -static -o "$BATS_TEST_TMPDIR/musl" tests/targets/alloc_sites.c
	many_recordings "$BATS_TEST_TMPDIR/musl"
}

@test "operators new and delete" {
	many_recordings "$TARGETS/alloc_operators"
}

# These have operators of their own, which libstdc++'s are not.
@test "operators new and delete of jemalloc" {
	with_library libjemalloc.so.2 "$TARGETS/alloc_operators"
}

@test "operators new and delete of tcmalloc" {
	with_library libtcmalloc_minimal.so.4 "$TARGETS/alloc_operators"
}
