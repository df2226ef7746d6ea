# sprof record --calls counts every call of a function exactly. The target's numbers are known.
load ../recorder
load ../pythons

# Prints the calls of a function, and whether the count is complete.
counted() { # FUNCTION
	"$SPROF" report --calls --json "$data" | jq -r --arg f "$1" '.rows[] | select(.function == $f) | "\(.calls) \(.late_ns == 0)"'
}

calls_of() { # FUNCTION
	"$SPROF" report --calls --json "$data" | jq --arg f "$1" '[.rows[] | select(.function == $f) | .calls] | add // 0'
}

@test "calls are counted exactly, in threads and in a child, of functions by any of their names" {
	"$SPROF" record -q -o "$data" --calls leaf --calls 'calls:part::twice(int)' --calls '_ZN4part5twiceEd' -- "$TARGETS/calls" 3000
	[ "$(counted leaf)" = "15030 true" ]
	[ "$(counted 'part::twice(int)')" = "30 true" ]
	[ "$(counted 'part::twice(double)')" = "7 true" ]
	"$SPROF" record -q -o "$data" --calls 'part::tw*' -- "$TARGETS/calls" 3000
	[ "$("$SPROF" report --calls --json "$data" | jq -c '[.rows[].calls]')" = "[30,7]" ]
	[ "$("$SPROF" report --calls "$data" | head -2 | awk '{ print $1, $NF }' | tr '\n' ' ')" = "Calls In 30 calls " ]
}

@test "what sprof calls before it executes a program is not counted" {
	local libc
	libc=$(ldd "$SPROF" | awk '/libc\.so/ { print $3 }')
	"$SPROF" record -q -o "$data" --calls "$libc:execvp" -- "$TARGETS/calls" 100
	[ "$(counted execvp)" = "0 true" ]
}

@test "a process that was attached to is counted from then on, and another of the same file is not" {
	mkfifo "$BATS_TEST_TMPDIR/go"
	start "$TARGETS/calls" 2000 "$BATS_TEST_TMPDIR/go"
	target=${pids[0]}
	record --calls leaf -p "$target"
	"$TARGETS/calls" 500
	echo >"$BATS_TEST_TMPDIR/go"
	wait "$target"
	wait "$recorder"
	[ "$(counted leaf)" = "10020 true" ]
}

# bats test_tags=full
@test "what a master has forked already is counted with it, and not with --no-children" {
	start "$TARGETS/prefork" 60000
	local pid=${pids[0]}
	sleep 0.3
	"$SPROF" record -q -o "$data" -d 2s -p $pid --calls part_50 --calls lead
	(($(calls_of part_50) >= 5 && $(calls_of lead) >= 5))
	"$SPROF" record -q -o "$data" -d 1s -p $pid --no-children --calls part_50 --calls lead
	(($(calls_of part_50) == 0 && $(calls_of lead) >= 3))
}

@test "what is called before the recording begins, or after it has ended, is not counted" {
	run "$SPROF" record -q -o "$data" --calls leaf --delay 20s -d 1s -- "$TARGETS/calls" 1000
	[ "$status" -eq 0 ]
	[ "$(counted leaf)" = "0 true" ]
	mkfifo "$BATS_TEST_TMPDIR/go"
	start "$TARGETS/calls" 1000 "$BATS_TEST_TMPDIR/go"
	"$SPROF" record -q -o "$data" --calls leaf -d 300ms -p "${pids[0]}"
	echo >"$BATS_TEST_TMPDIR/go"
	wait "${pids[0]}"
	[ "$(counted leaf)" = "0 true" ]
}

# bats test_tags=full
@test "a library that is loaded later is counted from its first call where its path is given, else the table says since when" {
	"$SPROF" record -q -o "$data" --calls dlopen:use --calls "$TARGETS/libplug_a.so:plug_a" --calls libplug_b.so:plug_b -- "$TARGETS/dlopen" 3000
	read -r uses all < <(counted use)
	[ "$all" = true ]
	[ "$uses" -gt 10 ]
	[ "$(counted plug_a)" = "$((uses / 2)) true" ]
	read -r calls all < <(counted plug_b)
	[ "$all" = false ]
	[ "$calls" -le $((uses / 2)) ]
	"$SPROF" report --calls "$data" | grep -q '^After: the time from the start'
	[ "$("$SPROF" report --pstats -n 0 "$data" | awk '/\(plug_a\)/ { print $1 }')" = $((uses / 2)) ]
	[ "$("$SPROF" report --pstats -n 0 "$data" | awk '/\(plug_b\)/ { print $1 }')" = - ]
}

# bats test_tags=full
@test "ncalls are those that were counted, of a whole recording" {
	"$SPROF" record -q -o "$data" -F 4999 --calls leaf -- "$TARGETS/calls" 50000
	[ "$("$SPROF" report --pstats -n 0 "$data" | awk '/\(leaf\)/ { print $1 }')" = 250500 ]
	[ "$("$SPROF" report --pstats --hide '^main$' "$data" | awk '/\(leaf\)/ { print $1 }')" = 250500 ]
	[ "$("$SPROF" report --pstats --focus leaf "$data" | awk '/\(leaf\)/ { print $1 }')" = - ]
}

# bats test_tags=full
@test "stacks are whole while an instruction under a probe runs elsewhere" {
	"$SPROF" record -q -o "$data" -F 1999 --calls leaf -- "$TARGETS/calls" 20000
	fold
	all=$(samples '^calls;') cut=$(samples '\[(unknown|no unwind rule|incomplete)') in_leaf=$(samples ';work\(void\*\);leaf')
	echo "$all samples, $cut cut, $in_leaf in leaf"
	[ "$in_leaf" -gt $((all / 2)) ]
	[ $((cut * 50)) -lt "$all" ]
}

@test "what cannot be counted is said, and the recording goes on" {
	run "$SPROF" record -o "$data" --calls nothing_of_that_name --calls strlen --calls leaf -- "$TARGETS/calls" 100
	[ "$status" -eq 0 ]
	[[ $output == *"calls of 'nothing_of_that_name' are not counted: no file that was mapped has a function of that name"* ]]
	[[ $output == *"calls of 'strlen' are not counted: it is chosen when the program is linked (IFUNC)"* ]]
	[ "$(counted leaf)" = "501 true" ]
	run "$SPROF" record -o "$data" --calls python -- "$TARGETS/calls" 100
	[[ $output == *"calls of 'python' are not counted: no process has mapped an interpreter"* ]]
	# The function is not in libc, where the probes would hit every program of the machine.
	for i in $(seq 1100); do echo "void many_$i(void) {}"; done >"$BATS_TEST_TMPDIR/many.c"
	echo 'int main(void) { many_7(); return 0; }' >>"$BATS_TEST_TMPDIR/many.c"
	cc -O0 -o "$BATS_TEST_TMPDIR/many" "$BATS_TEST_TMPDIR/many.c"
	run "$SPROF" record -o "$data" --calls 'many:many_*' -- "$BATS_TEST_TMPDIR/many"
	[[ $output == *"calls of 'many:many_*' are not counted any further: it fits too many functions"* ]]
	[ "$(counted many_7)" = "1 true" ]
}

@test "no probe is put where it would change what the program does" {
	run "$SPROF" record -v -o "$data" --calls begins_with_vex --calls leaf -- "$TARGETS/calls" 100
	[ "$status" -eq 0 ]
	[[ $output == *"a probe at begins_with_vex: Operation not supported"* ]]
	[[ $output == *"calls of 1 functions that match 'begins_with_vex' are not counted: no probe can be put there"* ]]
	[ "$(counted leaf)" = "501 true" ]
}

@test "only root puts probes into files" {
	run setpriv --bounding-set -sys_admin --inh-caps -all "$SPROF" record -q -o "$data" --calls leaf -- "$TARGETS/calls" 100
	[ "$status" -eq 125 ]
	[[ $output == *"cannot count calls: only root may put a probe into a file (CAP_SYS_ADMIN)"* ]]
}

# Does this interpreter have probes at function entry? Builds of distributions have them from 3.8 to
# 3.10 and from 3.15 on.
has_entry_probe() {
	local file
	file=$("$1" -c 'import os, sys; print(os.environ.get("SID_ROOT", "") + os.path.realpath(sys.executable))')
	readelf -n "$file" 2>/dev/null | grep -q 'Name: function__entry' && "$1" -c 'import sys; sys.exit(sys.version_info[:2] == (3, 11))' && echo "$file"
}

@test "calls of Python functions are counted exactly where the interpreter has a probe for it" {
	local python file found=
	for python in $(pythons); do
		file=$(has_entry_probe "$python") || continue
		found=1
		echo "== $python"
		"$SPROF" record -q -o "$data" --calls "$file:python" -- "$python" tests/targets/python_calls.py >"$truth"
		"$SPROF" report --calls --json "$data" >"$folded"
		while read -r name calls; do
			echo "$name $calls"
			jq -e --arg name "$name" --argjson calls "$calls" '
				[.rows[] | select(.function == $name and (.file | endswith("python_calls.py")))] |
				length == 1 and .[0].calls == $calls and .[0].late_ns == 0' "$folded"
		done <"$truth"
	done
	[ -n "$found" ] || skip "no CPython with the probe function__entry: 3.8 to 3.10 or 3.15, built --with-dtrace"
}

@test "a CPython without a probe for calls says so" {
	[ -x /usr/bin/python3 ] || skip "no /usr/bin/python3"
	[ "$(/usr/bin/python3 -c 'import sys; print(*sys.version_info[:2])')" = "3 11" ] || skip "/usr/bin/python3 is no 3.11"
	run "$SPROF" record -o "$data" --calls python -- /usr/bin/python3 -c 'print(1)'
	[ "$status" -eq 0 ]
	[[ $output == *"calls of 'python' are not counted: this CPython"* ]]
}

# Finds a CPython of this machine that has probes at collections and imports, as builds of
# distributions do.
python_with_probes() {
	readelf -n /usr/bin/python3 2>/dev/null | grep -q 'Name: gc__start' || skip "/usr/bin/python3 has no probes (--with-dtrace)"
}

@test "garbage collections are counted exactly, by generation" {
	python_with_probes
	cat >"$BATS_TEST_TMPDIR/collect.py" <<-'PYTHON'
		import gc, os
		for i in range(7): gc.collect()
		for i in range(3): gc.collect(1)
		keep = [[i] for i in range(50000)]
		for g, s in enumerate(gc.get_stats()): print(g, s["collections"], flush=True)
		os._exit(0)
	PYTHON
	"$SPROF" record -q -o "$data" --calls gc -- /usr/bin/python3 "$BATS_TEST_TMPDIR/collect.py" >"$truth"
	cat "$truth"
	"$SPROF" report --gc "$data"
	"$SPROF" report --gc --json "$data" >"$folded"
	[ "$(jq -r '.generations | sort_by(.generation)[] | "\(.generation) \(.collections)"' "$folded")" = "$(cat "$truth")" ]
	jq -e '(.generations | all(.total_ns >= .max_ns and .max_ns > 0 and .late_ns == 0)) and .rows[0].collections == (.generations | map(.collections) | add)' "$folded"
}

# bats test_tags=full
@test "imports are timed one by one: the modules that -X importtime names, in the same nesting" {
	python_with_probes
	printf 'import time\ntime.sleep(0.3)\nimport slow_inner\n' >"$BATS_TEST_TMPDIR/slow_outer.py"
	printf 'import time\ntime.sleep(0.2)\ntry:\n    import no_such_module\nexcept ImportError:\n    pass\n' >"$BATS_TEST_TMPDIR/slow_inner.py"
	program='import sys; sys.path.insert(0, sys.argv[1]); import json, slow_outer'
	export PYTHONDONTWRITEBYTECODE=1
	/usr/bin/python3 -X importtime -c "$program" "$BATS_TEST_TMPDIR" 2>&1 | awk -F'|' '/^import time:/ && !/imported package/ { gsub(/ /, "", $3); print $3 }' | sort -u >"$truth"
	"$SPROF" record -q -o "$data" --calls imports -- /usr/bin/python3 -c "$program" "$BATS_TEST_TMPDIR"
	"$SPROF" imports "$data"
	"$SPROF" imports --json "$data" >"$folded"
	diff <(jq -r '.modules[1:][].module' "$folded" | sort -u) "$truth"
	jq -e '
		.modules as $m | .counted and
		([$m[] | select(.module == "slow_outer")][0] | .self >= 300e6 and .self < 450e6 and .total >= 500e6 and .total < 900e6) and
		([$m[] | select(.module == "slow_inner")][0] | .self >= 200e6 and .self < 400e6 and $m[.parent].module == "slow_outer") and
		([$m[] | select(.module == "no_such_module")][0] | (.found | not) and $m[.parent].module == "slow_inner")' "$folded"
}
