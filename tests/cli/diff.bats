# sprof diff on collapsed stacks and recordings.
load golden

setup() {
	bats_require_minimum_version 1.5.0
	cp "$GOLDEN"/recordings/{complete,killed,processes}.data "$GOLDEN"/output/*.folded "$BATS_TEST_TMPDIR"
	cd "$BATS_TEST_TMPDIR"
}

@test "diff prints what changed, as shares and as they are" {
	"$SPROF" diff before.folded after.folded | same_as_golden diff.report
	"$SPROF" diff --sort total -n 4 before.folded after.folded | same_as_golden diff.total.report
	"$SPROF" diff --absolute before.folded after.folded | same_as_golden diff.absolute.report
}

@test "diff draws after in the colours of the change, and what was removed beside it" {
	"$SPROF" diff before.folded after.folded -o d.svg >/dev/null
	picture <d.svg | same_as_golden diff.svg.txt
	xmllint --noout d.svg
	grep -q '<g class="d8 new"><title>new_cache' d.svg
	grep -A1 '<title>old_cache' d.svg | grep -q '^removed: total 15%'
	"$SPROF" diff --no-js -t x before.folded after.folded -o d.svg >/dev/null
	! grep -q '<script\|<metadata' d.svg || false
	for pair in "hostile kinds" "kinds hostile" "split hostile"; do
		set -- $pair
		"$SPROF" diff $1.folded $2.folded -o h.svg >/dev/null
		xmllint --noout h.svg
	done
}

@test "diff of a profile with itself has no change" {
	"$SPROF" diff kinds.folded kinds.folded --json >same.json
	jq -e '.rows | length > 5 and all(.self.change_percent == 0 and (.self.significant or .total.significant | not))' same.json
	"$SPROF" diff complete.data complete.data --fail-if 'self>+0%' --fail-if 'total<-0%' -o same.svg >same.txt
	grep -q '^0 functions have more self (0 new), 0 less (0 gone), ' same.txt
	! grep -q 'class="d[0-35-8]"><title>\|class="d4 way"' same.svg || false
}

@test "diff in JSON says what the table says, and its selves add up" {
	"$SPROF" diff --json before.folded after.folded | same_as_golden diff.json
	"$SPROF" diff --json before.folded after.folded >d.json
	jq -e '.before.samples == ([.rows[].before.self] | add) and .after.samples == ([.rows[].after.self] | add)' d.json
	jq -e '[.rows[].self.change_percent] | add | fabs < 0.001' d.json
	jq -e '.rows[] | select(.function == "old_cache") | .after.total == 0 and .total.significant' d.json
	"$SPROF" diff --json complete.data killed.data |
		jq -e '.before.column == "cpu" and .before.ns > 0 and .after.unfinished and (.rows | all(.before.self_ns >= 0))'
	"$SPROF" diff --json -n 2 before.folded after.folded | jq -e '.rows | length == 2'
}

@test "a condition that is met makes diff fail, and says which function met it" {
	run --separate-stderr "$SPROF" diff before.folded after.folded --fail-if 'self>+2%'
	[ "$status" -eq 1 ]
	[ "$stderr" = "sprof: cannot accept 'next': self 30% -> 45% (+15% +- 4.3%), and self>+2% is to fail" ]
	[ "$(head -1 <<<"$output" | cut -c 1-6)" = before ]
	run --separate-stderr "$SPROF" diff before.folded after.folded --fail-if 'self>+16%' --fail-if 'total>20%'
	[ "$status" -eq 0 ]
	[ -z "$stderr" ]
	run --separate-stderr "$SPROF" diff before.folded after.folded --fail-if 'self>+16%' --fail-if 'total>+6.2%'
	[ "$status" -eq 1 ]
	[ "$(grep -c 'total>+6.2% is to fail' <<<"$stderr")" -eq 3 ]
	# write takes 1.3 % more, which 900 samples cannot tell from nothing; huff takes 0.5 % more, five samples.
	run "$SPROF" diff before.folded after.folded --fail-if 'self>+0.1%'
	[ "$status" -eq 1 ]
	! grep -q "cannot accept 'write'\|cannot accept 'huff'" <<<"$output" || false
	# Of shares a longer recording is no change, of times it is.
	sed 's/$/0/' before.folded >longer.folded
	"$SPROF" diff before.folded longer.folded --fail-if 'total>+0.1%' >/dev/null
	! "$SPROF" diff --absolute before.folded longer.folded --fail-if 'total>+800%' >/dev/null 2>&1 || false
}

@test "many functions that meet a condition are counted, not all listed" {
	for i in $(seq 40); do echo "app;f$i 100"; done >many.folded
	echo "app;g 4000" >one.folded
	run --separate-stderr "$SPROF" diff one.folded many.folded --fail-if 'self>+1%'
	[ "$status" -eq 1 ]
	[ "$(grep -c . <<<"$stderr")" -eq 11 ]
	grep -q 'cannot accept 30 more functions' <<<"$stderr"
}

@test "a recording and collapsed stacks are compared by names alone" {
	"$SPROF" fold complete.data >complete.folded
	run --separate-stderr "$SPROF" diff complete.data complete.folded --json
	[ "$status" -eq 0 ]
	grep -qx "sprof: functions are compared by name alone: 'complete.folded' has no modules" <<<"$stderr"
	jq -e '.rows | all(.self.significant | not)' <<<"$output"
	jq -e '.rows | all(.module == "")' <<<"$output"
	"$SPROF" diff --without-modules complete.data complete.data --json | jq -e '.rows | all(.module == "")'
	run --separate-stderr "$SPROF" diff --absolute complete.data complete.folded
	[ "$status" -eq 1 ]
	grep -q "^sprof: cannot compare 'complete.data' with 'complete.folded': one has times, the other counts$" <<<"$stderr"
	grep -q '^hint: ' <<<"$stderr"
}

@test "diff fits the terminal" {
	on_terminal() { script -qec "stty cols $1; env $2 $SPROF diff before.folded after.folded" /dev/null | tr -d '\r'; }
	[ "$(on_terminal 90 'LC_ALL=C.UTF-8 NO_COLOR=1 TERM=xterm' | tail -n +5 | wc -L)" -le 90 ]
	on_terminal 90 'LC_ALL=C.UTF-8 NO_COLOR=1 TERM=xterm' | grep -q '±'
	printf 'all;a;work 1000\nall;a_longer_name_than_others 1003\n' >before.folded
	printf 'all;a;work 1300\nall;a_longer_name_than_others 300\nall;new_one 3\n' >after.folded
	for locale in C C.UTF-8; do
		[ "$(on_terminal 80 "LC_ALL=$locale NO_COLOR=1 TERM=xterm" | tail -n +5 | wc -L)" -le 80 ]
	done
	cp "$GOLDEN/output/before.folded" "$GOLDEN/output/after.folded" .
	! on_terminal 90 'LC_ALL=C.UTF-8 NO_COLOR=1 TERM=xterm' | grep -q $'\e\\[' || false
	on_terminal 90 'LC_ALL=C.UTF-8 TERM=xterm' | grep -q $'\e\\[33mmore'
	on_terminal 90 'LC_ALL=C.UTF-8 TERM=xterm' | grep -q $'\e\\[34mless'
	on_terminal 90 'LC_ALL=C.UTF-8 TERM=xterm' | grep -q $'\e\\[2m.*write'
}

@test "what holds no samples passes no condition" {
	for files in "before.folded $GOLDEN/recordings/complete.data" "$GOLDEN/recordings/complete.data before.folded"; do
		run --separate-stderr "$SPROF" diff --focus run_job --fail-if 'self>+2%' $files
		[ "$status" -eq 1 ]
		[[ $stderr == *"there are no samples of 'before.folded' to judge by"* ]]
	done
}

@test "wrong lines of diff are usage errors" {
	for args in "before.folded" "before.folded after.folded kinds.folded" "--sort name before.folded after.folded" \
		"--fail-if self before.folded after.folded" "--fail-if self>2 before.folded after.folded" \
		"--fail-if calls>+2% before.folded after.folded" "--fail-if self>+% before.folded after.folded" \
		"-n x before.folded after.folded" "-t title before.folded after.folded" "--no-js before.folded after.folded"; do
		run "$SPROF" diff $args
		[ "$status" -eq 2 ] || { echo "$args: $status"; return 1; }
	done
	run "$SPROF" diff before.folded nothing.folded
	[ "$status" -eq 1 ]
	[ "$("$SPROF" diff --help | grep -cE '^  sprof ')" -eq 3 ]
}

@test "diff --by compares processes by name, containers, users" {
	"$SPROF" diff --by process --json processes.data processes.data >d.json
	jq -e '.by == "process" and ([.rows[].function] | sort) == ["batch", "gone", "master", "worker"]' d.json
	jq -e '.rows[] | select(.function == "worker") | .before.self == 70' d.json
	"$SPROF" diff --by user --json processes.data complete.data >d.json
	jq -e '[.rows[] | [.function, .before.self]] | sort == [["[not known]", 5], ["root", 10], ["user 4242", 15], ["www-data", 70]]' d.json
	"$SPROF" diff --by container --json processes.data complete.data >d.json
	jq -e '[.rows[] | [.function, .before.self]] | sort == [["[no container]", 25], ["[not known]", 5], ["docker 0123456789ab", 70]]' d.json
	"$SPROF" diff --by user processes.data complete.data >d.txt
	grep -qE '^gone .* www-data$' d.txt
	grep -qE ' User *$' d.txt
	grep -q '^[0-9]* users\? ha.* more self' d.txt
	"$SPROF" diff --by module processes.data complete.data | grep -qE '^gone .* server *$'
	run "$SPROF" diff --by x processes.data processes.data
	[ "$status" -eq 2 ]
}

@test "totals that differ are said, with the option that compares values" {
	cd "$BATS_TEST_TMPDIR"
	printf 'a;b 30\na;c 30\n' >before
	printf 'a;b 60\na;c 48\n' >after
	"$SPROF" diff before after | grep -qxF 'after is 1.80 times before in total (60 -> 108): --absolute compares values'
	[ "$("$SPROF" diff --absolute before after | grep -c 'in total')" = 0 ]
	printf 'a;b 32\na;c 32\n' >near
	[ "$("$SPROF" diff before near | grep -c 'in total')" = 0 ]
}

@test "what filters left out of each side is in the text and in JSON" {
	cd "$BATS_TEST_TMPDIR"
	printf 'a;b 30\na;c 20\n' >before
	printf 'a;b 60\na;c 48\n' >after
	"$SPROF" diff --focus b before after >text
	grep -q '^before .* 20 filtered out (40%)' text
	grep -q '^after .* 48 filtered out (44%)' text
	"$SPROF" diff --json --focus b before after | jq -e '[.before, .after | .samples, .filtered] == [30, 20, 60, 48]'
	"$SPROF" diff --json --focus none before after 2>/dev/null | jq -e '[.before, .after | .samples, .filtered] == [0, 50, 0, 108]'
}
