# sprof imports on modules whose cost is known.
load ../kernel

setup() {
	needs_bpf
}

# Writes a module that computes for this long, then imports others. MILLISECONDS NAME [import...]
module() {
	{
		echo 'import time'
		echo "end = time.process_time() + $1 / 1000"
		echo 'while time.process_time() < end: pass'
		[ $# -lt 3 ] || printf 'import %s\n' "${@:3}"
	} >"$BATS_TEST_TMPDIR/$2.py"
}

@test "modules have their own time and that of what they import, and functions called later have none" {
	module 400 outer inner
	module 800 inner
	mkdir "$BATS_TEST_TMPDIR/package"
	module 400 package/__init__
	{
		echo 'import sys; sys.path.insert(0, sys.argv[1])'
		echo 'import outer, package'
		echo 'sum(i * i for i in range(10000000))'
	} >"$BATS_TEST_TMPDIR/program.py"
	"$SPROF" record -q -o "$data" -F 999 -- python3 "$BATS_TEST_TMPDIR/program.py" "$BATS_TEST_TMPDIR"
	"$SPROF" imports "$data"
	"$SPROF" imports --json "$data" >"$BATS_TEST_TMPDIR/json"
	# In ms, within 10 %, which is over 3 sigma of 400 samples.
	jq -e '
		def near($want): . / 1e6 | (. > $want * 0.9 and . < $want * 1.1);
		[.modules[] | select(.module == "outer" or .module == "inner" or .module == "package")] as $m |
		($m | map({ (.module): . }) | add) as $by |
		($m | length == 3) and
		($by.outer.self | near(400)) and ($by.outer.total | near(1200)) and
		($by.inner.self | near(800)) and ($by.inner.total | near(800)) and
		($by.package.self | near(400)) and
		(.modules[$by.inner.parent].module == "outer") and
		(.modules[0].total < .total - 300e6)
	' "$BATS_TEST_TMPDIR/json"
	[ "$("$SPROF" imports --flat "$data" | awk 'NR == 7 { print $NF; exit }')" = inner ]
}

@test "a recording without imports says so and how to get some" {
	"$SPROF" record -q -o "$data" -- "$TARGETS/shares" 100 >/dev/null
	run "$SPROF" imports "$data"
	[ "$status" -eq 1 ]
	[[ $output == "sprof: cannot show imports of '$data': no sample was taken in one"*"hint: record the start"* ]]
}

@test "the table of imports fits the terminal, however deep and long their names" {
	local i
	for i in $(seq 30); do
		module 3 a_module_with_a_name_that_is_long_$i $([ "$i" = 30 ] || echo a_module_with_a_name_that_is_long_$((i + 1)))
	done
	"$SPROF" record -q -o "$data" -F 1999 -- python3 "$BATS_TEST_TMPDIR/a_module_with_a_name_that_is_long_1.py"
	for locale in C C.UTF-8; do
		script -qec "stty cols 80; env LC_ALL=$locale TERM=xterm NO_COLOR=1 $SPROF imports $data" /dev/null | tr -d '\r' >"$BATS_TEST_TMPDIR/out"
		cat "$BATS_TEST_TMPDIR/out"
		[ "$(LC_ALL=C.UTF-8 wc -L <"$BATS_TEST_TMPDIR/out")" -le 80 ]
		# No entry takes a second line, and each one is identifiable.
		[ "$(sed '1,/Total%/d' "$BATS_TEST_TMPDIR/out" | grep -vc '^ *[0-9.]*%\|more modules')" = 0 ]
		grep -q 'ng_29$' "$BATS_TEST_TMPDIR/out"
	done
}
