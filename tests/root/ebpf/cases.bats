# The slow programs of docs/waiting.md say what that page says of them.
load ../kernel

setup() {
	needs_bpf
}

teardown() {
	rm -rf "$BATS_TEST_TMPDIR/out"
}

says_what_the_page_says() { # case
	run "$BATS_TEST_DIRNAME/../../cases/run" -o "$BATS_TEST_TMPDIR/out" "$1"
	echo "$output"
	[[ $output != *"  left out: "* ]] || skip "${output#*left out: }"
	[ "$status" -eq 0 ]
	[ -s "$BATS_TEST_TMPDIR/out/$1.svg" ]
	! grep -q '  NOT ' <<<"$output" || false
}

# bats test_tags=full
@test "threads behind a lock" {
	says_what_the_page_says locks
}

# bats test_tags=full
@test "PostgreSQL with a blocked update" {
	says_what_the_page_says postgres
}

# bats test_tags=full
@test "a loop that waits for its DataLoader" {
	says_what_the_page_says loader
}

# bats test_tags=full
@test "a Python service on its GIL" {
	says_what_the_page_says gil
}

# bats test_tags=full
@test "a Go service behind a mutex" {
	says_what_the_page_says go
}

# bats test_tags=full
@test "make -j2 on a slow disk" {
	says_what_the_page_says make
}
