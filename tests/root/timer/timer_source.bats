# sprof record --source timer: the programs of truth.bats, sampled from inside, without any rights.
source=timer
load ../source

# If the kernel's tick is longer than the period, there are fewer samples than requested, and each
# one also has the weight of the missing ones: the sum of the weights is the CPU time.
weighs_as_much() { # percent that may be missing
	"$SPROF" fold --time "$data" | awk -v most="$1" '
		NR == FNR { true_ns += $NF; next }
		{ ns += $NF }
		END {
			off = 100 * (ns / true_ns - 1)
			printf "%.1f ms of %.1f ms CPU time, %+.2f %%\n", ns / 1e6, true_ns / 1e6, off
			exit off > most || off < -most
		}' "$truth" -
}

# Counts samples by weight: a CPU shared by many threads ticks more often in some of them than in
# others. The sum stays the number of samples, for the margins. CPU time in the kernel counts for
# the caller of the system call.
weighted() { # RECORDING
	"$SPROF" fold --time "$1" | sed 's/;\[no kernel stack\] / /' |
		awk -v nr="$("$SPROF" info --json "$1" | jq .samples)" '
			{ ns[NR] = $NF; all += $NF; $NF = ""; stack[NR] = $0 }
			END { for (i = 1; i <= NR; i++) printf "%s%.3f\n", stack[i], ns[i] / all * nr }'
}

fold_here() {
	weighted "$data" >"$folded"
	cd "$BATS_TEST_DIRNAME/../../.."
}

@test "timer: shares" {
	started shares 2500
	truth_holds
	weighs_as_much 1
	[ "$("$SPROF" info --json "$data" | jq -r .source)" = timer ]
}

# bats test_tags=full
@test "timer: a program that is started is sampled from its exec on, and sprof before that is not" {
	starts_without_sprof --source timer
}

# bats test_tags=full
@test "timer: 32 frames without frame pointers" {
	started deep32_nofp 2000
	truth_holds
}

# bats test_tags=full
@test "timer: 32 frames with frame pointers" {
	started deep32_fp 2000
	truth_holds
}

# bats test_tags=full
@test "timer: leaf functions without a frame" {
	started leaf 2000
	truth_holds
}

# A record in the ring must take the deepest stack that is kept.
# bats test_tags=full
@test "timer: recursion of 5000 frames keeps root and leaf and says what is missing" {
	started recursion 1500 5000
	awk '
		/;bottom [0-9.]+$/ { all += $NF }
		/;_start;.*;main;recurse;.*;\[incomplete: too deep\];recurse;.*;bottom [0-9.]+$/ { good += $NF }
		END { print good, all; exit !(all > 50 && good > 0.95 * all) }
	' "$folded"
	[ "$("$SPROF" info --json "$data" | jq '.lost < 5')" = true ]
}

# bats test_tags=full
@test "timer: eight threads" {
	started threads8 3000
	truth_holds
	weighs_as_much 2 # the truth leaves out creating and switching threads
}

# bats test_tags=full
@test "timer: children that fork or exec" {
	started forkstorm 60 20
	truth_holds -v other=30
}

# bats test_tags=full
@test "timer: a child that takes a name of its own after we have met it" {
	started renames_late 12 80
	"$SPROF" fold --time "$data" | awk '
		!/;late$|;late;|;late / { next }
		/^late;/ { new += $NF }
		{ all += $NF }
		END {
			printf "%.1f of %.1f ms under the new name\n", new / 1e6, all / 1e6
			exit all < 0.8 * 12 * 80e6 || new < 0.8 * all
		}'
}

# bats test_tags=full
@test "timer: a process that execs itself" {
	started exec_chain 2500
	truth_holds -v other=10
}

# bats test_tags=full
@test "timer: libraries that share an address over time" {
	started dlopen 3000
	truth_holds
}

# Almost all stacks lead from the code to main, by way of the right function, and none to the decoy.
jit_frames_hold() {
	local all main
	all=$(samples .) main=$(samples ';main;(narrow|wide);')
	all=${all%.*} main=${main%.*} # a sample may stand for parts of a period
	echo "$all samples, $main through main, $(samples 'no unwind rule') without rules"
	[ "$all" -ge 20 ]
	[ "$main" -gt $((all * 8 / 10)) ]
	[ "$(samples decoy)" = 0 ]
	[ "$(samples 'narrow;.*of_wide')" = 0 ]
	[ "$(samples 'wide;.*of_narrow')" = 0 ]
}

# bats test_tags=full
@test "timer: code made at run time without frame pointers" {
	started jit_frames 3000
	jit_frames_hold
}

# bats test_tags=full
@test "timer, attached: code made at run time without frame pointers" {
	attached jit_frames 4000
	jit_frames_hold
}

# bats test_tags=full
@test "timer: ten thousand threads that are shorter than a tick" {
	started churn 10000 300
	"$SPROF" fold --time "$data" | awk '
		NR == FNR { true_ns += $NF; next }
		/;start_thread;/ { ns += $NF }
		END {
			printf "%.1f ms of %.1f ms CPU time\n", ns / 1e6, true_ns / 1e6
			exit ns < 0.95 * true_ns || ns > 1.1 * true_ns
		}' "$truth" -
}

# bats test_tags=full
@test "timer: wall-clock time shows threads that wait" {
	"$SPROF" record -o "$data" --source timer --clock wall -F 199 -- "$TARGETS/waits" 2000 >"$truth"
	# By time: a thread that waits for a CPU gets one signal for several periods. Working code
	# may end its turn late.
	"$SPROF" fold --time --column wall "$data" | awk '
		{ n = $NF / 1e6 }
		/;main;wait_until;/ { waits += n }
		/;main;work_until/ { works += n }
		/;idle;wait_until;/ { idles += n }
		END {
			printf "%d ms wait, %d ms work, %d ms are idle\n", waits, works, idles
			both = waits + works
			exit waits < 500 || waits > 1250 || works < 700 || both < 1850 || both > 2300 || idles < 1650 || idles > 2200
		}'
}

@test "timer: info says which rate was reached" {
	started shares 1000
	"$SPROF" info "$data" | grep -E '^frequency +999 Hz requested, [0-9]+ Hz reached'
	[ "$("$SPROF" info --json "$data" | jq '.reached_hz > 50 and .reached_hz < 999')" = true ]
}

# A program's use of signals must neither disturb its samples nor be disturbed by them.
bears() { # MODE
	started own_signals 1500 "$1"
	truth_holds -v other=${2:-5}
}

# bats test_tags=full
@test "timer: a program that takes SIGPROF for itself" {
	bears prof
}

# bats test_tags=full
@test "timer: a program that gives every signal its default action" {
	bears reset
}

# bats test_tags=full
@test "timer: a thread that blocks every signal" {
	bears block
}

# bats test_tags=full
@test "timer: a program that has a handler for every real-time signal" {
	bears queue 15
}

# bats test_tags=full
@test "timer, attached: a thread that blocks every signal is said" {
	needs_attach
	"$TARGETS/own_signals" 3000 block >"$truth" 3>&- &
	local pid=$!
	pids+=($pid)
	sleep 0.3
	run "$SPROF" record -o "$data" --source timer -F 99 -d 2s -p $pid
	wait $pid
	[[ $output == *"warning: thread "*" of process $pid ('own_signals') blocks signal "*": it is not sampled"* ]]
	[[ $output == *"process $pid: no sample stands for "*" ms of CPU time: threads that block our signal"* ]]
}

# bats test_tags=full
@test "timer, attached: threads that are over before anybody sees them" {
	needs_attach
	printf '6.4\n%s\n' "$(uname -r)" | sort -VC || skip "needs Linux 6.4, this is $(uname -r)"
	"$TARGETS/churn" 3000 1000 >"$truth" 3>&- &
	local pid=$!
	pids+=($pid)
	sleep 0.1
	"$SPROF" record -o "$data" --source timer -F 499 -p $pid
	wait $pid
	"$SPROF" fold --time "$data" | awk '
		NR == FNR { true_ns += $NF; next }
		/;brief;work/ { ns += $NF }
		END {
			printf "%.1f ms of %.1f ms CPU time\n", ns / 1e6, true_ns / 1e6
			exit ns < 0.5 * true_ns || ns > 1.1 * true_ns
		}' "$truth" -
}

# bats test_tags=full
@test "timer: errno and registers are as they were" {
	bears errno
}

# bats test_tags=full
@test "nobody with timer: shares, at 100, 250 and 1000 Hz their sum is the CPU time" {
	as_nobody
	for hz in 100 250 1000; do
		cd "$place/out"
		started shares 2500
		truth_holds
		weighs_as_much 1
	done
}

# bats test_tags=full
@test "ebpf and timer see the same shares of one program" {
	needs_bpf
	"$SPROF" record -q -o "$data.timer" --source timer -F 999 -- "$TARGETS/shares" 4000 >"$truth" 3>&- &
	local launcher=$! pid= child
	for i in $(seq 200); do
		# pgrep(1) reads the command line of each process, which processes of other tests may hold up.
		for child in $(cat /proc/$launcher/task/$launcher/children); do
			[ "$(cat /proc/$child/comm)" != shares ] || pid=$child
		done
		[ -z "$pid" ] || break
		sleep 0.05
	done
	"$SPROF" record -q -o "$data" --source ebpf -F 499 -d 3s -p "$pid"
	wait $launcher
	"$SPROF" fold "$data" >"$folded"
	weighted "$data.timer" >"$folded.timer"
	same_shares "$folded" "$folded.timer" ';main;part_'
}

# On average such a thread meets its first tick after one tick of its CPU time: the time that it
# uses before that, and after its last sample, must count too. Without that, 0.47 of the CPU time
# was recorded; with it, 0.8 or more on a quiet machine. What is still missing is the time until all
# threads have their timers, and a sampling error of 7 %.
# bats test_tags=full
@test "timer, attached: 500 threads that work for brief moments" {
	needs_attach
	local before after
	used() { cat /proc/$1/task/*/schedstat | awk '{ ns += $1 } END { printf "%.0f\n", ns }'; }
	"$TARGETS/moments" 500 30000 3>&- &
	pids+=($!)
	sleep 1
	before=$(used ${pids[0]})
	"$SPROF" record -q -o "$data" --source timer -F 100 -d 4s -p ${pids[0]}
	after=$(used ${pids[0]})
	kill ${pids[0]}
	wait ${pids[0]} 2>/dev/null || true
	run "$SPROF" info --json "$data"
	echo "$output" | jq -e --argjson used $((after - before)) '.columns[0].sum / $used | debug | . > 0.56 and . < 1.25'
}

@test "timer: a recording goes to a regular file only" {
	mkfifo "$BATS_TEST_TMPDIR/fifo"
	ln -s nowhere "$BATS_TEST_TMPDIR/link"
	for name in "$BATS_TEST_TMPDIR/fifo" /dev/null; do
		run timeout 60 "$SPROF" record --source timer -o "$name" -- true
		[ "$status" -eq 125 ]
		[ "${lines[0]}" = "sprof: cannot write '$name': it is no regular file, as a recording has to be" ]
		[ "${lines[1]}" = "hint: choose another file with -o FILE" ]
	done
	run timeout 60 "$SPROF" record --source timer -o "$BATS_TEST_TMPDIR/link" -- true
	[ "$status" -eq 125 ]
	[[ ${lines[0]} == *": it is a symbolic link, and a recording follows none" ]]
}

@test "timer: a limit on the size of files is named as what stands in the way" {
	run bash -c 'ulimit -f 1000; exec "$0" record --source timer -o "$1" -- true' "$SPROF" "$BATS_TEST_TMPDIR/data"
	echo "$output"
	[ "$status" -eq 125 ]
	[[ $output == *"cannot make room for unwind rows: File too large"*"hint: "*"ulimit -f unlimited"* ]]
}

# The recorder looks every 10 s.
# bats test_tags=full
@test "timer: libraries that are unmapped are closed" {
	local recorder held most=0
	command -v python3 >/dev/null || skip "needs python3"
	for i in $(seq 40); do
		cp "$TARGETS/libplug_a.so" "$BATS_TEST_TMPDIR/plug$i.so"
	done
	cat >"$BATS_TEST_TMPDIR/load.py" <<-'END'
		import _ctypes, os, sys, time
		for i in range(1, 41):
		    handle = _ctypes.dlopen(f"{sys.argv[1]}/plug{i}.so", 2)
		    end = time.process_time() + 0.05
		    while time.process_time() < end:
		        pass
		    _ctypes.dlclose(handle)
		end = time.monotonic() + 100
		while time.monotonic() < end and not os.path.exists(f"{sys.argv[1]}/end"):
		    sum(range(1000))
	END
	"$SPROF" record -q -o "$BATS_TEST_TMPDIR/data" --source timer -F 199 -- \
		python3 "$BATS_TEST_TMPDIR/load.py" "$BATS_TEST_TMPDIR" >/dev/null 2>&1 3>&- &
	recorder=$!
	for _ in $(seq 600); do
		held=$(find "/proc/$recorder/fd" -lname '*/plug*.so' | wc -l)
		[ "$held" -le $most ] || most=$held
		[ $most -lt 10 ] || [ "$held" -gt 3 ] || break
		sleep 0.1
	done
	touch "$BATS_TEST_TMPDIR/end"
	wait $recorder
	echo "$most at most, $held at last"
	[ $most -ge 10 ] && [ "$held" -le 3 ]
}
