# The filter options of every reading command. tests/unit/output/select/test_filter.c tests what the filters compute.

GOLDEN=$BATS_TEST_DIRNAME/../golden

setup() {
	bats_require_minimum_version 1.5.0
	cp "$GOLDEN/recordings/complete.data" "$BATS_TEST_TMPDIR"
	cd "$BATS_TEST_TMPDIR"
	cat >x.folded <<-END
	main;a;work 10
	main;a;b;work 20
	main;c;work_[k] 30
	idle 40
	END
}

@test "rules on functions" {
	[ "$("$SPROF" fold --focus '^a$' x.folded | paste -sd,)" = "main;a;b;work 20,main;a;work 10" ]
	[ "$("$SPROF" fold --focus '^a$' --focus '^b$' x.folded)" = "main;a;b;work 20" ]
	[ "$("$SPROF" fold --ignore '^(a|idle)$' x.folded)" = "main;c;work_[k] 30" ]
	[ "$("$SPROF" fold --hide '^(a|b|work)$' x.folded | paste -sd,)" = "idle 40,main 30,main;c 30" ]
	[ "$("$SPROF" fold --show-from '^[bc]$' x.folded | paste -sd,)" = "b;work 20,c;work_[k] 30" ]
	[ "$("$SPROF" fold --kind kernel x.folded)" = "main;c;work_[k] 30" ]
	[ "$("$SPROF" fold --focus WORK x.folded 2>err)" = "" ]
	grep -q "no sample of 'x.folded' is left after filtering" err
}

@test "a broken stack stays one when it is shown from a function on" {
	printf 'main;[no unwind rule];a;work 30\nmain;a;work 70\n' >broken.folded
	[ "$("$SPROF" fold --show-from '^a$' broken.folded | paste -sd,)" = "[no unwind rule];a;work 30,a;work 70" ]
	"$SPROF" report --show-from '^a$' broken.folded | grep -q '30% incomplete'
	"$SPROF" flame --show-from '^a$' broken.folded | grep -q '30% incomplete'
}

@test "code without a name is of the kind of where it is" {
	"$SPROF" report --json complete.data | jq -e '.rows[] | select(.function == "[jit]")' >/dev/null
	[ "$("$SPROF" fold --kind jit complete.data | awk '{ n += $NF } END { print n }')" = 40 ]
	[ "$("$SPROF" fold --focus kind:jit complete.data | grep -vc '\[jit\]')" = 0 ]
	printf 'a;[jit] 3\na;[kernel] 4\na;b 5\n' >nameless.folded
	[ "$("$SPROF" fold --kind '^jit$' nameless.folded)" = "a;[jit] 3" ]
	[ "$("$SPROF" fold --kind '^kernel$' nameless.folded)" = "a;[kernel] 4" ]
	[ "$("$SPROF" fold --kind unknown nameless.folded | paste -sd,)" = "a;[jit] 3,a;[kernel] 4" ]
}

# Nested repetitions would cost the library gigabytes before it reports an error.
@test "an expression that would take much memory is refused" {
	local limit=1000000
	(ulimit -v $limit && "$SPROF" --version >/dev/null 2>&1) || limit=unlimited # a sanitizer's shadow is large
	for re in "$(printf 'a%0.s' $(seq 2000))" "a$(printf '+%0.s' $(seq 300))" 'x{250}{250}' '(a{200}){200}' '((a{90})*{90}){9}' "$(printf '(%0.s' $(seq 40))a$(printf '+b)%0.s' $(seq 40))+"; do
		for option in --focus --comm --kind; do
			(ulimit -v $limit; run -2 --separate-stderr timeout 10 "$SPROF" report "$option" "$re" x.folded
			[[ "$stderr" == *"too long"* || "$stderr" == *"too many repetitions"* || "$stderr" == *"Invalid"* ]])
		done
	done
	"$SPROF" report --focus 'a{2}|^[ab]+(x{3}y{4})*|\+\+\+\+[+*{]|main' x.folded >/dev/null
}

@test "every command says how much was left out" {
	"$SPROF" report --focus '^a$' x.folded | grep -q '^30 samples, .*, 70 filtered out (70%)'
	"$SPROF" report --json --focus '^a$' x.folded | jq -e '.filtered == 70 and .samples == 30'
	"$SPROF" flame --focus '^a$' x.folded | grep -q '70 filtered out (70%)'
	! "$SPROF" report x.folded | grep -q filtered || false
	"$SPROF" export -f speedscope --focus '^b$' x.folded | jq -e '.profiles[0].endValue == 20'
}

@test "a recording by time, thread, process and module" {
	all=$("$SPROF" report --json complete.data | jq .samples)
	early=$("$SPROF" report --json --to 100ms complete.data | jq .samples)
	late=$("$SPROF" report --json --from 0.1 complete.data | jq .samples)
	[ "$early" -gt 0 ] && [ "$late" -gt 0 ] && [ $((early + late)) -eq "$all" ]
	"$SPROF" report --json --from 100ms complete.data | jq -e ".filtered == $early"
	"$SPROF" report --json --pid 100 --comm ^make complete.data | jq -e '.filtered > 0 and .samples > 0'
	one=$("$SPROF" report --json --thread 100 complete.data | jq .samples)
	[ "$one" -gt 0 ] && [ "$one" -lt "$all" ]
	"$SPROF" report --json --module '^make$' complete.data | jq -e '[.rows[] | select(.module == "make") | .total] | max == 120'
}

@test "what a profile does not hold cannot be filtered by" {
	run --separate-stderr "$SPROF" report --from 1s x.folded
	[ "$status" -eq 1 ]
	[ "$stderr" = "sprof: cannot filter 'x.folded': it holds no times" ]
	run --separate-stderr "$SPROF" flame --comm a x.folded
	[ "$status" -eq 1 ]
	[ "$stderr" = "sprof: cannot filter 'x.folded': it holds no threads" ]
}

@test "a time of day cannot be found in a file that does not say when it was recorded" {
	cd "$BATS_TEST_TMPDIR"
	printf 'a 1 1.000000: 1 cycles:\n\t1 f (x)\n\na 1 3.000000: 1 cycles:\n\t1 g (x)\n\n' >script.txt
	[ "$("$SPROF" fold --from 1s script.txt)" = 'a;g 1' ]
	for option in --from --to; do
		run --separate-stderr "$SPROF" fold $option '2026-07-30 10:00' script.txt
		[ "$status" -eq 1 ]
		[ "$stderr" = "sprof: cannot filter 'script.txt': it holds no times of day" ]
	done
}

@test "wrong filters are usage errors" {
	for args in "--focus a(" "--from x" "--to -x" "--pid 1,x" "--pid -1" "--comm [" "--from 2s --to 1s" "--to 0"; do
		for command in report flame fold "export -f pprof"; do
			run "$SPROF" $command $args x.folded
			[ "$status" -eq 2 ]
		done
	done
}

@test "what was filtered out is right when nothing is left" {
	cd "$BATS_TEST_TMPDIR"
	printf 'a;b 3\na;c 4\n' >x.folded
	[ "$("$SPROF" report --json --focus nothing x.folded 2>/dev/null | jq -c '[.column, .filtered, .samples]')" = '["count",7,0]' ]
	"$SPROF" report --focus nothing x.folded 2>/dev/null | grep -q '7 filtered out (100%)'
}
