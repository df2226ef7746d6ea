# Python frames taken inside the programs by the timer source, without any rights: the tests of
# python.bats. Wall-clock signals come as often as requested; CPU-time signals at most as often as
# the kernel ticks.
source=timer
load ../source
load ../pythons

storm() {
	"$SPROF" record -q -o "$data" --source timer --clock wall -F 4999 -- "$@"
}

has_no_impossible_stack() {
	storm "$python" tests/targets/python_impossible.py 0.4
	fold_here
	judge possible "$folded" 500
}

fold_here() {
	"$SPROF" fold "$data" >"$folded"
}

# bats test_tags=full
@test "python with timer: a leaf that only one function calls is below no other, in storms of signals" {
	each_python has_no_impossible_stack
}

names_what_is_gone() {
	storm "$python" tests/targets/python_shortlived.py 0.5 often >"$truth"
	fold_here
	judge named "$truth" "$folded"
}

# bats test_tags=full
@test "python with timer: functions that live 3 ms, one in the memory of the other, have their own names" {
	each_python names_what_is_gone
}

agrees_with_faulthandler() {
	local pid
	"$python" tests/targets/python_at_rest.py "$truth" released >/dev/null 2>&1 3>&- &
	pid=$!
	pids+=($pid)
	# faulthandler catches its signal once it is registered.
	for i in $(seq 200); do
		grep -q '^SigCgt:.*[2367abef]..$' /proc/$pid/status && break
		sleep 0.05
	done
	sleep 0.4
	kill -USR1 $pid
	sleep 0.2
	"$SPROF" record -q -o "$data" --source timer --clock wall -F 499 -d 300ms -p $pid
	kill -9 $pid
	"$SPROF" export -f pprof -o "$data.gz" "$data"
	judge at_rest "$truth" "$data.gz" 1
}

@test "python with timer, attached: at rest, stacks are faulthandler's in file, line and function" {
	needs_attach
	each_python agrees_with_faulthandler
}

@test "nobody with timer: a script that is started has Python frames in all its samples" {
	as_nobody
	cp "$BATS_TEST_DIRNAME"/../../targets/python_shares.py "$place/out/"
	"${as[@]}" "$SPROF" record -q -o "$data" --source timer -F 999 -- /usr/bin/python3 "$place/out/python_shares.py" 800 >"$truth"
	cd "$BATS_TEST_DIRNAME/../../.."
	fold_here
	cut -d' ' -f1 "$truth" | while read -r part; do
		grep -q "main (python_shares.py:[0-9]*);$part (python_shares.py:" "$folded"
	done
	judge possible "$folded" 30
}

# bats test_tags=full
@test "nobody with timer: a script that is attached to has Python frames in all its samples" {
	needs_attach
	as_nobody
	cp "$BATS_TEST_DIRNAME"/../../targets/python_shares.py "$place/out/"
	"${as[@]}" /usr/bin/python3 "$place/out/python_shares.py" 60000 >/dev/null 3>&- &
	local pid=$!
	pids+=($pid)
	wait_for_script $pid
	"${as[@]}" "$SPROF" record -q -o "$data" --source timer -F 999 -d 700ms -p $pid
	kill -9 $pid
	cd "$BATS_TEST_DIRNAME/../../.."
	fold_here
	judge covered "$folded"
}

# Waits until the process has used a little CPU time of its own: the interpreter has started.
wait_for_script() { # PID
	local ticks=0
	for i in $(seq 200); do
		ticks=$(awk '{ print $14 }' /proc/"$1"/stat)
		[ "$ticks" -lt 30 ] || return 0
		sleep 0.05
	done
}

# bats test_tags=full
@test "python with timer: workers that are forked and spawned, and programs that are exec'ed, have their frames" {
	"$SPROF" record -q -o "$data" --source timer -F 999 -- /usr/bin/python3 tests/targets/python_family.py /usr/bin/python3 >"$truth"
	fold_here
	for part in in_forked in_spawned in_exec; do
		grep -q "$part (python_family.py:[0-9]*);burn (python_family.py:" "$folded"
	done
}

@test "python with timer: --no-python shows the interpreter's own functions" {
	"$SPROF" record -q -o "$data" --source timer --no-python -- python3 tests/targets/python_shares.py 200
	fold_here
	[ "$(grep -c 'python_shares.py' "$folded")" = 0 ]
	grep -q '_PyEval_EvalFrameDefault' "$folded"
}

# bats test_tags=full
@test "python with timer: frames that are nowhere, end nowhere or go away do the program no harm" {
	needs_process_vm_readv
	storm "$TARGETS/python_hostile" 1500 >"$truth"
	grep -q rounds "$truth"
	fold_here
	grep -q ';sound (sound.py:42);' "$folded"
	grep -q '\[Python frames not readable\]' "$folded"
}

# bats test_tags=full
@test "python with timer: an interpreter that starts and ends in a storm of signals ends as it should" {
	for i in 1 2 3; do
		storm /usr/bin/python3 -c 'import threading, json, sys
for _ in range(4): threading.Thread(target=lambda: [json.dumps({"a": [i] * 50}) for i in range(500)], daemon=True).start()
sys.exit(3)' && rc=0 || rc=$?
		[ $rc = 3 ]
	done
}
