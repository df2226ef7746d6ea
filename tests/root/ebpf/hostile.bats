# Programs that show the BPF program stacks that never end or that are slow to read. A sample of one
# must not hold up its CPU, whoever started the program.
load ../recorder

# The limit is five times the budget of tests/bench, because other load on the machine counts as
# time of the sample. Without a budget these samples take 2 ms to 5 s. One in a hundred may be longer.
is_sampled_briefly() { # TARGET HOW
	local worst
	work "$1" 60000 "$2"
	record -F 99 -p "${pids[-1]}"
	sleep 1
	worst=$("$BUILD/tests/drivers/worst_run" "$recorder" 3000)
	kill -INT "$recorder"
	wait "$recorder"
	echo "$*: longest samples in us: $worst"
	awk -v worst="${worst#* }" 'BEGIN { exit !(worst > 0 && worst < 1000) }'
	fold
}

says_why() {
	[ "$(samples ';\\[incomplete: too long to walk\\];')" -gt 20 ]
	[ "$(told '.incomplete_by_reason[] | select(.reason == "[incomplete: too long to walk]") | .samples > 20')" = true ]
}

# bats test_tags=full
@test "a stack of thousands of frames that lie far apart is cut, and says so" {
	is_sampled_briefly stack_maze far
	says_why
	[ "$(samples ';spin_with_fp;spin_with_fp [0-9]+$')" -gt 20 ]
}

# bats test_tags=full
@test "a stack that saves its registers where no memory is is cut, and says so" {
	is_sampled_briefly stack_maze faults
	says_why
}

# bats test_tags=full
@test "a stack of thousands of signal frames is cut, and says so" {
	is_sampled_briefly stack_maze signals
	says_why
}

# bats test_tags=full
@test "a long walk whose end must be copied does not take longer" {
	is_sampled_briefly stack_maze copies
}

# bats test_tags=full
@test "Python code that is new in every sample is sent a little at a time" {
	is_sampled_briefly python_stall tables
	says_why
	[ "$(samples ';stall \\(stall.py:')" -gt 20 ]
}

# bats test_tags=full
@test "Python frames in a circle are cut, and native frames are still there" {
	is_sampled_briefly python_stall cycle
	[ "$(samples ';main;')" -gt 20 ]
	[ "$(samples '\\[incomplete: ')" -gt 20 ]
}

# bats test_tags=full
@test "a run of Python frames without an end is cut" {
	is_sampled_briefly python_stall endless
	[ "$(samples '\\[incomplete: ')" -gt 20 ]
}

# bats test_tags=full
@test "a process whose stacks are all guesses uses up its own budget for them, and the recording says so" {
	work stack_maze 60000 callers
	"$SPROF" record -o "$data" --source perf -F 4999 -d 3s -p "${pids[-1]}" 2>"$folded.log"
	cat "$folded.log"
	grep -q 'guesses of callers for one process or user took too long' "$folded.log"
	[ "$("$SPROF" info --json "$data" | jq '.samples > 100 and .limits > 100')" = true ]
}
