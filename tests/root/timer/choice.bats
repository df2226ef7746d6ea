# Which source `sprof record` takes by itself where BPF is not allowed: perf may miss Python frames,
# timer cannot come into every program. What it passes over, it says, with the reason.
source=timer
load ../source

setup() {
	data=$BATS_TEST_TMPDIR/data truth=$BATS_TEST_TMPDIR/truth folded=$BATS_TEST_TMPDIR/folded
	as=() place='' pids=()
	(($(cat /proc/sys/kernel/perf_event_paranoid) <= 2)) || skip "kernel.perf_event_paranoid is above 2"
	as_nobody
	"${as[@]}" "$SPROF" doctor --json | jq -e '.sources[1].ok and .sources[2].ok and (.sources[0].ok | not)' >/dev/null ||
		skip "perf events are refused here"
	cp "$BATS_TEST_DIRNAME/../../targets/python_shares.py" "$place/"
	# Python's own functions, whichever interpreter runs them.
	script=$place/python_shares.py
}

# What was taken, and that it holds Python frames. SOURCE
took() {
	echo "$output"
	[ "$status" -eq 0 ]
	[ "$("$SPROF" info --json "$data" | jq -r .source)" = "$1" ]
	"$SPROF" fold "$data" >"$folded"
}

has_python_frames() {
	grep -q 'calls.*;fib' "$folded"
}

records() { # OPTIONS...
	rm -f "$data"
	run "${as[@]}" "$SPROF" record -o "$data" "$@"
}

running() { # COMMAND...
	"${as[@]}" "$@" >"$truth" 2>&1 3>&- &
	target=$!
	pids+=($target)
	sleep 0.5
}

@test "choice: a Python program that is started" {
	records -- /usr/bin/python3 "$script" 500
	took timer
	has_python_frames
	[[ $output == *"sampling with timer, not ebpf, perf: "*"; perf may miss Python frames"* ]]
}

# bats test_tags=full
@test "choice: a Python program that runs" {
	needs_attach
	running /usr/bin/python3 "$script" 5000
	records -d 1s -p $target
	took timer
	has_python_frames
	[[ $output == *"perf may miss Python frames"* ]]
}

# bats test_tags=full
@test "choice: a shell that runs, and has started Python" {
	needs_attach
	running sh -c "/usr/bin/python3 $script 5000; :"
	records -d 1s -p $target
	took timer
	has_python_frames
}

# bats test_tags=full
@test "choice: what starts Python later" {
	printf '#!/usr/bin/env -S python3 -u\n%s\n' "$(cat "$script")" >"$place/script"
	chmod 755 "$place/script"
	records -- "$place/script" 500
	took timer
	has_python_frames
	records -- sh -c "/usr/bin/python3 $script 500; :"
	took timer
	has_python_frames
	[[ $output == *"perf may miss Python frames of what it starts"* ]]
}

# bats test_tags=full
@test "choice: a program without a runtime, and one that timer cannot come into" {
	records -- "$TARGETS/shares" 300
	took perf
	[[ $output != *Python* ]]
	records -- "$TARGETS/shares_static" 300
	took perf
	records --no-python -- /usr/bin/python3 "$script" 300
	took perf
}

# bats test_tags=full
@test "choice: Python where timer cannot come in: perf" {
	running "$TARGETS/seccomped" timers 20 /usr/bin/python3 "$script" 5000
	records -d 500ms -p $target
	took perf
	[[ ${lines[0]} == *"sampling with perf, not ebpf, timer: "*"process $target cannot be attached to: "* ]]
	# Not all: on a busy machine some could not be read in time.
	awk '{ all += $NF } /Python frames not readable/ { lost += $NF } END { exit !(lost < 0.3 * all) }' "$folded"
	records --source perf -- /usr/bin/python3 "$script" 300
	took perf
	has_python_frames
}

# bats test_tags=full
@test "choice: a Python program whose library sleeps in it" {
	running env LD_PRELOAD="$place/libsprof.so" /usr/bin/python3 "$script" 5000
	records -d 1s -p $target
	took timer
	has_python_frames
	[[ $output == *"no ptrace"* ]]
}

# bats test_tags=full
@test "choice: a Python program in a PID namespace, as root" {
	needs_root "make a PID namespace"
	needs_unshare --pid --fork --mount-proc
	as=(unshare --pid --fork --mount-proc)
	records -- /usr/bin/python3 "$script" 500
	took timer
	has_python_frames
}

# bats test_tags=full
@test "choice: an ordinary user samples waits, too, without naming a source" {
	records --clock wall -- "$TARGETS/shares" 300
	took timer
	[[ $output == *"perf samples CPU time only"* ]]
	[ "$("$SPROF" info --json "$data" | jq -r '.samples > 5')" = true ]
	needs_attach
	running "$TARGETS/waits" 20000
	records --clock wall -d 1s -p $target
	took timer
	grep -q '_\[w\]' "$folded" || "$SPROF" fold --column waiting "$data" | grep -q .
}

@test "choice: for a process that lets no code in, the sources that would sample it are named" {
	needs_attach
	running bash -c 'ulimit -n 3; exec "$0" 20000' "$TARGETS/shares_static"
	until [[ $(readlink /proc/$target/exe) == *shares_static ]]; do sleep 0.05; done
	records --source timer -d 1s -p $target
	echo "$output"
	[ "$status" -eq 1 ]
	[ "${lines[0]}" = "sprof: cannot attach to process $target: it has no descriptor free (ulimit -n)" ]
	[ "${lines[1]}" = "hint: use --source perf" ]
	# perf cannot sample waits, and ebpf may not be used.
	records --source timer --clock wall -d 1s -p $target
	echo "$output"
	[[ ${lines[1]} == "hint: only a source that looks from outside can sample it: sprof doctor says "* ]]
	run "${as[@]}" "$SPROF" record --alloc -o "$data" -d 1s -p $target
	echo "$output"
	[ "$status" -ne 0 ]
	[[ $output != *"--source"* ]]
}

@test "choice: a program whose file gives it capabilities loads no library" {
	needs_root "give capabilities"
	cp "$TARGETS/shares" "$place/capable"
	PATH=$PATH:/usr/sbin setcap cap_net_bind_service+ep "$place/capable" || skip "setcap does not work here"
	records --source timer -- "$place/capable" 300
	echo "$output"
	[ "$status" -eq 125 ]
	[[ $output == *"its file gives it capabilities (setcap)"* ]]
}
