# Processes that do the recorder harm: those that it samples, and others of the same machine.
bats_require_minimum_version 1.5.0
cd "$BATS_TEST_DIRNAME/../../.." || exit 1
source tests/rights.bash
source tests/root/ready.bash
GUEST=tests/root/untrusted/guest.py

setup() {
	command -v python3 >/dev/null || skip "needs python3"
	data=$BATS_TEST_TMPDIR/data pids=() net=()
}

teardown() {
	[ -n "${pids[*]-}" ] || return 0
	kill -9 "${pids[@]}" 2>/dev/null || true
	wait "${pids[@]}" 2>/dev/null || true
}

start() {
	"$@" >/dev/null 2>&1 3>&- &
	pids+=($!)
}

# ---- shared memory

@test "a target cannot take away the memory that it shares with the recorder" {
	run --separate-stderr "$SPROF" record -o "$data" --source timer -F 999 -- python3 $GUEST shrink
	echo "$output $stderr"
	[ "$status" -eq 0 ]
	[ "${lines[0]}" = "refused: Operation not permitted" ]
	[ "${lines[1]}" = "refused: Operation not permitted" ]
	[ "$("$SPROF" info --json "$data" | jq '.samples > 20 and .finished')" = true ]
}

@test "GPU data in memory that could shrink is refused" {
	run --separate-stderr "$SPROF" record -o "$data" --source timer --gpu on -F 999 -- python3 $GUEST region
	echo "$output $stderr"
	[ "$status" -eq 0 ]
	[ "${lines[0]}" = "refused: Connection reset by peer" ] || [ "${lines[0]}" = "answer: b''" ]
	[[ $stderr == *"could not hand over its GPU data: Operation not permitted"* ]]
}

@test "a target cannot claim that more samples were lost than its timers can have taken" {
	run --separate-stderr "$SPROF" record -o "$data" --source timer -F 999 -- "$TARGETS/claims"
	echo "$output $stderr"
	[ "$status" -eq 0 ]
	"$SPROF" info --json "$data" | tee "$BATS_TEST_TMPDIR/info"
	# Half a second of CPU time has at most 500 samples; a loaded machine may take ten seconds for it.
	jq -e ".lost > 0 and .lost < 100000 * $(nproc) and .samples > 20" "$BATS_TEST_TMPDIR/info"
	[[ $stderr == *"says that more samples were lost than its timers can have taken"* ]]
	"$SPROF" info "$data" | grep "says that more samples were lost than its timers can have taken"
}

# ---- memory that cannot be read

# Starts a target whose memory cannot be read. KIND
stuck() {
	start_ready "$TARGETS/stuck" "$1" 20
	pids+=($target)
}

# SECONDS OPTIONS...
ends_within() {
	local limit=$1 from=$EPOCHREALTIME took
	shift
	run --separate-stderr timeout -s KILL 30 "${net[@]}" "$SPROF" record -o "$data" "$@"
	took=$(((${EPOCHREALTIME/./} - ${from/./}) / 1000))
	echo "$took ms; $output $stderr"
	[ "$took" -lt $((limit * 1000)) ]
}

# bats test_tags=full
@test "a read of a target's memory that never returns does not keep the recording from its end" {
	local source
	stuck userfault
	for source in ebpf perf; do
		ends_within 10 --source $source -F 999 -d 1s -p "$target"
		if [ "$status" -ne 0 ]; then # no rights for this source
			[[ $stderr == *"sample with $source"* ]] || return 1
			continue
		fi
		[[ $stderr == *"a read of the memory of process $target did not return within"*"it is left alone"* ]]
		[ "$("$SPROF" info --json "$data" | jq '.samples > 5 and .finished')" = true ]
		"$SPROF" info "$data" | grep "a read of a process's memory did not return in time"
	done
}

# While such a process runs, ps(1) hangs on the whole machine.
# bats test_tags=full
@test "a target that holds the lock of its memory is refused at once" {
	local source
	for source in timer ebpf; do
		stuck lock
		ends_within 8 --source $source -d 1s -p "$target"
		kill -9 "$target"
		[ "$status" -eq 1 ]
		[[ $stderr == *"a read of the memory of process $target did not return within"* ]] ||
			[[ $stderr == *"sample with $source"* ]]
	done
}

# Its end cannot be had by a signal: the kernel waits for its file system, which ends by itself.
# While such a process runs, ps(1) hangs on the whole machine.
# bats test_tags=full
@test "a target that starts a program for ever keeps no recorder from its end" {
	local kind source
	for kind in exec close; do
		for source in timer ebpf perf; do
			stuck $kind
			ends_within 8 --source $source -d 1s -p "$target"
			kill -9 "$target"
			[[ $kind.$source == exec.timer || $kind = close ]] || continue
			[ "$status" -eq 1 ]
			[[ $stderr == *"it is starting a program, which takes too long"* ]] ||
				[[ $stderr == *"a read of the memory of process $target did not return within"* ]] ||
				[[ $stderr == *"sample with $source"* ]]
		done
	done
}

# Children look names up beside a flight recorder, those of runtime code in /proc. While such a process runs, ps(1) hangs
# on the whole machine.
# bats test_tags=full
@test "a target that starts a program for ever keeps no segment from its end" {
	local dir=$BATS_TEST_TMPDIR/flight log=$BATS_TEST_TMPDIR/log recorder file
	[ "$("$SPROF" doctor | grep -c '^\(ebpf\|perf\)  *OK')" -gt 0 ] || skip "needs the source ebpf or perf"
	stuck asked
	"$SPROF" record --continuous "$dir" --segment 1s -F 999 -p "$target" 2>"$log" 3>&- &
	recorder=$!
	pids+=($recorder)
	ends_beside_endless_exec $recorder "$target" "$dir" "$log"
	grep -q "a read of the memory of process $target did not return within" "$log"
	for file in "$dir"/*.data; do
		[ "$("$SPROF" info --json "$file" 2>/dev/null | jq .finished)" = true ]
	done
}

# At its end a recording of waits copies the stacks of threads that wait.
# bats test_tags=full
@test "a thread that waits on a stack that cannot be read keeps no recording from its end" {
	stuck waits
	ends_within 5 --source ebpf --clock off -d 1s -p "$target"
	if [ "$status" -ne 0 ]; then
		[[ $stderr == *"sample with ebpf"* ]]
		skip "waits cannot be recorded here"
	fi
	[ "$("$SPROF" info --json "$data" | jq '.finished')" = true ]
	"$SPROF" fold --column waiting "$data" | grep -q 'signal wait_\[w\]'
}

# A recording that would go on, or a dump, is sent SIGINT after 2 s. What is refused may end before. OPTIONS...
interrupted() {
	local from=$EPOCHREALTIME took
	run --separate-stderr timeout -s INT -k 60 2 "$SPROF" "$@"
	took=$(((${EPOCHREALTIME/./} - ${from/./}) / 1000))
	echo "$1: status $status, $took ms; $output $stderr"
	[ "$status" -ne 137 ] && [ "$took" -lt 12000 ]
}

# While such a process runs, ps(1) hangs on the whole machine.
# bats test_tags=full
@test "^C ends a dump and a recording by timers of each target whose memory cannot be read" {
	local kind
	for kind in userfault lock exec close waits; do
		echo "$kind:"
		stuck $kind
		interrupted record --source timer -o "$data" -d 60s -p "$target"
		# The kernel ends a program if a signal's frame cannot be written on the stack of its thread.
		kill -9 "$target" || [ $kind = waits ]
		stuck $kind
		interrupted dump -p "$target"
		kill -9 "$target"
	done
}

# ---- connections

# Sets `net`, which runs a command where it sees no abstract sockets but those of commands run so: strangers connect to
# every recorder that they see, and those of other tests would report them.
enter_own_network() {
	net=()
	unshare -n true 2>/dev/null || return 0
	unshare -n sleep 600 >/dev/null 2>&1 3>&- &
	pids+=($!)
	for _ in $(seq 500); do
		[ "$(cat /proc/$!/comm)" != sleep ] || break
		sleep 0.02
	done
	net=(nsenter -t $! -n)
}

# A process that descends from no target; of another user, if we are root and that user finds
# Python.
stranger() {
	local as=(setpriv --reuid=65534 --regid=65534 --clear-groups)
	cp $GUEST "$BATS_TEST_TMPDIR/guest.py"
	chmod 755 "$BATS_RUN_TMPDIR" "$BATS_TEST_TMPDIR" "$BATS_TEST_TMPDIR/guest.py"
	PATH=/usr/bin:$PATH
	"${as[@]}" python3 -c '' 2>/dev/null || as=()
	exec "${net[@]}" "${as[@]}" python3 "$BATS_TEST_TMPDIR/guest.py" "$@"
}

# bats test_tags=full
@test "processes that connect all the time and say nothing do not hold up the recording" {
	needs_attach
	enter_own_network
	(stranger knock 60) >"$BATS_TEST_TMPDIR/knocked" 2>&1 3>&- &
	pids+=($!)
	(stranger knock 60) >/dev/null 2>&1 3>&- &
	pids+=($!)
	"${net[@]}" "$TARGETS/threads8" 40000 >/dev/null 2>&1 3>&- &
	target=$!
	pids+=($target)
	ends_within 15 --source timer -F 999 -d 2s -p "$target"
	[ "$status" -eq 0 ]
	[ "$("$SPROF" info --json "$data" | jq '.samples > 20 and .finished')" = true ]
	[[ $stderr == *"refused "*" connections to be sampled, from processes that are not recorded"* ]]
	[[ $stderr == *"refused "*" connections with GPU data, from processes that are not recorded"* ]]
	# A signal works as well.
	"${net[@]}" "$SPROF" record -q -o "$data" --source timer -p "$target" >/dev/null 2>&1 3>&- &
	local recorder=$! from
	pids+=($recorder)
	sleep 2
	from=$EPOCHREALTIME
	kill -TERM $recorder
	wait $recorder || true
	[ $(((${EPOCHREALTIME/./} - ${from/./}) / 1000)) -lt 15000 ]
}

# bats test_tags=full
@test "a process that is not recorded is no source of GPU data" {
	enter_own_network
	(
		sleep 0.7
		stranger gpu >"$BATS_TEST_TMPDIR/answer"
	) 3>&- &
	pids+=($!)
	run --separate-stderr "${net[@]}" "$SPROF" record -o "$data" --source timer --gpu on -- "$TARGETS/shares" 2500
	echo "$stderr"
	[ "$status" -eq 0 ]
	[[ $stderr == *"sprof: warning: refused 1 connection with GPU data, from processes that are not recorded"* ]]
	! grep -q "answer: b'.\+'" "$BATS_TEST_TMPDIR/answer" || false
}

# bats test_tags=full
@test "a daemon, whose parents have ended, is sampled as what it descends from" {
	# setsid --fork leaves its child to the first process.
	run --separate-stderr "$SPROF" record -v -o "$data" --source timer -F 999 -- \
		sh -c "setsid --fork '$TARGETS/shares' 1500 >/dev/null; sleep 2.5"
	echo "$stderr"
	[ "$status" -eq 0 ]
	"$SPROF" fold "$data" >"$BATS_TEST_TMPDIR/folded"
	nr=$(awk '/^shares;/ { nr += $NF } END { print nr + 0 }' "$BATS_TEST_TMPDIR/folded")
	echo "$nr samples of the daemon"
	[ "$nr" -gt 20 ]
	[[ $stderr != *refused* ]]
}
