# sprof dump prints what every thread does, without disturbing the threads.
load ../recorder
load ../pythons

# The Python frames of a dump as "THREAD FUNCTION LINE", innermost first.
python_frames() { # pid
	"$SPROF" dump -p "$1" --json | jq -r '.threads[] | .tid as $tid | .frames[] | select(.kind == "python") |
		"\($tid) \(.function | split(" (")[0] | split(".")[-1]) \(.line)"'
}

dump_equals_what_python_says() {
	local out=$BATS_TEST_TMPDIR/python.out
	"$python" tests/targets/python_waits.py >"$out" 3>&- &
	pids+=($!)
	wait_until grep -q ready "$out"
	python_frames "${pids[-1]}" | grep -v "^${pids[-1]} " >"$out.dump"
	grep -v ready "$out" | sort -s -n -k1,1 >"$out.truth"
	[ "$(wc -l <"$out.truth")" -gt 40 ]
	diff "$out.truth" <(sort -s -n -k1,1 "$out.dump")
	# The main thread sleeps at the end of four calls.
	[ "$(python_frames "${pids[-1]}" | grep -c "^${pids[-1]} report ")" -eq 4 ]
	kill -9 "${pids[-1]}"
	wait "${pids[-1]}" || true
}

@test "threads that wait in Python are at the function and line that Python says" {
	each_python dump_equals_what_python_says
}

from_3_14_on() { # COMMAND...
	! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 14))' || "$@"
}

# The tasks of a dump as "NAME STATE AWAITED_BY FUNCTION:LINE,...", innermost first.
tasks() { # jq filter of a frame
	jq -r '.tasks[] | "\(.name) \(.state) \(.awaited_by | sort | join(",") | if . == "" then "-" else . end) " +
		([.frames[] | '"$1"'] | join(","))' "$out.json"
}

suspended_tasks_are_where_python_says() {
	out=$BATS_TEST_TMPDIR/tasks.out
	"$python" tests/targets/python_asyncio.py >"$out" 3>&- &
	pids+=($!)
	wait_until grep -q ready "$out"
	"$SPROF" dump -p "${pids[-1]}" --json >"$out.json"
	"$SPROF" dump -p "${pids[-1]}" --python >"$out.text"
	kill -9 "${pids[-1]}"
	wait "${pids[-1]}" || true
	[ "$(grep -vc ready "$out")" -eq 5 ]
	tasks '"\(.function | split(" (")[0] | split(".")[-1]):\(.line)"' >"$out.dump"
	diff <(grep -v ready "$out" | sort) <(grep -vE '^(Task-1|late|enters|generates) ' "$out.dump" | sort)
	# The frames that Python does not report itself, innermost first.
	tasks '.function | split(" (")[0]' >"$out.dump"
	grep -x 'generates suspended - sleep,numbers,in_async_generator' "$out.dump"
	grep -x 'enters suspended gathers Event.wait,context,_AsyncGeneratorContextManager.__aenter__,in_context' "$out.dump"
	grep -x 'late not started - not_begun' "$out.dump"
	grep -x 'Task-1 running - ' "$out.dump"
	grep -x 'task first, suspended, of thread [0-9]*, awaited by gathers' "$out.text"
	[ "$(jq .unread_tasks "$out.json")" -eq 0 ]
}

@test "from 3.14 on asyncio tasks that are suspended are at the functions and lines that Python says" {
	local nr=0
	each_python from_3_14_on eval 'nr=$((nr + 1)); suspended_tasks_are_where_python_says'
	[ $nr -gt 0 ] || skip "no CPython from 3.14 on is installed"
}

# Each task has a name, a frame and a place in the list; tasks for which the time runs out are
# counted.
many_tasks_hold_up_no_thread() {
	out=$BATS_TEST_TMPDIR/tasks.out
	"$python" tests/targets/python_asyncio.py 60000 >"$out" 3>&- &
	pids+=($!)
	for i in 1 2 3; do wait_until grep -q ready "$out" && break; done
	"$SPROF" dump -p "${pids[-1]}" --json >"$out.json" 2>"$out.err"
	kill -9 "${pids[-1]}"
	wait "${pids[-1]}" || true
	jq -c '[.unread_tasks, (.tasks | length), .threads[0].stopped_ns]' "$out.json"
	cat "$out.err"
	[ "$(jq '.unread_tasks + (.tasks | length)' "$out.json")" -le 60009 ]
	[ "$(jq '.unread_tasks' "$out.json")" -gt 0 ]
	[ "$(jq '.tasks | length' "$out.json")" -gt 100 ]
	[ "$(jq -c '[.tasks[] | select(.name | startswith("more")) | .frames | length][:-1] | unique' "$out.json")" = '[4]' ]
	grep -q 'asyncio tasks or more are not shown besides these' "$out.err"
	[ "$(jq '.threads[0].stopped_ns' "$out.json")" -lt 60000000 ]
}

@test "of very many asyncio tasks those are shown for which there is time, and the others counted" {
	local nr=0
	each_python from_3_14_on eval 'nr=$((nr + 1)); many_tasks_hold_up_no_thread'
	[ $nr -gt 0 ] || skip "no CPython from 3.14 on is installed"
}

@test "every thread of a native program that computes is shown to its root" {
	work threads8 60000
	"$SPROF" dump -p "${pids[0]}" --json >"$BATS_TEST_TMPDIR/dump"
	[ "$(jq '.threads | length' "$BATS_TEST_TMPDIR/dump")" -eq "$(ls /proc/"${pids[0]}"/task | wc -l)" ]
	jq -e '[.threads[].frames[-1].function] | all(. == "clone3" or . == "__clone3" or . == "_start")' "$BATS_TEST_TMPDIR/dump"
	jq -e '[.threads[].frames[].kind] | index("marker") == null' "$BATS_TEST_TMPDIR/dump"
}

# bats test_tags=full
@test "a program in every kind of wait does not see that it is dumped: no EINTR, nothing early, nothing lost" {
	"$TARGETS/blocked" 3000 >"$BATS_TEST_TMPDIR/said" 3>&- &
	local target=$! nr=0
	pids+=($target)
	sleep 0.2
	while kill -0 $target 2>/dev/null && "$SPROF" dump -p $target >/dev/null; do nr=$((nr + 1)); done
	wait $target
	echo "$nr dumps; $(cat "$BATS_TEST_TMPDIR/said")"
	[ "$nr" -gt 3 ]
	grep -q '^loops [0-9]* eintr 0 early 0 wrong 0' "$BATS_TEST_TMPDIR/said"
}

@test "what cannot be dumped is said with its reason" {
	run "$SPROF" dump -p 2
	[ "$status" -eq 1 ]
	[[ $output == "sprof: cannot take the stacks of process 2: it is a thread of the kernel"* ]]
	run "$SPROF" dump -p 4194303
	[ "$status" -eq 1 ]
	[[ $output == "sprof: cannot take the stacks of process 4194303: "* ]]
	start sleep 100
	run "$SPROF" dump -p "${pids[0]}" --python
	[ "$status" -eq 1 ]
	[[ $output == "sprof: cannot show Python frames of process ${pids[0]}: it has none" ]]
	for line in '' '-p 0' '-p x' '-p 1 --json --python'; do
		run "$SPROF" dump $line
		[ "$status" -eq 2 ]
	done
}

@test "a dump fits the terminal, and is whole with --wide and in a pipe" {
	start bash -c 'read -r _ < <(sleep 100)'
	sleep 0.2
	on_terminal() { script -qec "stty cols $1; $SPROF dump -p ${pids[0]} $2" /dev/null | tr -d '\r'; }
	"$SPROF" dump -p "${pids[0]}" | grep '^    ' >"$BATS_TEST_TMPDIR/whole"
	[ "$(wc -L <"$BATS_TEST_TMPDIR/whole")" -gt 32 ]
	[ "$(on_terminal 32 | sed 's/\x1b\[[0-9;]*m//g' | grep '^    ' | wc -L)" -le 32 ]
	on_terminal 32 --wide | sed 's/\x1b\[[0-9;]*m//g' | grep '^    ' | diff "$BATS_TEST_TMPDIR/whole" -
}
