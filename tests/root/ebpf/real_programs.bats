# Programs as Debian ships them, without frame pointers, under load: at least 99.9 % of their stacks are complete.
load ../kernel

setup() {
	needs_bpf
}

stacks_are_complete() { # program
	command -v "${1/#cc1/gcc}" >/dev/null || skip "$1 is not installed"
	SECONDS_EACH=3 tests/bench/real_programs "$1"
}

@test "python3: stacks are complete" {
	stacks_are_complete python3
}

@test "gcc's cc1: stacks are complete" {
	stacks_are_complete cc1
}

@test "perl: stacks are complete" {
	stacks_are_complete perl
}

@test "sqlite3: stacks are complete" {
	stacks_are_complete sqlite3
}

@test "redis-server, attached to: stacks are complete" {
	stacks_are_complete redis-server
}

@test "gdb loading 150 MB of DWARF: stacks are complete" {
	stacks_are_complete gdb
}

@test "clang: stacks are complete" {
	stacks_are_complete clang
}

@test "openssl's assembler: stacks are complete" {
	stacks_are_complete openssl
}

@test "node with JIT code: stacks are complete" {
	stacks_are_complete node
}
