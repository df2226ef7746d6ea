# Measures what collecting GPU work adds to a CUDA launch, beside libunwind's walk of the same
# stack, over the fake libcuda and libcupti of tests/gpu and so without the cost of CUPTI itself.
# Each launch is measured alone; the cost of a call without a subscriber, which is that of the fake
# and the clock, is subtracted.
bench_launches() {
	local depth name value rounds=${QUICK:+10}
	rounds=${rounds:-50}
	for _ in $(seq "$ROUNDS"); do
		for depth in 40 0; do
			SPROF_GPU_LIBRARY=$BUILD/libsprof-gpu.so LD_LIBRARY_PATH=$BUILD/tests/gpu \
				SPROF_CUPTI=$BUILD/tests/gpu/cuda12/libcupti.so.12 \
				"$SPROF" record -q -o "$work/data" --source timer -- "$targets/gpu_cost" "$rounds" $depth |
				while read -r name value _; do note "launch_${name}_$depth" "$value"; done
		done
	done
	title "A CUDA launch while GPU work is collected, 42 frames (median)"
	row "a call that nobody asked for, and the clock" "$(median launch_unheard_40)" ns
	row "added, a stack as before" "$(paired launch_repeated_40 - launch_unheard_40)" ns 150
	row "of it, for 40 of the frames" "$(paired launch_repeated_40 - launch_repeated_0)" ns 30
	row "added, another line of the same function" "$(paired launch_near_40 - launch_unheard_40)" ns 150
	row "added, not one frame as before" "$(paired launch_walked_40 - launch_unheard_40)" ns
	row "unw_backtrace() of the same stack" "$(median launch_unw_backtrace_40)" ns
}
