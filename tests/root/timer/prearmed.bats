# Programs that contain libsprof.so and sleep until a recorder wakes them: as an ordinary user,
# without ptrace.
source=timer
load ../source

prearmed() { # COMMAND...
	"${as[@]}" env LD_PRELOAD="$(dirname "$SPROF")/libsprof.so" "$@" >"$truth" 3>&- &
	target=$!
	pids+=($target)
	sleep 0.4
	cat "/proc/$target/timers" >/dev/null 2>&1 || skip "may not look at the timers of another user's program (CAP_SYS_PTRACE)"
}

wakes() { # OPTIONS...
	run "${as[@]}" "$SPROF" record -o "$data" --source timer -F 999 "$@"
	echo "$output"
	[ "$status" -eq 0 ]
	# On a busy machine the recorder may not see at once that the target runs.
	[[ ${lines[0]} == "sprof: process "*" has libsprof.so loaded"*" woken"*": no ptrace" ]]
}

# CPU time in the kernel counts for the function that made the system call.
fold_here() {
	"$SPROF" fold "$data" | sed 's/;\[no kernel stack\] / /' >"$folded"
	cd "$BATS_TEST_DIRNAME/../../.."
}

# The library has no timer, no handler except the one that wakes it, and shares no memory.
sleeps() {
	[ -z "$(cat "/proc/$target/timers")" ] && ! grep memfd:sprof "/proc/$target/maps"
}

soon() { # COMMAND...
	for _ in $(seq 40); do
		"$@" && return
		sleep 0.05
	done
	"$@"
}

# bats test_tags=full
@test "pre-armed: it costs nothing, and doctor sees it" {
	as_nobody
	prearmed sleep 30
	look() { grep -E '^(Threads|.*ctxt_switches)' /proc/$target/status; }
	settled() { before=$(look) && sleep 0.2 && [ "$(look)" = "$before" ]; } # a busy machine may still be starting it
	soon settled
	fds=$(ls /proc/$target/fd)
	sleep 1
	[ "$(look)" = "$before" ]
	[ "$(ls /proc/$target/fd)" = "$fds" ]
	grep -q '^Threads:	1$' /proc/$target/status
	grep -q '^SigCgt:	0000000000400000$' /proc/$target/status
	sleeps
	"${as[@]}" "$SPROF" doctor -p $target | grep '^timer  OK: pre-armed'
	[ "$("${as[@]}" "$SPROF" doctor -p $target --json | jq .process.prearmed)" = true ]
	[ "$("${as[@]}" "$SPROF" doctor -p $$ --json | jq .process.prearmed)" = false ]
	# Recording alone does not wake a waiting thread: it must run by itself.
	run "${as[@]}" "$SPROF" record -o "$data" --source timer -d 300ms -p $target
	[[ $output == *"process $target has libsprof.so loaded, and is woken when it runs: no ptrace"* ]]
	[[ $output == *"process $target was not sampled: none of its threads was seen to run"* ]]
	sleeps
}

# bats test_tags=full
@test "pre-armed: woken twice, the shares are true, and it sleeps again" {
	as_nobody
	prearmed "$TARGETS/shares" 5000
	wakes -d 1500ms -p $target
	soon sleeps
	cp "$data" "$data.first"
	wakes -d 1500ms -p $target
	soon sleeps
	wait $target
	fold_here
	truth_holds
	data=$data.first
	fold_here
	truth_holds
}

@test "pre-armed: all threads are sampled, a second recorder is refused, and one that is killed is noticed" {
	as_nobody
	prearmed "$TARGETS/threads8" 60000
	"${as[@]}" "$SPROF" record -q -o "$data" --source timer -F 999 -p $target 3>&- &
	recorder=$!
	pids+=($recorder)
	enough() { [ "$(grep -c '^ID:' /proc/$target/timers)" -ge 8 ]; }
	soon enough
	run "${as[@]}" "$SPROF" record -o "$data.second" --source timer -p $target
	[ "$status" -eq 1 ]
	[[ $output == *"another sprof samples it"* ]]
	kill -9 $recorder
	no_timers() { [ -z "$(cat "/proc/$target/timers")" ]; }
	soon no_timers
	wakes -d 500ms -p $target
	soon sleeps
}

# bats test_tags=full
@test "pre-armed: what it forks is followed, and can be woken by itself" {
	as_nobody
	prearmed bash -c 'run() { for ((i = 0; i < 20000; i++)); do :; done; }; while [ ! -e '"$place/out/end"' ]; do run; (run); done'
	wakes -d 2s -p $target
	[ "$("$SPROF" report --by process --csv "$data" | grep -c bash)" -ge 2 ]
	: >"$place/out/end"
	wait $target
	prearmed bash -c 'for ((;;)); do :; done & echo $!; wait'
	child=$(cat "$truth")
	pids+=($child)
	wakes -d 300ms -p "$child"
	kill $child
	wait $target || true
}

@test "pre-armed: a program with a seccomp filter of its own is left alone" {
	as_nobody
	prearmed env "END_FILE=$place/out/end" "$TARGETS/seccomped" timers 30
	run "${as[@]}" "$SPROF" record -o "$data" --source timer -d 300ms -p $target
	[ "$status" -eq 1 ]
	[[ $output == *"it has "*" seccomp filters, sprof "* ]]
	: >"$place/out/end"
	wait $target
}

# bats test_tags=full
@test "pre-armed: a program that took another's place, and gives every signal its default action" {
	as_nobody
	prearmed sh -c "exec '$TARGETS/own_signals' 3000 reset"
	wakes -d 1s -p $target
	soon sleeps
	wait $target
	fold_here
	truth_holds -v other=5
}
