# Waits of threads by the source ebpf, against the kernel's own counts.
load ../kernel
load ../waits

setup() {
	needs_bpf
	cd "$BATS_TEST_TMPDIR"
}

teardown() {
	[ -z "${target-}" ] || kill "$target" 2>/dev/null || true
}

follows() { # OPTIONS...: starts the target, and attaches for 2 s
	"$TARGETS/waiting" 20000 >truth 3>&- &
	target=$!
	sleep 0.5
	"$SPROF" record --source ebpf -o data "$@" -d 2s -p $target
	fold_waits data
}

@test "waits of a program have their true times, shares and reasons" {
	stolen_ns >stolen
	"$SPROF" record --source ebpf -o data --clock wall -- "$TARGETS/waiting" 3000 >truth
	fold_waits data
	times_add_up
	kernel_agrees
	samples_agree waiting 0.5
	samples_agree runnable 2 # of 800 samples of waits, a tenth: some vary by more than a point
	reasons_are_right
	[ "$(jq '.lost' info.json)" = 0 ]
	# CPU samples are in the same recording, and the sum of both is what is shown.
	"$SPROF" fold --column cpu data | grep -E '^competes1;.*;competes [0-9]+$'
	"$SPROF" fold data | awk '
		/^naps;/ { all += $NF } /^naps;.*;(sleep|preempted|CPU wait)_\[w\]/ { off += $NF }
		/^naps;.*;sleep_\[w\]/ { sleep += $NF } /^competes1;.*;competes / { runs = 1 }
		END { printf "%.1f ms of %.1f ms asleep, %.1f ms off its CPU\n", sleep / 1e6, all / 1e6, off / 1e6
		      exit !sleep || off < 0.8 * all || all < 2.8e9 || all > 3.4e9 || !runs }'
	# A wait has a colour of its own.
	"$SPROF" flame -o flame.svg data
	grep -q 'class="w[0-4]' flame.svg
}

# bats test_tags=full
@test "a program that is started is watched from its exec on, and sprof before that is not" {
	starts_without_sprof --source ebpf --clock wall
	"$SPROF" record -q --source ebpf -o data --clock wall -- sleep 0.3
	"$SPROF" info --json data >info.json
	times_add_up
	jq -e '(.thread_times | length) == 1 and .thread_times[0].wall_ns > 3e8' info.json
}

# bats test_tags=full
@test "waits that began before the recording or outlast it are counted" {
	follows --clock off
	times_add_up
	# Each of the threads was watched for as long as the recording lasted.
	jq -e '(.thread_times | length) == 12 and all(.thread_times[]; .wall_ns > 1.9e9 and .wall_ns < 2.6e9)' info.json
	# One thread did not run at all.
	jq -e '.thread_times[] | select(.name == "waits_on") | .waiting_ns == .wall_ns and .switches == 0' info.json
	grep -E '^waits_on;.*;run;waits_on;.*_\[k\];poll wait_\[w\];pipe_\[w\] [0-9]+$' waiting
	samples_agree waiting 0.5
	reasons_are_right
}

# bats test_tags=full
@test "--clock off takes no samples of threads that run" {
	follows --clock off
	[ "$(jq -r '[.columns[].name] | sort | join(" ")' info.json)" = "runnable waiting" ]
	[ "$(jq -r .event info.json)" = sched_switch ]
	run "$SPROF" fold --column cpu data
	[ "$status" -eq 1 ]
}

@test "without --clock nothing is known of waits" {
	"$SPROF" record -q --source ebpf -o data -- "$TARGETS/waiting" 300 >truth
	[ "$("$SPROF" info --json data | jq -c '[.times, .thread_times]')" = '[null,[]]' ]
}

# bats test_tags=full
@test "waits of the whole system are followed" {
	"$TARGETS/waiting" 20000 >truth 3>&- &
	target=$!
	sleep 0.3
	"$SPROF" record --source ebpf -o data --clock wall -d 1500ms -a
	fold_waits --pid $target data
	times_add_up
	reasons_are_right
	# Another process of this machine may have threads of these names.
	jq -e --argjson pid $target '[.thread_times[] | select(.name == "sleeps" and .pid == $pid)] | length == 1 and .[0].waiting_ns > 5e8' info.json
}

# bats test_tags=full
@test "threads that live for a moment are counted with all their time" {
	"$SPROF" record --source ebpf -o data --clock wall -- "$TARGETS/churn" 3000 1000 >truth
	"$SPROF" info --json data >info.json
	times_add_up
	[ "$(jq '.times.threads > 3000' info.json)" = true ]
	jq -r '.times.cpu_ns' info.json | awk '
		NR == FNR { true_ns += $NF; next }
		{ printf "%.1f ms exact, %.1f ms in the threads\n", $1 / 1e6, true_ns / 1e6
		  exit $1 < true_ns }' truth -
}

# bats test_tags=full
@test "locks, pipes, sockets and sleeps have their true times and shares, by periods of 1 and 10 ms" {
	local period
	for period in 1ms 10ms; do
		stolen_ns >stolen
		"$SPROF" record -q --source ebpf -o data --clock wall --wait-period $period -- "$TARGETS/waiting" 4000 >truth
		fold_waits data
		times_add_up
		kernel_agrees
		samples_agree waiting 0.5
		reasons_are_right
	done
}

# A wait of at least a period is sampled for certain. Of shorter ones each is with a probability, so the bounds are those
# of chance: a thread that ends after its first wait has no further ones to make up for it. The same holds where the period
# grew, because a sample took long on a busy machine: then there are fewer samples than waits. A switch is seen up to 50 us
# late (waits.bash), and between its wait and its look at the clock a thread runs.
# bats test_tags=full
@test "waits of threads that live for 2 ms have their true times, by periods of 1 and 10 ms" {
	local period
	for period in 1 10; do
		"$SPROF" record -q --source ebpf -o data --clock wall --wait-period ${period}ms -- "$TARGETS/short_waits" 4000 >truth
		"$SPROF" info --json data >info.json
		times_add_up
		"$SPROF" report --json --column waiting data | jq -r '.rows[] | "\(.function) \(.total)"' | grep -E '^(on_|asleep)' >sampled
		{ "$SPROF" fold --time --column waiting data; "$SPROF" fold --time --column runnable data; } | awk -v period=$period -v lost="$(jq .lost info.json)" '
			BEGIN { expected["on_futex"] = "lock wait"; expected["on_pipe"] = "pipe wait"
				expected["on_socket"] = "socket wait"; expected["asleep"] = "sleep" }
			FILENAME == "truth" { exact[$1] = $2; nr[$1] = $3; next }
			FILENAME == "sampled" { sampled[$1] = $2; next }
			{
				for (n in exact)
					if (index($0, ";" n ";")) {
						is[n] += $NF
						if ($0 !~ "(preempted|" expected[n] "|CPU wait)_\\[w\\]")
							wrong[n] += $NF
					}
			}
			END {
				for (n in exact) {
					mean = exact[n] / nr[n] / 1e6 # of a wait, in ms
					sigma = mean < period ? sqrt((period / mean - 1) / nr[n]) : 0
					if (period == 1 && sampled[n] < 0.95 * nr[n] - lost)
						sigma = 1 / sqrt(sampled[n] + 1)
					room = 0.02 + 50e3 * nr[n] / exact[n] + 4 * sigma + lost / nr[n]
					printf "T = %d ms, %s: %.3f s of %.3f s, %d of %d waits, %+.1f %%, room %.1f %%, another reason: %.1f ms\n", period, n,
						is[n] / 1e9, exact[n] / 1e9, sampled[n], nr[n], 100 * (is[n] / exact[n] - 1), 100 * room, wrong[n] / 1e6
					failed = failed || is[n] > (1 + room) * exact[n] || is[n] < (1 - room) * exact[n] || wrong[n] > 0.02 * exact[n]
				}
				exit failed
			}' truth sampled -
		[ "$(jq '.times.threads > 400' info.json)" = true ]
	done
}

# bats test_tags=full
@test "threads that end while the recording ends are counted up to its end" {
	"$TARGETS/relay" 200 20000 >started 3>&- &
	target=$!
	while [ ! -s started ]; do sleep 0.1; done
	"$SPROF" record -q --source ebpf -o data --clock off -d 500ms -p $target
	"$SPROF" info --json data >info.json
	times_add_up
	# A relay always has a thread; so 200 of them, and the first thread, were there at the end.
	jq '[.thread_times[] | .start_ns + .wall_ns] | (max as $last | map(select(. == $last)) | length)' info.json >alive
	cat alive
	[ "$(cat alive)" -ge 201 ]
}

# bats test_tags=full
@test "waits of Python threads are under their Python functions" {
	command -v python3 >/dev/null || skip "there is no python3"
	cat >waits.py <<-PYTHON
		import os, queue, threading, time
		def take_from_queue(q):
		    while q.get():
		        pass
		def read_pipe(fd):
		    while os.read(fd, 1):
		        pass
		def nap():
		    time.sleep(0.005)
		q = queue.Queue(); r, w = os.pipe()
		threading.Thread(target=take_from_queue, args=(q,)).start()
		threading.Thread(target=read_pipe, args=(r,)).start()
		end = time.time() + 2
		while time.time() < end:
		    nap(); q.put(1); os.write(w, b"x")
		q.put(None); os.close(w)
	PYTHON
	"$SPROF" record -q --source ebpf -o data --clock off -- python3 waits.py
	"$SPROF" fold --time --column waiting data | awk '
		function about(what, ns) { printf "%s %.1f ms\n", what, ns / 1e6; if (ns < 1.2e9 || ns > 2.3e9) failed = 1 }
		/;take_from_queue \(waits.py:2\);Queue.get \(queue.py:[0-9]+\);.*;lock wait_\[w\]/ { q += $NF }
		/;read_pipe \(waits.py:5\);.*;pipe wait_\[w\]/ { p += $NF }
		/;<module> \(waits.py:1\);nap \(waits.py:8\);.*;sleep_\[w\]/ { n += $NF }
		END { about("queue", q); about("pipe", p); about("sleep", n); exit failed }'
}

# The one long wait is the one that has not ended: its thread is asked where it waits.
# bats test_tags=full
@test "waits of Python threads that outlast the recording are under their Python functions" {
	cat >blocked.py <<-PYTHON
		import os, queue, threading, time
		def take_from_queue(q):
		    q.get()
		def read_pipe(fd):
		    os.read(fd, 1)
		def deep(n):
		    return deep(n - 1) if n else time.sleep(1000)
		def works():
		    while True: time.sleep(0.002)
		r, w = os.pipe()
		for f, arguments in (take_from_queue, (queue.Queue(),)), (read_pipe, (r,)), (deep, (50,)), (works, ()):
		    threading.Thread(target=f, args=arguments, daemon=True).start()
		time.sleep(0.5)
		print("ready", flush=True)
		threading.Event().wait()
	PYTHON
	python3 blocked.py >started 3>&- &
	target=$!
	while [ ! -s started ]; do sleep 0.1; done
	"$SPROF" record -q --source ebpf -o data --clock wall -d 1s -p $target
	"$SPROF" info --json data >info.json
	times_add_up
	"$SPROF" fold --time --column waiting data | awk '
		function about(what, ns) { printf "%s %.1f ms\n", what, ns / 1e6; if (ns < 0.95e9 || ns > 2e9) failed = 1 }
		/;take_from_queue \(blocked.py:2\);Queue.get \(queue.py:[0-9]+\);.*;lock wait_\[w\]/ { q += $NF }
		/;read_pipe \(blocked.py:4\);.*;pipe wait_\[w\]/ { p += $NF }
		/;sleep_\[w\]/ { line = $0; if (gsub(/;deep \(blocked.py:6\)/, "", line) == 51) d += $NF }
		/;<module> \(blocked.py:1\);Event.wait \(threading.py:[0-9]+\);.*;lock wait_\[w\]/ { m += $NF }
		END { about("queue", q); about("pipe", p); about("sleep", d); about("main", m); exit failed }'
	# They were not woken for it.
	jq -e '[.thread_times[] | select(.switches == 0)] | length >= 4' info.json
}

# bats test_tags=full
@test "a Python thread whose memory cannot be read holds up the end of no recording" {
	local from took
	python3 "$BATS_TEST_DIRNAME/../../targets/python_stuck.py" 60 waits >started 2>&1 3>&- &
	target=$!
	while [ ! -s started ]; do sleep 0.1; done
	grep -q ready started || skip "$(cat started)"
	from=$EPOCHREALTIME
	# ^C ends it.
	timeout --foreground --preserve-status -k 60 -s INT 2 "$SPROF" record -q --source ebpf -o data --clock wall -p $target
	took=$(((${EPOCHREALTIME/./} - ${from/./}) / 1000))
	echo "$took ms"
	[ "$took" -lt 20000 ]
	kill -0 $target
	# Its native frames are there, and the rest is said to be missing.
	"$SPROF" fold --time --column waiting data | tee folded
	grep -E ';\[Python frames not readable\];.*;sleep_\[w\] [0-9]+$' folded
}

# A driver that blocks, as with cudaDeviceScheduleBlockingSync: that of the fake GPU sleeps a millisecond at a time, after
# each of which a busy machine lets it wait for a CPU.
# bats test_tags=full
@test "a wait for the GPU is called so, in a recording" {
	[ -e "$BUILD/tests/gpu/libcuda.so.1" ] || skip "the fake GPU is not built"
	local source
	for source in ebpf timer; do
		LD_LIBRARY_PATH=$BUILD/tests/gpu "$SPROF" record -q --gpu off --source $source --clock wall -o data -- "$TARGETS/gpu_work" long:800
		"$SPROF" fold --time --column waiting data | awk '
			/;main;cuCtxSynchronize;.*;GPU wait_\[w\] / { n += $NF } /;cuCtxSynchronize;.*;sleep_\[w\] / { wrong += $NF }
			END { printf "%.1f ms, called otherwise %.1f ms\n", n / 1e6, wrong / 1e6; exit n < 0.2e9 || n > 0.9e9 || wrong }'
		"$SPROF" report --by reason --column waiting --json data | jq -e '.rows[] | select(.function == "GPU wait") | .self_ns > 2e8'
	done
	"$SPROF" flame --no-js --column waiting -o flame.svg data
	grep -q '<g class="w2"><title>GPU wait' flame.svg
}

# The frames of kernel stacks are remembered by what the threads left there.
# bats test_tags=full
@test "waits in one system call have the kernel frames of what they wait for" {
	"$SPROF" record -q --source ebpf -o data --clock off -- "$TARGETS/one_call" 2000
	"$SPROF" fold --column waiting data | awk '
		BEGIN { frame["from_pipe"] = "pipe_read_\\[k\\]"; frame["from_local"] = "unix_stream_read_[a-z]*_\\[k\\]"
			frame["from_tcp"] = "tcp_recvmsg_\\[k\\]" }
		/^one_call_reads;/ {
			for (f in frame)
				if ($0 ~ ";" f ";") {
					nr[f]++
					if ($0 !~ frame[f]) { print "not of " f ": " $0; failed = 1 }
					for (g in frame)
						if (g != f && $0 ~ frame[g]) { print "of " g " in " f ": " $0; failed = 1 }
				}
		}
		END { for (f in frame) { print f ": " nr[f] + 0 " stacks"; failed = failed || !nr[f] } exit failed }'
}

# A tick that interrupts the walk of a wait must not mix the two stacks.
# bats test_tags=full
@test "ticks at a high rate do not disturb the stacks of waits" {
	"$SPROF" record --source ebpf -o data --clock wall -F 9999 -- "$TARGETS/waiting" 4000 >truth
	fold_waits data
	times_add_up
	samples_agree waiting 0.5
	reasons_are_right
	[ "$(jq '[.incomplete_by_reason[].samples] | add // 0' info.json)" -lt 20 ]
}

# Two threads, whose functions never stand on one stack. Two million switches, and ten million in make stress.
# bats test_tags=full,stress
@test "ticks never mix the stacks of two threads, in millions of switches" {
	local switches=0 rounds=0 wanted=2000000
	[ -z "${STRESS-}" ] || wanted=10000000
	while [ "$switches" -lt $wanted ] && [ $rounds -lt 12 ]; do
		"$SPROF" record -q --source ebpf -o data --clock wall -F 9999 -- "$TARGETS/pingpong" 12000 0
		switches=$((switches + $("$SPROF" info --json data | jq '.times.switches')))
		"$SPROF" fold data | awk '
			/;echo;/ { echo += $NF } /;play;/ { play += $NF }
			/;echo;.*;play[; ]|;play;.*;echo[; ]/ { print "mixed: " $0; mixed++ }
			END { printf "%d samples of echo, %d of play\n", echo, play; exit mixed || echo < 1000 || play < 1000 }'
		rounds=$((rounds + 1))
	done
	echo "$switches switches"
	[ "$switches" -ge $wanted ]
}

# The period grows until there are no more samples than the budget allows: their weights follow it.
# bats test_tags=full
@test "two thousand threads have their true times and shares" {
	"$SPROF" record -q --source ebpf -o data --clock wall -- "$TARGETS/many_waits" 6000 2000 >truth
	"$SPROF" info --json data >info.json
	times_add_up
	jq -e '.times.threads >= 2001 and .lost < 100' info.json
	"$SPROF" fold --time --column waiting data | awk '
		NR == FNR { exact[$1] = $2; all += $2; next }
		/;run;naps;/ { is["naps"] += $NF; total += $NF } /;run;sleeps;/ { is["sleeps"] += $NF; total += $NF }
		END {
			for (n in exact) {
				off = 100 * (is[n] / total - exact[n] / all)
				printf "%s: %.1f s of %.1f s, %+.2f points\n", n, is[n] / 1e9, exact[n] / 1e9, off
				failed = failed || off > 0.5 || off < -0.5
			}
			exit failed || total < 0.98 * all || total > 1.02 * all
		}' truth -
}

# bats test_tags=full
@test "the period of the samples of waits can be chosen" {
	"$SPROF" record -q --source ebpf --clock off --wait-period 100ms -o data -- "$TARGETS/waiting" 2000 >truth
	"$SPROF" info --json data >info.json
	times_add_up
	# Naps of 0.3 ms are sampled once in 100 ms, and weigh that: too few for the budget of samples to be met.
	# A part of that is in each of two columns.
	for column in waiting runnable; do
		"$SPROF" report --by thread --column $column --json data | jq '.rows[] | select(.function | startswith("naps"))'
	done | jq -s -e '((map(.self_ns) | add) / (map(.self) | max)) as $weight | $weight > 75e6 and $weight < 125e6'
	run "$SPROF" record --wait-period 20ms -o data -- true
	[ "$status" -eq 2 ]
	[[ $output == *"--wait-period needs --clock wall or off"* ]]
	run "$SPROF" record --clock wall --wait-period 10us -o data -- true
	[[ $output == *"'10us' is not a time from 100us to 1s"* ]]
	run "$SPROF" record --source timer --clock wall --wait-period 10ms -o data -- true
	[[ $output == *"only ebpf has a period for them"* ]]
}

@test "what cannot follow waits says so" {
	run "$SPROF" record --source perf --clock wall -- true
	[ "$status" -eq 2 ]
	[[ $output == *"source perf samples CPU time only, ebpf and timer also waits"* ]]
	run "$SPROF" record --source timer --clock off -- true
	[ "$status" -eq 2 ]
	[[ $output == *"source timer cannot sample waits alone, only ebpf can"* ]]
	run "$SPROF" record --source ebpf --clock off -o data -d 1s -u root
	[ "$status" -eq 1 ]
	[[ $output == *"ebpf follows waits of processes and of the whole system, not of cgroups or users"* ]]
	[ ! -e data ]
}
