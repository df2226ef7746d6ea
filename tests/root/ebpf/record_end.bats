# sprof record: how it ends, what happens to the program it started, and the rights it needs.
bats_require_minimum_version 1.5.0
load ../recorder

@test "a duration ends it" {
	work shares 60000
	local from=$EPOCHREALTIME
	"$SPROF" record -q -o "$data" -F 99 -d 700ms -p "${pids[0]}"
	awk -v s="$from" -v e="$EPOCHREALTIME" 'BEGIN { exit !(e - s >= 0.7 && e - s < 5) }'
	[ "$(told '.duration_s >= 0.69 and .duration_s < 2')" = true ]
	kill -0 "${pids[0]}"
}

@test "SIGINT, SIGTERM and SIGHUP end it with a complete recording" {
	work shares 60000
	for signal in INT TERM HUP; do
		rm -f "$data"
		record -F 499 -p "${pids[0]}"
		sleep 0.5
		kill -$signal $recorder
		wait $recorder
		[ "$(told .finished)" = true ]
		[ "$(told .samples)" -gt 10 ]
	done
}

# bats test_tags=full
@test "a hangup that nohup keeps away does not end it" {
	work shares 60000
	nohup "$SPROF" record -q -o "$data" -F 99 -d 1500ms -p "${pids[0]}" >/dev/null 3>&- &
	recorder=$!
	pids+=($recorder)
	while [ ! -e "$data" ]; do sleep 0.05; done
	kill -HUP $recorder
	wait $recorder
	[ "$(told '.duration_s >= 1.4')" = true ]
}

@test "a second SIGINT ends the wait for a program" {
	record -F 99 -- bash -c 'trap "" INT TERM; sleep 60 & wait'
	sleep 0.3
	kill -INT $recorder
	sleep 0.5
	kill -0 $recorder # it waits
	kill -INT $recorder
	run wait $recorder
	[ "$(told .finished)" = true ]
}

# bats test_tags=full
@test "the recording ends with its target, though nobody has waited for it" {
	# The parent has become a program that never waits for its children.
	start sh -c '"$0" 1500 >/dev/null & exec sleep 300' "$TARGETS/shares"
	local pid
	wait_until pgrep -P "${pids[0]}" -x shares
	wait_until grep -qx sleep "/proc/${pids[0]}/comm"
	pid=$(pgrep -P "${pids[0]}")
	run timeout 100 "$SPROF" record -q -o "$data" -F 99 -p "$pid"
	[ "$status" -eq 0 ]
	[ "$(told .finished)" = true ]
	[ "$(ps -o stat= -p "$pid")" = Z ] # else this tests nothing
}

@test "a process that has ended cannot be attached to, and no recording is left" {
	start sh -c 'true & exec sleep 60'
	sleep 0.3
	local zombie
	zombie=$(pgrep -P "${pids[0]}")
	run --separate-stderr "$SPROF" record -o "$data" -p "$zombie"
	[ "$status" -eq 1 ]
	[[ $stderr == "sprof: cannot attach to process $zombie: it is a zombie"* ]]
	[ ! -e "$data" ]
	run --separate-stderr "$SPROF" record -o "$data" -p 4194300
	[ "$status" -eq 1 ]
	[ "${stderr_lines[0]}" = "sprof: cannot attach to process 4194300: No such process" ]
}

# bats test_tags=full
@test "a recorder killed with -9 leaves no BPF program, and the target goes on" {
	work shares 60000
	record -F 499 -p "${pids[0]}"
	sleep 1.5
	local programs
	programs=$(programs_of $recorder)
	[ "$(programs_left $programs)" -gt 0 ]
	kill -9 $recorder
	wait $recorder || true
	for i in $(seq 20); do
		[ "$(programs_left $programs)" -gt 0 ] || break
		sleep 0.2
	done
	[ "$(programs_left $programs)" -eq 0 ]
	kill -0 "${pids[0]}"
	[ "$(told .finished)" = false ]
	[ "$(told .samples)" -gt 10 ]
}

@test "the status of a program is passed through" {
	for status in 0 3 125; do
		run "$SPROF" record -q -o "$data" -- sh -c "exit $status"
		[ "$output" = "" ]
	done
	run -0 "$SPROF" record -q -o "$data" -- true
	run -3 "$SPROF" record -q -o "$data" -- sh -c 'exit 3'
	run -143 "$SPROF" record -q -o "$data" -- sh -c 'kill -TERM $$'
	run -139 "$SPROF" record -q -o "$data" -- sh -c 'kill -SEGV $$'
}

@test "a program that cannot be run gives 127 or 126 and leaves the recording before it alone" {
	"$SPROF" record -q -o "$data" -- true
	local inode
	inode=$(stat -c %i "$data")
	run --separate-stderr -127 "$SPROF" record -o "$data" -- no-such-program
	[ "${stderr_lines[0]}" = "sprof: cannot run 'no-such-program': No such file or directory" ]
	run --separate-stderr -127 "$SPROF" record -o "$data" -- ./no-such-program
	echo text >"$BATS_TEST_TMPDIR/text"
	run --separate-stderr -126 "$SPROF" record -o "$data" -- "$BATS_TEST_TMPDIR/text"
	[ "${stderr_lines[0]}" = "sprof: cannot run '$BATS_TEST_TMPDIR/text': Permission denied" ]
	run --separate-stderr -126 "$SPROF" record -o "$data" -- /tmp
	[ "$(stat -c %i "$data")" = "$inode" ]
	[ ! -e "$data.old" ]
}

@test "sprof's own failure is 125 and the program does not run" {
	run --separate-stderr -125 "$SPROF" record -o "$BATS_TEST_TMPDIR/no/such/folder" -- touch "$BATS_TEST_TMPDIR/ran"
	[[ $stderr == *"sprof: cannot write '$BATS_TEST_TMPDIR/no/such/folder': No such file or directory"* ]]
	[ ! -e "$BATS_TEST_TMPDIR/ran" ]
}

@test "after the duration the program runs on, and its status comes through" {
	local from=$EPOCHREALTIME
	run -5 "$SPROF" record -q -o "$data" -F 99 -d 300ms -- sh -c 'sleep 1.2; exit 5'
	awk -v s="$from" -v e="$EPOCHREALTIME" 'BEGIN { exit !(e - s >= 1.2) }'
	[ "$(told '.finished and .duration_s < 1')" = true ]
}

# bats test_tags=full
@test "SIGTERM reaches the program, during the recording and after it" {
	rm -f "$data"
	record -F 99 -- bash -c 'trap "exit 9" TERM; while :; do sleep 0.1; done'
	sleep 0.5
	kill -TERM $recorder
	ends_with 9
	rm -f "$data"
	record -F 99 -d 200ms -- bash -c 'trap "exit 9" TERM; while :; do sleep 0.1; done'
	sleep 0.8
	[ "$(told .finished)" = true ]
	kill -TERM $recorder
	ends_with 9
}

# The recorder's status. STATUS
ends_with() {
	local status=0
	wait $recorder || status=$?
	[ "$status" = "$1" ]
}

# bats test_tags=full
@test "the recorder gives up rights, the program keeps its own" {
	record -F 99 -d 2s -- sleep 2
	sleep 0.5
	local admin=21 bits thread child names=0
	for thread in /proc/$recorder/task/*; do
		bits=$((16#$(awk '/^CapEff/ { print $2 }' "$thread/status")))
		[ $((bits >> admin & 1)) = 0 ]
		[ "${thread##*/}" = $recorder ] || [ "$bits" = 0 ]
		names=$((names + 1))
	done
	[ "$names" -ge 2 ]
	child=$(pgrep -P $recorder -x sleep) # not the processes that read and parse for the recorder
	[ "$(awk '/^CapEff/ { print $2 }' "/proc/$child/status")" = "$(awk '/^CapEff/ { print $2 }' /proc/$$/status)" ]
	wait $recorder
}

@test "a user without rights gets one line, a hint, and 1 or 125" {
	chmod 755 "$BATS_TEST_TMPDIR" "${SPROF%/*}" 2>/dev/null || true
	cp "$SPROF" "$BATS_TEST_TMPDIR/sprof"
	as_nobody() { (cd / && setpriv --reuid=65534 --regid=65534 --clear-groups "$BATS_TEST_TMPDIR/sprof" "$@"); }
	as_nobody --version || skip "nobody cannot reach $BATS_TEST_TMPDIR"
	run --separate-stderr -125 as_nobody record --source ebpf -o /dev/null -- true
	[ "${#stderr_lines[@]}" = 2 ]
	[[ ${stderr_lines[0]} == "sprof: cannot sample with ebpf: no BPF rights"* ]]
	[[ ${stderr_lines[1]} == "hint: "*sudo* ]]
	run --separate-stderr -1 as_nobody record --source ebpf -o /dev/null -p $$
	[ "${#stderr_lines[@]}" = 2 ]
}

@test "in a pid namespace it says that it cannot work there" {
	needs_unshare --pid --fork --mount-proc
	run --separate-stderr -1 unshare --pid --fork --mount-proc "$SPROF" record --source ebpf -o "$data" -d 300ms -p 1
	[[ ${stderr_lines[0]} == "sprof: cannot sample with ebpf: "*"PID namespace"* ]]
}
