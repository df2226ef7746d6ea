# sprof dump: what every thread does, and that the threads do not notice.
load recorder
load pythons

# The Python frames of a dump as "THREAD FUNCTION LINE", innermost first.
python_frames() { # pid
	"$SPROF" dump -p "$1" --json | jq -r '.threads[] | .tid as $tid | .frames[] | select(.kind == "python") |
		"\($tid) \(.function | split(" (")[0] | split(".")[-1]) \(.line)"'
}

dump_equals_what_python_says() {
	local out=$BATS_TEST_TMPDIR/python.out
	"$python" tests/targets/python_waits.py >"$out" &
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

@test "every thread of a native program that computes is shown to its root" {
	work threads8 60000
	"$SPROF" dump -p "${pids[0]}" --json >"$BATS_TEST_TMPDIR/dump"
	[ "$(jq '.threads | length' "$BATS_TEST_TMPDIR/dump")" -eq "$(ls /proc/"${pids[0]}"/task | wc -l)" ]
	jq -e '[.threads[].frames[-1].function] | all(. == "clone3" or . == "__clone3" or . == "_start")' "$BATS_TEST_TMPDIR/dump"
	jq -e '[.threads[].frames[].kind] | index("marker") == null' "$BATS_TEST_TMPDIR/dump"
}

@test "a program in every kind of wait does not see that it is dumped: no EINTR, nothing early, nothing lost" {
	"$TARGETS/blocked" 3000 >"$BATS_TEST_TMPDIR/said" &
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
