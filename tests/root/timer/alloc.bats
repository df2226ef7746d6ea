# Memory beside the source timer: sprof record --alloc without root.
source=timer
load ../source
load ../allocations

# Starts a recorder in the background and returns when it is ready. OPTIONS...
record() {
	"${as[@]}" "$SPROF" record -q -s timer -o "$data" "$@" 3>&- &
	recorder=$!
	pids+=($recorder)
	while [ ! -e "$data" ]; do
		kill -0 $recorder
		sleep 0.05
	done
}

@test "an ordinary user's program: the sums of its memory are right, and CPU samples are in the same recording" {
	as_nobody
	needs_attach
	start_sites "${as[@]}" "$TARGETS/alloc_sites"
	record_sites --alloc=64k
	cat "$BATS_TEST_TMPDIR/said"
	compare allocated 2 65536 4.2
	compare live 3 65536 4.2
	"$SPROF" report --column cpu "$data" | grep 'by timer'
	"$SPROF" fold --column cpu "$data" | grep -c site_
}

@test "a program that an ordinary user starts is sampled from its first instruction on" {
	as_nobody
	needs_known_filters
	echo | "${as[@]}" "$SPROF" record -q -s timer -o "$data" --alloc=64k -- "$TARGETS/alloc_sites" >"$truth"
	compare allocated 2 65536 4.2
	compare live 3 65536 4.2
	"$SPROF" report --column cpu "$data" | grep 'by timer'
	"$SPROF" fold --column cpu "$data" | grep -c site_
}

# Our timers run while the program goes round at its entry point. It must not be left with a handler's signal mask.
@test "a program that is started blocks no signal that it did not block" {
	needs_attach
	grep SigBlk /proc/self/status >"$BATS_TEST_TMPDIR/before"
	for _ in 1 2 3 4 5 6; do
		"$SPROF" record -q -s timer -F 999 -o "$data" --alloc=64k -- grep SigBlk /proc/self/status >"$BATS_TEST_TMPDIR/during"
		diff "$BATS_TEST_TMPDIR/before" "$BATS_TEST_TMPDIR/during"
	done
}

@test "stacks through the hooks are complete" {
	as_nobody
	needs_attach
	stacks_through_hooks_are_complete -s timer
}

# bats test_tags=full
@test "instructions that hooks have moved are their function's own" {
	as_nobody
	needs_known_filters
	moved_instructions_are_the_functions_own -s timer
}

# Signals come all the time while hooks are written and removed; the program checks its blocks itself.
# bats test_tags=full
@test "hooks come and go under the timers of a recorder" {
	needs_attach
	END_FILE=$BATS_TEST_TMPDIR/end "$TARGETS/alloc_storm" 600000 >"$BATS_TEST_TMPDIR/storm" 2>&1 3>&- &
	storm=$!
	pids+=($storm)
	sleep 0.3
	for ((i = 0; i < 6; i++)); do
		"$SPROF" record -q -s timer -F 999 --alloc=64k -d 0.7 -o "$data" -p $storm
		"$SPROF" fold --column allocated "$data" | grep -q .
		kill -0 $storm
	done
	: >"$BATS_TEST_TMPDIR/end"
	wait $storm
	cat "$BATS_TEST_TMPDIR/storm"
}

# A user may have so many processes and threads. Whichever the recorder cannot start, it says so.
# bats test_tags=full
@test "a limit that leaves no thread to the recorder is an error with its reason, not an abort" {
	needs_root "to be a user without other processes"
	as_nobody
	needs_attach
	local nr said='' other=(setpriv --reuid 47123 --regid 47123 --clear-groups env HOME=/)
	"${other[@]}" sleep 600 3>&- &
	pids+=($!)
	until grep -q sleep "/proc/$!/comm"; do
		kill -0 "$!"
		sleep 0.05
	done
	for nr in $(seq 2 30); do
		run "${other[@]}" bash -c 'ulimit -u "$1"; exec "${@:2}"' - "$nr" \
			"$SPROF" record -q -s timer --alloc -d 0.1 -o /dev/null -p "${pids[-1]}"
		echo "$nr: $status: $output"
		[ "$status" -lt 128 ]
		[[ $output != *"cannot start a thread that builds unwind tables: Resource temporarily unavailable"* ]] || said=1
	done
	[ -n "$said" ]
}
