# Measures what sprof adds to brief steps of training with PyTorch. Attached and detached phases
# take turns in one process, because the layout of memory differs between processes. "again" is a
# second detached phase and shows the noise.
bench_torch() {
	local contender watcher steps=2000 cpu wall round before stats
	title "PyTorch, brief steps on one CPU thread"
	if ! python3 -c 'import torch' 2>/dev/null; then
		echo "  left out: python3 has no torch (pip install torch, and PATH=VENV/bin:\$PATH)"
		return
	fi
	echo "  torch $(python3 -c 'import torch; print(torch.__version__)')"
	stats=$(sysctl -n kernel.bpf_stats_enabled)
	sysctl -qw kernel.bpf_stats_enabled=1
	coproc torch { exec python3 tests/targets/torch_steps.py; }
	local program=$torch_PID from=${torch[0]} to=${torch[1]}
	background=$program
	read -r _ <&"$from"
	for round in $(seq $((16 * ROUNDS))); do
		# Every second round has the reverse order, so that drift favours neither.
		for contender in $([ $((round % 2)) = 1 ] && echo bare 99 tick99 again 997 tick997 || echo tick997 997 again tick99 99 bare); do
			watcher=
			case $contender in
			tick*)
				"$tools/interrupts" "${contender#tick}" >/dev/null &
				watcher=$!
				;;
			[0-9]*)
				"$SPROF" record -q -F "$contender" -o "$work/data" -p "$program" &
				watcher=$!
				settle "$watcher"
				;;
			esac
			if [ -n "$watcher" ]; then
				background="$program $watcher"
				# Names and stacks that are new are copied during the sample.
				echo "$steps" >&"$to"
				read -r _ <&"$from"
			fi
			[ -z "$watcher" ] || before=$(program_ns "$watcher")
			echo "$steps" >&"$to"
			read -r cpu wall <&"$from"
			[ -z "$watcher" ] || note "torch.$contender.program" "$(calc "100 * ($(program_ns "$watcher") - $before) / $cpu")"
			note "torch.$contender.cpu" "$cpu"
			note "torch.$contender.wall" "$wall"
			[ -z "$watcher" ] || end "$watcher"
			background=$program
		done
	done
	end "$program"
	background=
	sysctl -qw kernel.bpf_stats_enabled="$stats"
	row "a step" "$(calc "$(median torch.bare.cpu) / $steps / 1000")" "us CPU"
	row "99: in the BPF program" "$(median torch.99.program)" "% of CPU" 0.3
	row "997: in the BPF program" "$(median torch.997.program)" "% of CPU" 3
	for contender in again tick99 99 tick997 997; do
		row "$contender: CPU time, least of each" "$(calc "$(least "torch.$contender.cpu") / $(least torch.bare.cpu)")" x
		row "$contender: CPU time" "$(paired "torch.$contender.cpu" / torch.bare.cpu)" "x +- $(spread "torch.$contender.cpu" torch.bare.cpu)"
		row "$contender: wall time" "$(paired "torch.$contender.wall" / torch.bare.wall)" "x +- $(spread "torch.$contender.wall" torch.bare.wall)"
	done
}

# A busy machine only ever adds time, so the minimum of many rounds has the least of it.
least() { # contender
	sort -n "$work/$1" | head -1
}

program_ns() { # recorder: the run time of its BPF program so far
	awk '/^run_time_ns:/ && $2 > most { most = $2 } END { print most + 0 }' /proc/"$1"/fdinfo/*
}

# Waits until the recorder has attached and is nearly idle.
settle() { # recorder
	local before=0 now=0
	for _ in $(seq 20); do
		sleep 0.2
		before=$now now=$(awk '{ sum += $1 } END { printf "%.0f", sum }' /proc/"$1"/task/*/schedstat)
		[ "$before" = 0 ] || [ $((now - before)) -gt 5000000 ] || return 0
	done
}

# The 95% confidence margin of the median ratio of two contenders: 1.96 of its standard errors,
# which are estimated from the interquartile range of the rounds.
spread() { # a, b
	paste "$work/$1" "$work/$2" | awk '{ print $1 / $2 }' | sort -n |
		awk '{ v[NR] = $1 } END { printf "%.4f", 1.96 * 1.2533 * (v[int(0.75 * (NR - 1)) + 1] - v[int(0.25 * (NR - 1)) + 1]) / 1.349 / sqrt(NR) }'
}
