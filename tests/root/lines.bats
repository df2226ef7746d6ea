# sprof lines on programs whose time per line is known.
load kernel

setup() {
	needs_bpf
}

@test "the lines of a C function have the shares of its parts, with their text" {
	profile shares 2000
	"$SPROF" lines -i "$data" shares.c:main >"$BATS_TEST_TMPDIR/lines"
	cat "$BATS_TEST_TMPDIR/lines"
	# Total% of the three calls: 50, 30 and 20 within five points.
	awk '/TIMED\(ns_/ { sub(/%/, "", $2); print $NF, $2 }' "$BATS_TEST_TMPDIR/lines" >"$BATS_TEST_TMPDIR/shares"
	[ "$(grep -c . "$BATS_TEST_TMPDIR/shares")" -eq 3 ]
	awk '/part_50/ { bad += $2 < 45 || $2 > 55 } /part_30/ { bad += $2 < 25 || $2 > 35 }
		/part_20/ { bad += $2 < 15 || $2 > 25 } END { exit bad }' "$BATS_TEST_TMPDIR/shares"
}

@test "self over all lines, and what has none, is the whole" {
	profile inlined 1000
	"$SPROF" lines -i "$data" --json | jq -e '([.functions[].lines[].self] | add) + .without_lines == .total'
}
