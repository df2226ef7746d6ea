# sprof record --source timer --clock wall: what threads wait for, as far as signals tell.
source=timer
load ../source
load ../waits

@test "timer: what threads wait for is on top of their stacks" {
	cd "$BATS_TEST_TMPDIR"
	"$SPROF" record -o data --source timer --clock wall -F 199 -- "$TARGETS/waiting" 3000 >truth 2>log
	cat log
	fold_waits data
	reasons_are_right waits_on # whose only wait ends with its first sample
	# What of: the address of the lock, the pipe, the socket.
	grep -E '^wants_lock;.*;lock wait_\[w\];lock 0x[0-9a-f]+_\[w\] ' waiting
	grep -E '^reads_pipe;.*;pipe wait_\[w\];pipe:\[[0-9]+\]_\[w\] ' waiting
	grep -E '^reads_socket;.*;socket wait_\[w\];socket:\[[0-9]+\]_\[w\] ' waiting
	grep -E '^polls;.*;poll wait_\[w\];1 descriptor_\[w\] ' waiting
	# All of a thread's time is in one of the three columns, and where it runs it does not wait.
	"$SPROF" fold --time --column cpu data | awk '
		/^competes1;.*;competes / { runs += $NF } /_\[w\]/ { wrong++ }
		END { printf "competes1 runs for %.1f ms\n", runs / 1e6; exit wrong || runs < 0.3e9 || runs > 2.4e9 }'
	"$SPROF" fold --time data | awk '
		/^reads_pipe;/ { n += $NF } END { printf "reads_pipe: %.1f ms\n", n / 1e6; exit n < 2.7e9 || n > 3.3e9 }'
	# Sleeps end early, and it is said which calls did.
	grep -E 'warning: [0-9]+ system calls of the program returned EINTR because of samples.*(poll|nanosleep) [0-9]+' log
}

@test "timer: CPU time alone interrupts no waits, and says nothing of them" {
	cd "$BATS_TEST_TMPDIR"
	"$SPROF" record -o data --source timer -- "$TARGETS/waiting" 500 >truth 2>log
	! grep EINTR log
	[ "$("$SPROF" info --json data | jq -r '[.columns[].name] | join(" ")')" = cpu ]
}
