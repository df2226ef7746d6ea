# sprof report --annotate on a target whose hot lines and instructions are known: three loops of
# BURN(), with 20, 30 and 50 parts, of which the second and third are inlined.
load ../kernel

setup() {
	needs_bpf
}

annotate() {
	"$SPROF" report --annotate "$@" "$data"
}

@test "lines have the shares of their work, and below them what was inlined there" {
	profile inlined 2000
	annotate '^outer$' --json >"$BATS_TEST_TMPDIR/json"
	jq -e '
		def near($want): . * 100 | (. > $want - 5 and . < $want + 5);
		.functions as [$f] | $f.self as $all | $f.lines |
		([.[] | select(.level == 0) | .self] | add) == $all and
		([.[] | select(.level == 0 and .total > $all / 10) | .self / $all] | sort |
			length == 3 and (.[0] | near(20)) and (.[1] | near(30)) and (.[2] | near(50))) and
		([.[] | select(.level == 1 and .function == "near") | .self / $all] | add | near(30)) and
		([.[] | select(.level == 2 and .function == "deeper") | .self / $all] | add | near(50))
	' "$BATS_TEST_TMPDIR/json"
}

# bats test_tags=full
@test "the time is at the loops' instructions, each with the line it came from" {
	profile inlined 2000
	annotate '^outer$' --json >"$BATS_TEST_TMPDIR/json"
	# The loop is a multiplication and the instructions that hide its latency, up to its jump.
	jq -e '
		.functions as [$f] | $f.code as [$c] | $c.instructions as $all |
		([$all[].self] | add) == $f.self and
		([range($all | length) as $i | select($all[$i].text | startswith("imul")) | $all[$i:$i + 5][] |
			.self] | add) > 0.95 * $f.self and
		([$all[] | select(.from[-1].function == "deeper") | .self] | add) > 0.4 * $f.self and
		all($all[] | select(.from[-1].function == "deeper"); [.from[].function] == ["outer", "far", "deeper"])
	' "$BATS_TEST_TMPDIR/json"
	annotate '^outer$' >"$BATS_TEST_TMPDIR/text"
	cat "$BATS_TEST_TMPDIR/text"
	grep -q 'TIMED(ns_self, BURN(20));' "$BATS_TEST_TMPDIR/text"
	grep -q '> deeper inlined.c:9  BURN(50);' "$BATS_TEST_TMPDIR/text"
	annotate '^main$' | grep -q 'call.*<outer>'
}

# bats test_tags=full
@test "a function that was inlined is shown where it was, and no more than it" {
	profile inlined 1000
	annotate '^near$' --json | jq -e '
		.functions as [$f] | $f.code as [$c] | $f.self == ([$c.instructions[].self] | add) and
		all($c.instructions[].from; any(.[]; .function == "near"))'
}

@test "a program that changed since is not shown, its lines are" {
	cp "$TARGETS/inlined" "$BATS_TEST_TMPDIR/program"
	"$SPROF" record -q -o "$data" -F 999 -- "$BATS_TEST_TMPDIR/program" 300 >/dev/null
	cp "$TARGETS/leaf" "$BATS_TEST_TMPDIR/program"
	run annotate '^outer$'
	echo "$output"
	[ "$status" -eq 0 ]
	[[ $output == *'BURN(20)'*"is no longer the file that was sampled"* ]]
	rm "$BATS_TEST_TMPDIR/program"
	[[ $(annotate '^outer$') == *"cannot read '$BATS_TEST_TMPDIR/program': No such file or directory"* ]]
}
