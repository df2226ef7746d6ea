# Measures the timer source: its handler, its cost for a program, whether its weights are true, and
# how long attaching stops a thread. The rival is gperftools, whose libprofiler.so does the same
# with SIGPROF, if it is installed (apt-get install libgoogle-perftools4 google-perftools).

# The time of a signal handler that takes the stack, less one that does nothing. sprof's also writes
# its sample.
bench_handler() {
	local name value
	"$CC" -O2 -fomit-frame-pointer -Wall -Wextra -D_GNU_SOURCE -I. -o "$tools/handler" tests/bench/handler.c -lunwind
	for _ in $(seq "$ROUNDS"); do
		"$SPROF" record -q -o "$work/data" --source timer -F 100 -- "$tools/handler" $((QUICK ? 20 : 200)) 2>/dev/null
	done >"$work/handler"
	while read -r name value; do note "handler_$name" "$value"; done <"$work/handler"
	title "In the signal handler, 33 frames and 3 of the signal and the system call (p50)"
	row "a signal and a handler that does nothing" "$(median handler_floor)" ns
	row "added by sprof, a stack as before" "$(paired handler_same - handler_floor)" ns 700
	row "added by sprof, nothing remembered, caches cold" "$(paired handler_changed - handler_floor)" ns
	row "added by unw_backtrace(), a stack as before" "$(paired handler_backtrace - handler_floor)" ns
	row "added by unw_step(), as gperftools does it" "$(paired handler_step - handler_floor)" ns
}

gperftools=$(ldconfig -p | awk '/libprofiler\.so/ { print $NF; exit }')
command -v google-pprof >/dev/null || gperftools=

# The same work alone, under sprof and under gperftools, in turn.
bench_slowdown() {
	local rounds=${QUICK:+20000} freq
	rounds=${rounds:-50000}
	build_tool cpu_work
	alone() { # contender
		note "$1" "$("$tools/cpu_work" $rounds | cut -d' ' -f1)"
	}
	sprof_at() { # contender, frequency
		local cpu
		cpu=$("$SPROF" record -q -o "$work/data" --source timer -F "$2" -- "$tools/cpu_work" $rounds | cut -d' ' -f1)
		note "$1" "$cpu"
		note "weight_$1" "$(calc "$(info '.columns[0].sum') / 1e9 / $cpu")"
		note "samples_$1" "$(calc "$(info .samples) / ($cpu * $2)")"
	}
	gperftools_at() { # contender, frequency
		local cpu total
		cpu=$(LD_PRELOAD=$gperftools CPUPROFILE=$work/gperf CPUPROFILE_FREQUENCY=$2 "$tools/cpu_work" $rounds 2>/dev/null |
			cut -d' ' -f1)
		total=$(google-pprof --text "$tools/cpu_work" "$work/gperf" 2>/dev/null | sed -n 's/^Total: \([0-9]*\) samples.*/\1/p')
		note "$1" "$cpu"
		note "weight_$1" "$(calc "${total:-0} / $2 / $cpu")"
	}
	for _ in $(seq "$ROUNDS"); do
		alone work_alone
		for freq in 100 250 1000; do
			sprof_at "work_sprof_$freq" $freq
			[ -z "$gperftools" ] || gperftools_at "work_gperftools_$freq" $freq
		done
		alone work_again
	done
	title "CPU time of the same work under the timer source, and what its samples stand for"
	row "alone" "$(median work_alone)" s
	row "alone, once more in each round (noise)" "$(paired work_again / work_alone)" x
	for freq in 100 250 1000; do
		row "CPU time under sprof, $freq Hz" "$(paired work_sprof_$freq / work_alone)" x
		[ -z "$gperftools" ] ||
			row "CPU time under gperftools, $freq Hz" "$(paired work_gperftools_$freq / work_alone)" x
	done
	for freq in 100 250 1000; do
		row "sprof, $freq Hz: sum of weights of CPU time" "$(median weight_work_sprof_$freq)" x 1.01
		row "sprof, $freq Hz: the lack of it" "$(calc "2 - $(median weight_work_sprof_$freq)")" x 1.01
		row "sprof, $freq Hz: samples of those asked for" "$(median samples_work_sprof_$freq)" x
		[ -z "$gperftools" ] ||
			row "gperftools, $freq Hz: samples x period of CPU time" "$(median weight_work_gperftools_$freq)" x
	done
	[ -n "$gperftools" ] || echo "  (no gperftools: apt-get install libgoogle-perftools4 google-perftools)"
}

# CPU time of whole programs varies by more than sampling costs. So this measures, at the rate of
# the kernel's own ticks, how much longer a tick takes a thread off its CPU when it is also a
# sample, of 32 frames. A signal costs more than the sample.
bench_timer_gap() {
	local ms=2000 hz=${SPROF_TICK_HZ:-250}
	"$CC" -O2 -Wall -Wextra -D_GNU_SOURCE -shared -fPIC -o "$tools/empty_timer.so" tests/bench/empty_timer.c
	measure() { # contender, command...
		note "$1" "$("${@:2}" 2>/dev/null | sed -n 's/^interrupts.* p50 \([0-9.]*\).*/\1/p')"
	}
	for _ in $(seq "$ROUNDS"); do
		measure tick "$targets/gapmeter" $ms 1
		measure tick_signal env LD_PRELOAD="$tools/empty_timer.so" EMPTY_TIMER_HZ="$hz" "$targets/gapmeter" $ms 1
		measure tick_sprof "$SPROF" record -q -F "$hz" --source timer -o "$work/data" -- "$targets/gapmeter" $ms 1
		note tick_samples "$(calc "$(info .samples) / ($ms / 1000 * $hz)")"
		[ -z "$gperftools" ] || measure tick_gperftools env LD_PRELOAD="$gperftools" CPUPROFILE="$work/gperf" \
			CPUPROFILE_FREQUENCY="$hz" "$targets/gapmeter" $ms 1
	done
	title "Time stolen per tick (p50) with the timer source, at $hz Hz under 32 frames"
	row "a tick" "$(median tick)" us
	row "added by a signal whose handler does nothing" "$(paired tick_signal - tick)" us
	row "added by sprof" "$(paired tick_sprof - tick)" us
	[ -z "$gperftools" ] || row "added by gperftools" "$(paired tick_gperftools - tick)" us
	row "samples of those asked for" "$(median tick_samples)" x
	row "of the program's time, by the signals" "$(calc "$(paired tick_signal - tick) * $hz / 10000")" %
	row "of the program's time, by sprof's samples" "$(calc "$(paired tick_sprof - tick_signal) * $hz / 10000")" %
	row "of the program's time, both" "$(calc "$(paired tick_sprof - tick) * $hz / 10000")" % 0.15
}

# Two threads that wake each other: what the timers add to a context switch.
bench_timer_switches() {
	local ms=500
	for _ in $(seq $((2 * ROUNDS))); do
		note pong_alone "$("$targets/pingpong" $ms 1 700 2>/dev/null | awk '{ print $2 }')"
		note pong_sprof "$("$SPROF" record -q -o "$work/data" --source timer -F 250 -- "$targets/pingpong" $ms 1 700 2>/dev/null |
			awk '{ print $2 }')"
		[ -z "$gperftools" ] || note pong_gperftools "$(LD_PRELOAD=$gperftools CPUPROFILE=$work/gperf CPUPROFILE_FREQUENCY=250 \
			"$targets/pingpong" $ms 1 700 2>/dev/null | awk '{ print $2 }')"
	done
	title "Context switches: a round trip of two threads through pipes, timers at 250 Hz"
	row "alone" "$(median pong_alone)" us
	row "sprof, timer source" "$(paired pong_sprof / pong_alone)" x 1.03
	[ -z "$gperftools" ] || row "gperftools" "$(paired pong_gperftools / pong_alone)" x
}

# How long a thread stands still, from the request to stop it until its release.
bench_stops() {
	local cycles=${QUICK:+50} target
	cycles=${cycles:-300}
	stops() { # what it is, COMMAND...
		"${@:2}" >/dev/null 2>&1 &
		background=$!
		sleep 0.3
		"$BUILD/tests/drivers/attach" $background "$cycles" 20 1000 >"$work/stops"
		end $background
		background=
		sed -n 's/^\(.*\) us p50 \([0-9]*\) .*p99 \([0-9]*\) max \([0-9]*\) .*/\1|\2|\3|\4/p' "$work/stops" |
			while IFS='|' read -r what p50 p99 max; do
				row "$1: $what, p50" "$p50" us
				row "$1: $what, p99" "$p99" us
				row "$1: $what, max" "$max" us
			done
	}
	title "Stops of one thread, $cycles times"
	stops "sleep" sleep 600
	stops "computes" "$targets/shares" 600000
}
