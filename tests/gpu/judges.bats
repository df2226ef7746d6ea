# Each judge of tests/gpu/check passes recordings over the fake GPU, in both of its models, and fails one that is wrong
# (tests/gpu/check/wrong_sprof.py).
# bats file_tags=full, long

load fake.bash

setup() {
	fake_setup
	unset LD_LIBRARY_PATH SPROF_CUPTI
	CHECK="$BATS_TEST_DIRNAME/check"
	cd "$BATS_TEST_TMPDIR"
}

all_pass() {
	run timeout 250 python3 "$CHECK/main.py" --fake --rounds 1 -o out
	echo "$output"
	[ "$status" -eq 0 ]
	grep -q '^25 ok, 0 failed, 3 skipped; out/results.md, out/gpu-check.tar.gz' <<<"$output"
}

# CHECK WRONG TEXT: the check fails with the text if sprof is wrong in that way.
fails() {
	run env SPROF="$CHECK/wrong_sprof.py" REAL_SPROF="$SPROF" WRONG="$2" BUILD="$BUILD" \
		timeout 100 python3 "$CHECK/main.py" --fake --rounds 1 -o out --only "$1"
	grep -Eq "^FAILED   $1: .*$3" <<<"$output" || { echo "$1, $2: $output"; return 1; }
	[ "$status" -eq 1 ]
}

# Reads lines like the arguments of fails().
all_fail() {
	local check wrong text
	while read -r check wrong text; do
		fails "$check" "$wrong" "$text" 3>&-
	done
}

# Most of a minute each. A check that fails only now and then has found something too.
@test "every check that the fake GPU allows passes in the ideal model" {
	all_pass
}

@test "every check that the fake GPU allows passes in the realistic model" {
	FAKE_REALISTIC=1 all_pass
}

@test "judges of counts fail a recording with one launch more or less" {
	all_fail <<-'END'
		launches lose_call 9999 of 10000 calls
		sums lose_call 199 of 200 calls
		sums gain_call 201 of 200 calls
		capture gain_call 1001 of 1000 calls
		capture outside_is_unknown 0 activities are known to be outside
		processes one_process calls of spin by process
		processes lose_call calls of spin by process
		threads lose_call 63999 of 64000 calls
		stalls lose_sample samples, the table has
		stalls foreign_samples samples are in other
		torch_gpt lose_call not the same kernels: 209 kernels of 3 names, the other profiler 210
		torch_graphs gain_call not the same kernels
		torch_streams lose_call not the same kernels
		torch_resnet lose_call not the same kernels
	END
}

@test "the judge of graphs fails a recording in which one of a million kernels is wrong" {
	all_fail <<-'END'
		graphs lose_call 1099999 of 1100000 calls
		graphs graphs_are_unknown 0 of 1100000 kernels are known to be of a graph
		graphs without_launch lost: 1 activities without a launch
		graphs other_function are not under do_graph
	END
}

@test "judges of stacks fail a recording with one stack that lacks the function" {
	all_fail <<-'END'
		launches other_function ns are not under do_empty
		sums other_function ns are not under do_spin
		sums incomplete have an incomplete stack
		capture other_function ns are not under do_range
		processes other_function ns are not under do_spin
		threads other_function ns are not under work
		second_attach other_function ns are not under work
		flame no_function the flame graph lacks the function
	END
}

@test "judges of times fail a recording that is a nanosecond, an order or years wrong" {
	all_fail <<-'END'
		sums slow_kernels the flame graph has
		sums one_ns_of_idle busy . idle is not the wall
		sums one_ns_less the flame graph has 199999999 ns, the table 200000000
		timeline orphan has no call
		timeline early GPU work began .* before its call
		timeline late the last work ended .* after the wait for it
		timeline overlapping kernels of one stream overlap by
		second_attach years_of_wall was observed for 1795365659
		second_attach never_busy was never busy
		second_attach years_later the GPU work spans 1795365
		second_attach orphan has no call
		attach one_ns_of_idle busy . idle is not the wall
	END
}

@test "the judge of idle time fails a recording that is a nanosecond wrong" {
	all_fail <<-'END'
		pauses one_ns_less_of_pause ns of idle time are under do_pause
		pauses pause_elsewhere ns of idle time are under do_pause
		pauses late the GPU was idle for
		pauses one_ns_of_idle busy . idle is not the wall
	END
}

@test "judges of memory fail a recording with half the bytes, and one in which nothing is freed" {
	all_fail <<-'END'
		memory half_the_peak the peak of device memory is
		memory half_the_bytes bytes of copies
		memory nothing_is_freed bytes are left of a peak
		pools half_the_peak the peak of device memory is
		pools nothing_is_freed bytes are left of a peak
	END
}

@test "judges fail a recording that has lost one activity, or all" {
	all_fail <<-'END'
		sums discarded lost: 1 activities discarded
		timeline without_times lost: 1 activities without a time
		memory without_record lost: 1 launches without a record
		threads discarded lost: 1 activities discarded
		torch_gpt discarded lost: 1 activities discarded
		attach nothing the flame graph has
		attach_graphs nothing the flame graph has
		load nothing the flame graph has
	END
}

@test "the judge of torch.profiler's kernels fails one of another clock, one too late and one too few" {
	all_fail <<-'END'
		kineto other_clock kernels of torch.profiler, .* ns, are in no step
		kineto late_step torch.profiler has 0 to 14 kernels of a step
		kineto late_kernel a kernel of torch.profiler ended .* ns after the wait for it
		kineto lost_kernel torch.profiler has 6 to 7 kernels of a step
		kineto_first other_clock kernels of torch.profiler, .* ns, are in no step
		kineto_first lost_kernel torch.profiler has 6 to 7 kernels of a step
	END
}

@test "each check has been seen failing, but those that only measure or need what is not here" {
	local check
	for check in $(python3 "$CHECK/main.py" --list); do
		case $check in
		# They pass if the program survives, and measure.
		host | residue | idle) continue ;;
		# They need nvcc, Nsight Compute and torch.cuda.nvtx, or minutes.
		nvcc | ncu | torch_nvtx | exhaustion) continue ;;
		esac
		grep -Eq "^		$check [a-z_]+ " "$BATS_TEST_FILENAME" || { echo "no wrong recording for $check"; return 1; }
	done
}
