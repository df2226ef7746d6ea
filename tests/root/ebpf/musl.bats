# Programs of musl, whose C library describes no frames: their stacks are walked by rules that are read from the code.
load ../kernel

setup() {
	needs_bpf
}

# The stacks are complete, those of the first thread too: they begin with _start, by name where the program has one.
# A first recording waits for the rules and keeps them; on a busy machine a walk may still come too early, so there
# are three tries. PROGRAM ARGUMENTS...
is_complete() {
	local share samples
	"$SPROF" record -q -o "$data" -F 99 -- "$@" 1 >/dev/null
	for _ in 1 2 3; do
		"$SPROF" record -q -o "$data" -F 999 -- "$@" 2 >/dev/null
		fold
		read -r samples share _ < <(awk -f tests/root/frames.awk -f tests/root/completeness.awk "$folded" | tee "$BATS_TEST_TMPDIR/share")
		cat "$BATS_TEST_TMPDIR/share"
		[ "$samples" -gt 100 ]
		! awk -v share="$share" 'BEGIN { exit !(share >= 99) }' || return 0
	done
	return 1
}

sorts() { # FLAGS...
	command -v musl-gcc >/dev/null || skip "needs musl-gcc (apt-get install musl-tools)"
	musl-gcc -O2 -g "$@" -o "$BATS_TEST_TMPDIR/sorts" tests/targets/sorts.c
	is_complete "$BATS_TEST_TMPDIR/sorts"
	# qsort() of musl is what takes the time, and main() calls it.
	[ "$(samples '^sorts;.*_start.*;main;.*(compare|qsort|smoothsort|sift|trinkle)')" -gt 50 ]
}

# bats test_tags=full
@test "a program that is linked to musl has complete stacks" {
	sorts
}

# bats test_tags=full
@test "a static program of musl has complete stacks" {
	sorts -static
}

# bats test_tags=full
@test "busybox has complete stacks" {
	command -v busybox >/dev/null || skip "needs busybox (apt-get install busybox)"
	is_complete busybox sh -c 'end=$(($(date +%s) + $1)); while [ $(date +%s) -lt $end ]; do
		seq 30000 | busybox awk "{ a[\$1 % 977] = a[\$1 % 977] \$1 } END { for (i in a) print a[i] }" |
			busybox sort | busybox sed "s/1\(2\)/\1/g" | busybox gzip | busybox sha256sum >/dev/null; done' -
	grep -q '^busybox;' "$folded"
}
