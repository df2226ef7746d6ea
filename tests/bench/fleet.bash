# Measures what profilers cost that are left on, of all processes of the machine: sprof's flight recorder, the OpenTelemetry
# eBPF profiler (tests/bench/build_rivals) and perf record -a, beside the same load. CPU time is that of all processes of a
# contender, by the kernel's account of its cgroup, and run time of BPF programs, by the kernel's count; both hold on a busy
# machine, too, though caches are colder there. What the kernel does in a perf event's interrupt counts for none of them.
bench_fleet() {
	local seconds=${FLEET_SECONDS:-${QUICK:+10}} processes=${FLEET_PROCESSES:-500} hz=99 groups otel=$BUILD/rivals/otel-ebpf-profiler stats
	local contenders="fleet.sprof fleet.perf" contender
	seconds=${seconds:-60}
	groups=$(awk '/ - cgroup2 / { print $5; exit }' /proc/self/mountinfo)
	title "All processes at $hz Hz for $seconds s, $processes processes that use 0.2 % of a CPU each"
	if ! mkdir "$groups/sprof-bench.$$" 2>/dev/null; then
		echo "  left out: no cgroup of version 2 can be made here"
		return
	fi
	if [ -x "$otel" ]; then
		contenders+=" fleet.otel"
	else
		echo "  the OpenTelemetry eBPF profiler is left out: tests/bench/build_rivals '$BUILD/rivals' builds it"
	fi
	build_tool crowd
	stats=$(sysctl -n kernel.bpf_stats_enabled)
	sysctl -qw kernel.bpf_stats_enabled=1
	for _ in $(seq "$ROUNDS"); do
		"$tools/crowd" "$processes" &
		background=$!
		sleep 3
		for contender in $contenders; do
			fleet_measure "$contender"
		done
		end $background
		background=
	done 2>"$work/fleet.said"
	sysctl -qw kernel.bpf_stats_enabled="$stats"
	rmdir "$groups/sprof-bench.$$"
	for contender in $contenders; do
		if [ -e "$work/$contender.ended" ]; then
			echo "  ${contender#*.} ended by itself: $(cat "$work/$contender.ended")"
			continue
		fi
		row "${contender#*.}, CPU of its processes, from the start" "$(median "$contender.cpu")" s
		row "${contender#*.}, in the last two thirds, of one CPU" "$(median "$contender.steady")" %
		row "${contender#*.}, run time of BPF programs, of one CPU" "$(median "$contender.bpf")" %
		row "${contender#*.}, memory of its processes (PSS), the most" "$(median "$contender.memory")" MB
		row "${contender#*.}, bytes written or sent" "$(calc "$(median "$contender.bytes") / 1000")" KB
	done
}

# Of the programs that processes of the contender hold; others on this machine may use BPF, too.
fleet_bpf_ns() {
	local pid
	for pid in $(cat "$groups/sprof-bench.$$/cgroup.procs"); do
		cat "/proc/$pid/fdinfo"/* 2>/dev/null || true
	done | awk '$1 == "prog_id:" { id = $2 } $1 == "run_time_ns:" { ns[id] = $2 } END { for (i in ns) sum += ns[i]; print sum + 0 }'
}

fleet_cpu_us() {
	awk '$1 == "usage_usec" { print $2 }' "$groups/sprof-bench.$$/cpu.stat"
}

fleet_memory_kb() {
	local pid
	for pid in $(cat "$groups/sprof-bench.$$/cgroup.procs"); do
		cat "/proc/$pid/smaps_rollup" 2>/dev/null || true
	done | awk '$1 == "Pss:" { sum += $2 } END { print sum + 0 }'
}

fleet_command() { # contender
	case $1 in
	fleet.sprof) exec "$SPROF" record -q -a --all-users --continuous "$work/fleet.sprof.data" -F $hz ;;
	fleet.perf) exec perf record -q -a -g -F $hz -o "$work/fleet.perf.data" ;;
	fleet.otel) exec unshare -m sh -c 'mount -t tracefs tracefs /sys/kernel/tracing; exec "$@"' sh "$otel" \
		-samples-per-second $hz -collection-agent "127.0.0.1:$port" -disable-tls ;;
	esac
}

# What a contender has written or sent so far, of which the receiver keeps a file for each request.
fleet_bytes() { # contender
	case $1 in
	fleet.otel) cat "$work"/fleet.taken/*.body | wc -c ;;
	*) du -sb --apparent-size "$work/$1.data" | cut -f1 ;;
	esac
}

fleet_measure() { # contender
	local group=$groups/sprof-bench.$$ port='' pid receiver='' cpu third bpf memory most=0 i
	rm -rf "$work/fleet.taken" "$work/$1.data"
	if [ "$1" = fleet.otel ]; then
		mkdir "$work/fleet.taken"
		echo ok >"$work/fleet.taken/mode"
		python3 tests/receivers/fake_grpc.py "$work/fleet.taken" &
		receiver=$!
		background+=" $receiver"
		until [ -s "$work/fleet.taken/port" ]; do sleep 0.05; done
		port=$(cat "$work/fleet.taken/port")
	fi
	cpu=$(fleet_cpu_us)
	(
		echo $BASHPID >"$group/cgroup.procs"
		fleet_command "$1"
	) >"$work/$1.said" 2>&1 &
	pid=$!
	background+=" $pid"
	for i in $(seq $((seconds / 2))); do
		sleep 2
		memory=$(fleet_memory_kb)
		[ "$memory" -le $most ] || most=$memory
		[ "$i" != $((seconds / 6)) ] || third=$(fleet_cpu_us) bpf=$(fleet_bpf_ns)
	done
	note "$1.steady" "$(calc "($(fleet_cpu_us) - $third) / 1e4 / ($seconds * 2 / 3)")"
	note "$1.bpf" "$(calc "($(fleet_bpf_ns) - $bpf) / 1e7 / ($seconds * 2 / 3)")"
	note "$1.memory" "$(calc "$most / 1000")"
	kill -INT $pid 2>/dev/null || tail -n 1 "$work/$1.said" >"$work/$1.ended"
	wait $pid || true
	note "$1.cpu" "$(calc "($(fleet_cpu_us) - $cpu) / 1e6")"
	note "$1.bytes" "$(fleet_bytes "$1")"
	[ -z "$receiver" ] || end $receiver
	while grep -q . "$group/cgroup.procs"; do sleep 0.1; done
}
