# The longest run of the BPF program that programs can bring about which are made for it. The sum
# of all time between two looks at the kernel's counter is taken for one run, so other load on the
# machine makes a run look longer, never shorter.
bench_hostile() {
	local ms=${QUICK:+2000} hostile
	ms=${ms:-5000}
	title "The worst sample that a hostile process can make"
	for hostile in "stack_maze far" "stack_maze faults" "stack_maze signals" "stack_maze copies" \
		"python_stall cycle" "python_stall endless" "python_stall tables"; do
		worst_of $hostile
		row "$hostile" "$(median "worst $hostile")" us 200
	done
	bench_guesses
}

# What the recorder's first thread does for a sample of a stack on which every word may be the
# caller. At 99 Hz most of these stacks are within the process's budget; at 4999 Hz few are.
bench_guesses() {
	local hz
	for hz in 99 4999; do
		for _ in $(seq "$ROUNDS"); do
			"$targets/stack_maze" 600000 callers &
			local target=$! before
			"$SPROF" record -q --source perf -F $hz -o "$work/data" -p $target &
			background="$target $!"
			sleep 1
			before=$(cpu_ns $!)
			sleep "$(calc "$ms / 1000")"
			note "guesses $hz" "$(calc "($(cpu_ns $!) - $before) / 1e6 / $ms * 100")"
			end $background
			background=
		done
		row "stack_maze callers at $hz Hz, CPU of the recorder" "$(median "guesses $hz")" % "$([ $hz = 99 ] && echo 6 || echo 20)"
	done
}

worst_of() { # TARGET HOW: rounds of it; notes what all but one in a hundred of its samples take
	for _ in $(seq "$ROUNDS"); do
		"$targets/$1" 600000 "$2" >/dev/null &
		local target=$!
		"$SPROF" record -q -F 99 -o "$work/data" -p $target &
		background="$target $!"
		sleep 1
		note "worst $1 $2" "$("$BUILD/tests/drivers/worst_run" $! "$ms" | cut -d' ' -f2)"
		end $background
		background=
	done
}
