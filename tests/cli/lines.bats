# sprof lines, on recordings with and without lines.

GOLDEN=$BATS_TEST_DIRNAME/../golden/recordings

setup() {
	bats_require_minimum_version 1.5.0
	cd "$BATS_TEST_TMPDIR"
}

@test "a profile without source lines says so and how to get some" {
	echo 'a;b;c 3' >stacks
	run --separate-stderr "$SPROF" lines -i stacks
	[ "$status" -eq 1 ]
	[ -z "$output" ]
	[[ $stderr == "sprof: cannot show lines of 'stacks': "*"hint: compile with -g"* ]]
	run --separate-stderr "$SPROF" lines -i stacks --json
	[ "$status" -eq 0 ]
	[ "$(jq -c '[.version, .unit, .total, .without_lines, .functions]' <<<"$output")" = '[1,"count",3,3,[]]' ]
}

@test "no source is called newer than a file that does not say when it was recorded" {
	printf 'def f():\n    return 1\n' >a.py
	cat >firefox.json <<-END
		{"meta": {"preprocessedProfileVersion": 50}, "threads": [{"samples": {"stack": [0]},
		 "stackTable": {"frame": [0], "prefix": [null]}, "frameTable": {"func": [0], "line": [2]},
		 "funcTable": {"name": [0], "fileName": [1]}, "stringArray": ["f", "$PWD/a.py"]}]}
	END
	run "$SPROF" lines -i firefox.json
	echo "$output"
	[ "$status" -eq 0 ]
	[[ $output == *"return 1"* ]]
	[[ $output != *"was changed after the recording"* ]]
}

@test "wrong lines are usage errors" {
	local line
	for line in 'a b' '-n x' '-s name' '--json --kernprof' 'a.c:' '--column nothing'; do
		run "$SPROF" lines $line
		echo "$line: $output"
		[ "$status" -eq 2 ]
	done
	run "$SPROF" lines "$GOLDEN/complete.data"
	local by_position=$output
	run "$SPROF" lines -i "$GOLDEN/complete.data"
	[ "$by_position" = "$output" ]
	[[ $output == *"complete.data': none of its code says which source file it is from"* ]]
	run "$SPROF" lines "$GOLDEN/complete.data" -i other.data
	[ "$status" -eq 2 ]
	[[ $output == *"one recording at a time: "* ]]
}

@test "kernprof wants a column of time" {
	echo 'a;b;c 3' >stacks
	run "$SPROF" lines -i stacks --kernprof
	[ "$status" -eq 1 ]
	[ "$output" = "sprof: cannot print times of 'stacks': count is not a time" ]
}
