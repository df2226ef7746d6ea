# The runner of the tests: what it counts, and that it cannot be fooled into success.

setup() {
	root=$BATS_TEST_DIRNAME/../..
	cd "$BATS_TEST_TMPDIR" || return 1
	mkdir -p tests/unit tests/cli build/tests/unit
	cp "$root/tests/run" "$root/tests/limited" tests
	export BUILD=$BATS_TEST_TMPDIR/build
}

unit_test() { # name, what its binary does
	echo "cmocka_unit_test(${3:-it_works})" >"tests/unit/test_$1.c"
	printf '#!/bin/bash\n%s\n' "$2" >"build/tests/unit/test_$1"
	chmod +x "build/tests/unit/test_$1"
}

last_line_is() {
	echo "$output"
	[ "${lines[-1]}" = "$1" ]
}

@test "passed, failed and skipped tests of both kinds are counted" {
	unit_test a 'printf "1..2\nok 1 - a\nnot ok 2 - b\n"; exit 1'
	printf '@test "x" { true; }\n@test "y" { skip "no card"; }\n' >tests/cli/c.bats
	run tests/run --dir=unit --dir=cli
	[ "$status" -ne 0 ]
	last_line_is '2 passed, 1 failed, 1 skipped'
	grep -qxF 'skipped: tests/cli/c.bats: y (no card)' <<<"$output"
}

# bats test_tags=full
@test "a test that cmocka skips is no failure and keeps its reason" {
	unit_test a 'printf "1..2\nok 1 - a\nno such file here\nnot ok 2 # SKIP b\n"'
	run tests/run --dir=unit
	[ "$status" -eq 0 ]
	last_line_is '1 passed, 0 failed, 1 skipped'
	grep -qxF 'skipped: tests/unit/test_a.c: b (no such file here)' <<<"$output"
}

@test "a binary that dies is a failure" {
	unit_test a 'printf "1..1\nok 1 - a\n"; kill -SEGV $$'
	run tests/run --dir=unit
	[ "$status" -ne 0 ]
	last_line_is '1 passed, 1 failed, 0 skipped'
	grep -qxF 'broken:  tests/unit/test_a.c: died of signal 11' <<<"$output"
}

# bats test_tags=full
@test "a binary that hangs is a failure" {
	unit_test a 'echo 1..1; sleep 60'
	TEST_LIMIT_S=1 run tests/run --dir=unit
	[ "$status" -ne 0 ]
	last_line_is '0 passed, 1 failed, 0 skipped'
}

# bats test_tags=full
@test "after the time of the run no file is begun, and each counts as skipped" {
	unit_test a 'printf "1..1\nok 1 - a\n"'
	echo '@test "x" { true; }' >tests/cli/c.bats
	TESTS_UNTIL=1 run tests/run --dir=unit --dir=cli
	[ "$status" -ne 0 ] # nothing ran
	last_line_is '0 passed, 0 failed, 2 skipped'
	grep -qxF 'skipped: tests/cli/c.bats: all its tests (not begun: the time for this run is over)' <<<"$output"
	TESTS_UNTIL=$((EPOCHSECONDS + 100)) run tests/run --dir=unit --dir=cli
	last_line_is '2 passed, 0 failed, 0 skipped'
}

# bats test_tags=full
@test "a test that hangs is a failure, and those behind it are run" {
	printf '@test "x" { sleep 60; }\n@test "y" { true; }\n' >tests/cli/c.bats
	TEST_LIMIT_S=1 run tests/run --dir=cli
	[ "$status" -ne 0 ]
	last_line_is '1 passed, 1 failed, 0 skipped'
	grep -q '# no test ended for 1 s' <<<"$output"
}

# bats test_tags=full
@test "a process that a unit test left behind, stopped and elsewhere, holds nothing up" {
	unit_test a 'echo 1..1; echo ok 1 - a; setsid sh -c "echo \$\$ >pid; kill -STOP \$\$" & sleep 0.5'
	run timeout 30 tests/run --dir=unit
	kill -9 "$(cat pid)"
	last_line_is '1 passed, 0 failed, 0 skipped'
}

# bats test_tags=full
@test "a process that a test left behind holds nothing up" {
	echo '@test "x" { sleep 77 & }' >tests/cli/c.bats
	TEST_LIMIT_S=1 run timeout 30 tests/run --dir=cli
	last_line_is '1 passed, 0 failed, 0 skipped'
	! pgrep -fx 'sleep 77' || false
}

# bats test_tags=full
@test "tests that were planned and did not run are failures" {
	unit_test a 'printf "1..3\nok 1 - a\n"'
	run tests/run --dir=unit
	[ "$status" -ne 0 ]
	last_line_is '1 passed, 2 failed, 0 skipped'
}

# bats test_tags=full
@test "a binary that prints nothing is a failure" {
	unit_test a 'exit 0'
	run tests/run --dir=unit
	[ "$status" -ne 0 ]
	last_line_is '0 passed, 1 failed, 0 skipped'
}

# bats test_tags=full
@test "a run in which nothing ran fails" {
	run tests/run --dir=unit --dir=cli
	[ "$status" -ne 0 ]
	last_line_is '0 passed, 0 failed, 0 skipped'
}

# bats test_tags=full
@test "a test that a macro of its file declares is found by its name" {
	unit_test a 'printf "1..1\nok 1 - stack_is_cut\n"'
	printf '#define IN_DIR(test) \\\n\tcmocka_unit_test_setup_teardown(test, up, down)\nIN_DIR(stack_is_cut),\n' \
		>tests/unit/test_a.c
	unit_test b 'printf "1..1\nok 1 - other\n"'
	echo 'CALL(stack_is_cut) cmocka_unit_test(other)' >tests/unit/test_b.c
	run tests/run --only=is_cut
	[ "$status" -eq 0 ]
	last_line_is '1 passed, 0 failed, 0 skipped'
}

# bats test_tags=full
@test "one test is found by a part of its name" {
	unit_test a 'printf "1..1\nok 1 - %s\n" "$UNIT_TEST_FILTER"' incomplete_stack_is_counted
	unit_test b 'printf "1..1\nnot ok 1 - other\n"; exit 1' other
	run tests/run --only=stack_is
	[ "$status" -eq 0 ]
	last_line_is '1 passed, 0 failed, 0 skipped'
	run tests/run --only=b
	[ "$status" -ne 0 ]
	run tests/run --only=nothing_like_this
	[ "$status" -ne 0 ]
	grep -qxF "no test is called 'nothing_like_this'" <<<"$output"
}

# bats test_tags=full
@test "what failed is done once more, alone, and is listed" {
	printf '@test "x" { true; }\n@test "it\x27s (once) [1], a.b" {\n[ -e done ] || ! touch done\n}\n' >tests/cli/c.bats
	run tests/run --dir=cli
	[ "$status" -eq 0 ]
	last_line_is '1 passed, 0 failed, 0 skipped'
	grep -qxF "held only at the second try: tests/cli/c.bats: it's (once) [1], a.b" <<<"$output"
	[ "${lines[-2]}" = '1 held only at the second try' ]
}

# bats test_tags=full
@test "what took too long is done once more, too" {
	printf '@test "x" {\n[ -e done ] || ! touch done || sleep 20\n}\n' >tests/cli/c.bats
	TEST_LIMIT_S=2 run tests/run --dir=cli
	[ "$status" -eq 0 ]
	last_line_is '0 passed, 0 failed, 0 skipped'
	grep -qxF 'held only at the second try: tests/cli/c.bats: x' <<<"$output"
}

@test "what fails twice has failed" {
	printf '@test "x" { true; }\n@test "y" { false; }\n' >tests/cli/c.bats
	run tests/run --dir=cli
	[ "$status" -ne 0 ]
	last_line_is '1 passed, 1 failed, 0 skipped'
	grep -qxF 'failed twice: tests/cli/c.bats: y' <<<"$output"
}

# bats test_tags=full
@test "where many tests fail there is no second try" {
	for i in 1 2 3 4 5 6 7 8 9; do
		printf '@test "%s" { false; }\n' "$i" >>tests/cli/c.bats
	done
	run tests/run --dir=cli
	[ "$status" -ne 0 ]
	last_line_is '0 passed, 9 failed, 0 skipped'
	! grep -q 'second try' <<<"$output" || false
}

# bats test_tags=full
@test "each test says its time and its reason, and the ten longest are listed" {
	unit_test a 'echo 1..2; sleep 0.5; echo "ok 1 - slow"; echo not here; echo "not ok 2 # SKIP absent"'
	for i in 1 2 3 4 5 6 7 8 9 10 11; do
		printf '@test "%s" { true; }\n' "$i" >>tests/cli/c.bats
	done
	echo '@test "takes 1s in 5ms" { skip "in 3ms"; }' >>tests/cli/c.bats
	run tests/run --dir=unit --dir=cli
	[ "$status" -eq 0 ]
	last_line_is '12 passed, 0 failed, 2 skipped'
	[ "$(sed -nE 's,^ok +([0-9]+\.[0-9][0-9]) s  tests/unit/test_a\.c: slow$,\1,p' <<<"$output" | awk '{ print ($1 > 0.3) }')" = 1 ]
	grep -qE '^skip +[0-9]+\.[0-9][0-9] s  tests/unit/test_a\.c: absent \(not here\)$' <<<"$output"
	grep -qE '^skip +[0-9]+\.[0-9][0-9] s  tests/cli/c\.bats: takes 1s in 5ms \(in 3ms\)$' <<<"$output"
	[ "$(grep -c '^longest: ' <<<"$output")" -eq 10 ]
	grep -q '^longest: .*tests/unit/test_a\.c: slow$' <<<"$output"
}

# bats test_tags=full
@test "the quick part and the rest are disjoint and together all tests; stress takes from both" {
	mkdir -p tests/root/room
	unit_test a 'printf "1..1\nok 1 - unit\n"'
	printf '@test "none" { true; }\n# bats test_tags=full\n@test "full" { true; }\n' >tests/root/room/a.bats
	printf '# bats file_tags=full, alone\n@test "file" { true; }\n# bats test_tags=stress\n@test "storm" { true; }\n' \
		>tests/root/b.bats
	of_part() {
		tests/run --dir=unit --dir=root "$@" | sed -n 's/^ok .*: //p' | sort | tr '\n' ' '
	}
	[ "$(of_part --part=quick)" = "none unit " ]
	[ "$(of_part --part=rest)" = "file full storm " ]
	[ "$(of_part --part=stress)" = "storm " ]
	[ "$(of_part)" = "file full none storm unit " ]
	# A test that is asked for by its name runs, whatever its tags say.
	run tests/run --only=storm
	last_line_is '1 passed, 0 failed, 0 skipped'
}

# bats test_tags=full
@test "files that take long begin first" {
	local name
	for name in a b c; do
		echo '@test "x" { date +%s%N >"$BATS_TEST_FILENAME.began"; sleep 1; }' >tests/cli/$name.bats
	done
	sed '1i # bats file_tags=full, long' tests/cli/a.bats >tests/cli/z.bats
	run tests/run --dir=cli
	last_line_is '4 passed, 0 failed, 0 skipped'
	[ "$(cat tests/cli/z.bats.began)" -lt "$(cat tests/cli/b.bats.began)" ]
	[ "$(cat tests/cli/z.bats.began)" -lt "$(cat tests/cli/c.bats.began)" ]
}

# bats test_tags=full
@test "a benchmark of a program that is missing says so" {
	[ "$(id -u)" = 0 ] && command -v perf >/dev/null || skip "needs root and perf"
	cd "$root" || return 1
	CC=cc SPROF=/bin/true run tests/bench/run symbols
	[ "$status" -eq 1 ]
	last_line_is "bench: cannot run '$BUILD/tests/bench/symbolize': build it or install it first (make bench does)"
}
