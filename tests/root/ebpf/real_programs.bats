# Programs as Debian ships them, without frame pointers, under load: at least 99.9 % of their stacks
# are complete.
# bats file_tags=long
load ../kernel

setup() {
	needs_bpf
}

stacks_are_complete() { # program
	command -v "${1/#cc1/gcc}" >/dev/null || skip "$1 is not installed"
	SECONDS_EACH=3 tests/bench/real_programs "$1"
}

# bats test_tags=full
@test "python3: stacks are complete" {
	stacks_are_complete python3
}

# bats test_tags=full
@test "gcc's cc1: stacks are complete" {
	stacks_are_complete cc1
}

# bats test_tags=full
@test "perl: stacks are complete" {
	stacks_are_complete perl
}

# bats test_tags=full
@test "sqlite3: stacks are complete" {
	stacks_are_complete sqlite3
}

# bats test_tags=full
@test "redis-server, attached to: stacks are complete" {
	stacks_are_complete redis-server
}

# bats test_tags=full
@test "gdb loading 150 MB of DWARF: stacks are complete" {
	stacks_are_complete gdb
}

# bats test_tags=full
@test "clang, whose libraries have no kept tables: stacks are complete" {
	XDG_CACHE_HOME=$BATS_TEST_TMPDIR stacks_are_complete clang
}

# bats test_tags=full
@test "openssl's assembler: stacks are complete" {
	stacks_are_complete openssl
}

# bats test_tags=full
@test "node with JIT code: stacks are complete" {
	stacks_are_complete node
}
