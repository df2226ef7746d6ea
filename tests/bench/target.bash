# Measures what sampling costs the target: time per interrupt, time per context switch, time in the
# BPF program.

# How long each interrupt takes a program off its CPU, at 4999 Hz below 32 frames without frame
# pointers. The floor is an event on each CPU with a BPF program that does nothing; "added" is the
# time beyond it.
bench_gap() {
	local ms=500
	measure() { # contender, command...
		note "$1" "$("${@:2}" | sed -n 's/^interrupts.* p50 \([0-9.]*\).*/\1/p')"
	}
	for _ in $(seq $((2 * ROUNDS))); do
		"$tools/interrupts" 4999 >"$work/ready" &
		background=$!
		until [ -s "$work/ready" ]; do sleep 0.02; done
		measure floor "$targets/gapmeter" $ms 1
		end $background
		background=
		measure sprof "$SPROF" record -q -F 4999 -o "$work/data" -- "$targets/gapmeter" $ms 1
		measure perf_fp perf record -q -F 4999 -g -o "$work/perf" "$targets/gapmeter_fp" $ms 1
		measure perf_one perf record -q -F 4999 -g -o "$work/perf" "$targets/gapmeter" $ms 1
		measure perf_dwarf perf record -q -F 4999 --call-graph dwarf -o "$work/perf" "$targets/gapmeter" $ms 1
	done 2>/dev/null
	title "Time stolen per interrupt (p50), at 4999 Hz under 32 frames"
	row "bare interrupt" "$(median floor)" us
	row "added by sprof, 32 frames" "$(paired sprof - floor)" us 2.0
	row "added by perf -g, 32 frames (built with them)" "$(paired perf_fp - floor)" us
	row "added by perf -g, 1-2 frames (built without)" "$(paired perf_one - floor)" us
	row "added by perf --call-graph dwarf" "$(paired perf_dwarf - floor)" us
}

# Two threads on one CPU that do nothing but wake each other.
bench_switches() {
	local ms=500
	measure() { # contender, profiler that takes a PID at its end
		"$targets/pingpong" $ms 1 700 >"$work/out" &
		background=$!
		sleep 0.1
		[ $# = 1 ] || "${@:2}" $background
		wait $background || true
		background=
		note "$1" "$(awk '{ print $2 }' "$work/out")"
	}
	for _ in $(seq $((2 * ROUNDS))); do
		measure switches_alone
		measure switches_sprof "$SPROF" record -q -F 999 -o "$work/data" -p
		measure switches_perf_all sh -c 'perf record -q -a -F 999 -g -o "$0" -- tail --pid "$1" -f /dev/null' "$work/perf"
		measure switches_perf perf record -q -F 999 -g -o "$work/perf" -p
	done 2>/dev/null
	title "Context switches: a round trip of two threads through pipes, 999 Hz"
	row "alone" "$(median switches_alone)" us
	row "sprof record -p" "$(paired switches_sprof / switches_alone)" x 1.03
	row "perf record -g -p" "$(paired switches_perf / switches_alone)" x
	row "perf record -g -a" "$(paired switches_perf_all / switches_alone)" x
}

# Run time of sprof's BPF program as the kernel counts it, per sample and per frame. The program
# also runs, briefly, on ticks of other processes, so the number of samples is not its number of
# runs but the target's CPU time times the frequency.
bench_program() {
	local seconds=${QUICK:+1} before
	seconds=${seconds:-2}
	run_time_ns() {
		PATH=$PATH:/usr/sbin bpftool -j prog show |
			jq '[.[] | select(.type == "perf_event") | .run_time_ns // 0] | add // 0'
	}
	per_sample() { # contender, target, its second argument
		"$targets/$2" 600000 ${3:+"$3"} >/dev/null &
		local target=$! time cpu
		"$SPROF" record -q -F 4999 -o "$work/data" -p $target &
		background="$target $!"
		sleep 1
		time=$(run_time_ns) cpu=$(cpu_ns $target)
		sleep "$seconds"
		time=$(calc "$(run_time_ns) - $time") cpu=$(calc "$(cpu_ns $target) - $cpu")
		end $background
		background=
		note "$1" "$(calc "$time / ($cpu / 1e9 * 4999)")"
	}
	before=$(sysctl -n kernel.bpf_stats_enabled)
	sysctl -qw kernel.bpf_stats_enabled=1
	for _ in $(seq "$ROUNDS"); do
		per_sample deep deep32_nofp
		per_sample deeper recursion 480
	done
	sysctl -qw kernel.bpf_stats_enabled="$before"
	title "Run time of the BPF program (kernel.bpf_stats_enabled)"
	row "per sample of 35 frames" "$(calc "$(median deep) / 1000")" us
	row "per frame, from 35 to 485 frames" "$(calc "$(paired deeper - deep) / 450")" ns 55
}
