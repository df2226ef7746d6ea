# sprof lines on programs whose time per line is known.
load ../kernel

setup() {
	needs_bpf
}

# bats test_tags=full
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

# bats test_tags=full
@test "self over all lines, and what has none, is the whole" {
	profile inlined 1000
	"$SPROF" lines -i "$data" --json | jq -e '([.functions[].lines[].self] | add) + .without_lines == .total'
}

# bats test_tags=full
@test "lines and instructions keep within a narrow terminal, and the source keeps room" {
	"$SPROF" record -q -o "$data" -F 999 -- python3 -c '
import re
def step(n):
    for i in range(n): some_list_with_a_long_name = [len(re.sub("a*b", "", "aab" * 99)) for _ in range(30)]
step(600)'
	cd "$BATS_TEST_TMPDIR"
	for width in 60 80 120; do
		for command in "lines -n 5 -i data" "report --annotate main -n 2 data" "imports -n 9 data" "report data"; do
			TERM=dumb LC_ALL=C.UTF-8 script -qec "stty cols $width; $SPROF $command 2>/dev/null" /dev/null |
				tr -d '\r' >out
			[ "$(wc -l <out)" -gt 6 ]
			# Paths are printed whole, so that they can be copied.
			! LC_ALL=C.UTF-8 grep -Ev '^  [^ ]*/[^ ]*$' out | LC_ALL=C.UTF-8 grep -E ".{$((width + 1))}" || { echo "$width: $command"; return 1; }
		done
	done
	TERM=dumb script -qec "stty cols 80; $SPROF lines -n 5 -i data" /dev/null | grep -qE 'Total +(Samples +)?(Python|Native)'
}
