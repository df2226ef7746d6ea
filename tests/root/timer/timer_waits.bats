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
	# On a busy machine they run seldom, so few samples say how much.
	"$SPROF" fold --time --column cpu data | awk '
		NR == FNR { exact += $1 ~ /^competes/ ? $7 : 0; next }
		/^competes[12];.*;competes / { runs += $NF } /_\[w\]/ { wrong++ }
		END {
			printf "competes1 and competes2 run for %.1f ms of %.1f ms\n", runs / 1e6, exact / 1e6
			exit wrong || !runs || runs < 0.8 * exact - 0.15e9 || runs > 1.2 * exact + 0.15e9
		}' truth -
	"$SPROF" fold --time data | awk '
		/^reads_pipe;/ { n += $NF } END { printf "reads_pipe: %.1f ms\n", n / 1e6; exit n < 2.7e9 || n > 3.3e9 }'
	# Sleeps end early, and it is said which calls did.
	grep -E 'warning: [0-9]+ system calls of the program returned EINTR because of samples.*(poll|nanosleep) [0-9]+' log
}

# Each sample ends a sleep, so a program would fall into step with samples that are taken at equal intervals, and this one
# would be asleep in all of them.
# bats test_tags=full
@test "timer: a thread that is woken by its samples is met where it runs, too" {
	cd "$BATS_TEST_TMPDIR"
	cat >woken.py <<-'PYTHON'
		import ctypes, time
		libc = ctypes.CDLL(None)
		ten = (ctypes.c_long * 2)(10, 0)
		def works():
		    start = time.thread_time()
		    while time.thread_time() < start + 0.001:
		        pass
		    return time.thread_time() - start
		ran, end = 0, time.monotonic() + 6
		while time.monotonic() < end:
		    ran += works()
		    libc.nanosleep(ten, None)
		print(ran)
	PYTHON
	"$SPROF" record -o data --source timer --clock wall -F 199 -- python3 woken.py >ran 2>log
	cat log
	"$SPROF" fold --time --column cpu data | awk -v ran="$(cat ran)" '
		/;works/ { sampled += $NF / 1e9 }
		END { printf "works for %.2f s, samples for %.2f s\n", ran, sampled; exit !ran || sampled < 0.75 * ran || sampled > 1.35 * ran }'
}

# A call that has returned EINTR has waited for a few periods.
@test "timer: what remained of waits that a sample has ended is told" {
	cd "$BATS_TEST_TMPDIR"
	cat >once.py <<-'PYTHON'
		import ctypes, select
		libc = ctypes.CDLL(None)
		class Time(ctypes.Structure):
		    _fields_ = [("s", ctypes.c_long), ("ns", ctypes.c_long)]
		ten, rest = Time(10, 0), Time(0, 0)
		epoll = select.epoll()
		libc.clock_nanosleep(1, 0, ctypes.byref(ten), ctypes.byref(rest))
		print(rest.s * 10**9 + rest.ns)
		libc.clock_nanosleep(1, 0, ctypes.byref(ten), None)
		libc.poll(None, 0, 10000)
		libc.epoll_wait(epoll.fileno(), ctypes.byref(rest), 1, 10000)
		libc.epoll_wait(epoll.fileno(), ctypes.byref(rest), 1, -1)
	PYTHON
	"$SPROF" record -o data --source timer --clock wall -F 19 -- python3 once.py >rest 2>log
	cat log rest
	grep 'system calls of the program returned EINTR' log | awk -v rest="$(cat rest)" '
		function about(what, s, nr) {
			printf "%s: %.2f s of %d s\n", what, s, 10 * nr
			failed = failed || s > 10 * nr || s < 9.5 * nr
		}
		match($0, /clock_nanosleep 2 \([0-9.]+ s\)/) { about("sleep", substr($0, RSTART + 19) + 0, 2) }
		match($0, / poll 1 \([0-9.]+ s\)/) { about("poll", substr($0, RSTART + 9) + 0, 1) }
		match($0, /epoll_p?wait 2 \([0-9.]+ s\)/) { sub(/.*epoll_p?wait 2 \(/, ""); about("epoll", $0 + 0, 1) }
		END { exit failed || rest < 9.5e9 }'
	[ "$(grep -oE '(clock_nanosleep|epoll_p?wait) 2 \([0-9.]+ s\)| poll 1 \([0-9.]+ s\)' log | wc -l)" = 3 ]
	grep -E 'what remained of their waits, (3[89]|40)\.[0-9]+ s or more, depends on the program' log
}

# bats test_tags=full
@test "timer: what the threads of a running process wait for is on top of their stacks" {
	needs_attach
	cd "$BATS_TEST_TMPDIR"
	"$TARGETS/waiting" 20000 >truth 3>&- &
	pids+=($!)
	sleep 0.5
	"$SPROF" record -o data --source timer --clock wall -F 199 -d 2s -p "${pids[-1]}" 2>log
	cat log
	fold_waits data
	# Not which reason has most: on a busy machine a thread may sleep for longer than it waits for its lock.
	grep -E '^sleeps;.*;sleep_\[w\] ' waiting
	grep -E '^polls;.*;poll wait_\[w\];1 descriptor_\[w\] ' waiting
	grep -E '^wants_lock;.*;lock wait_\[w\];lock 0x[0-9a-f]+_\[w\] ' waiting
	grep -E '^reads_pipe;.*;pipe wait_\[w\];pipe:\[[0-9]+\]_\[w\] ' waiting
	grep -E '^reads_socket;.*;socket wait_\[w\];socket:\[[0-9]+\]_\[w\] ' waiting
	# The calls that the samples ended are counted here, too.
	grep -E 'system calls of the program returned EINTR because of samples.*(poll|nanosleep) [0-9]+ \([0-9.]+ s\)' log
}

@test "timer: CPU time alone interrupts no waits, and says nothing of them" {
	cd "$BATS_TEST_TMPDIR"
	"$SPROF" record -o data --source timer -- "$TARGETS/waiting" 500 >truth 2>log
	! grep EINTR log || false
	[ "$("$SPROF" info --json data | jq -r '[.columns[].name] | join(" ")')" = cpu ]
}
