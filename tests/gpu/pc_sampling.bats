# sprof record --pc-sampling: samples inside kernels, over the fake GPU, whose samples are known: tests/gpu/fake_pc.c. No
# privileges are needed.

load fake.bash

setup() {
	fake_setup
	cd "$BATS_TEST_TMPDIR"
	ROOT=$BATS_TEST_DIRNAME/../..
	SAMPLES=$((0x13df | 1 << 14)) # GPU_WANT_DEFAULT and GPU_WANT_PC_SAMPLES
	STACKS=$((SAMPLES | 1 << 15))
}

# Runs recorder.py from its folder: it is also an archive's.
record() {
	cd "$ROOT"
	run --separate-stderr timeout "${LIMIT:-60}" python3 tests/gpu/recorder.py "$@"
	[ "$status" -eq 0 ] || { echo "$output"; echo "$stderr"; return 1; }
	cd "$BATS_TEST_TMPDIR"
}

# The lines of samples, of which there must be these and no others; -: without a stack.
samples_are() { # LINE...
	diff <((($# == 0)) || printf '%s\n' "$@" | sort) <(sed -n 's/^pc //p' <<<"$output" | sort)
}

stalls() { # JQ
	"$SPROF" report --stalls --json g.data | jq -e "$1"
}

# How often a function of the fake CUPTI was called.
calls_in_log() { # FUNCTION
	grep -c " $1\$" "$FAKE_LOG" || true
}

# All samples in the records that the agent's test recorder prints.
nr_samples() {
	sed -n 's/^pc .* samples=\([0-9]*\) .*/\1/p' <<<"$output" | awk '{ sum += $1 } END { print sum + 0 }'
}

@test "samples are summed by instruction and reason, with source lines, exactly, in CUDA 11, 12 and 13" {
	local version
	for version in 11 12 13; do
		SPROF_CUPTI=$BUILD/tests/gpu/cuda$version/libcupti.so.$version record --want=$SAMPLES -- "$WORK" code:lines context:100 context:5
		samples_are "gemm_kernel pc=0 selected samples=1050 idle=0 known /src/train/model.cu:40 -" \
			"gemm_kernel pc=16 long_scoreboard samples=5250 idle=3150 known /src/train/model.cu:40 -" \
			"gemm_kernel pc=32 wait samples=2100 idle=1050 known /src/train/model.cu:41 -"
		[ "$(counter pc_samples)" -eq 8400 ] && [ "$(counter pc_contexts)" -eq 2 ]
	done
}

@test "one kernel at a time, samples are under the stack of their launch" {
	record --want=$STACKS -- "$WORK" code:lines context:10
	[ "$(grep -c '^pc gemm_kernel .*main;in_context;launch_some;train;forward;launch_gemm$' <<<"$output")" -eq 3 ]
	[ "$(nr_samples)" -eq 800 ]
}

@test "a context that was there before is sampled from its next launches on" {
	record --want=$SAMPLES -- "$WORK" code:lines launch:1 idle:1000 launch:10
	samples_are "gemm_kernel pc=0 selected samples=100 idle=0 known /src/train/model.cu:40 -" \
		"gemm_kernel pc=16 long_scoreboard samples=500 idle=300 known /src/train/model.cu:40 -" \
		"gemm_kernel pc=32 wait samples=200 idle=100 known /src/train/model.cu:41 -"
}

@test "a buffer that takes one instruction at a time loses none" {
	FAKE_PC_BATCH=1 record --want=$SAMPLES -- "$WORK" code:lines context:100
	[ "$(nr_samples)" -eq 8000 ]
}

@test "code without lines, and code that was not seen, have instructions, and that is said once" {
	record --want=$SAMPLES -- "$WORK" code:plain context:10
	grep -q '^pc gemm_kernel pc=16 long_scoreboard samples=500 idle=300 none :0' <<<"$output"
	[ "$(grep -c 'no source lines of some GPU code.*-lineinfo' <<<"$stderr")" -eq 1 ]
	record --want=$SAMPLES -- "$WORK" context:10
	grep -q '^pc gemm_kernel pc=16 long_scoreboard samples=500 idle=300 no_code :0' <<<"$output"
	[ "$(grep -c 'no source lines of some GPU code.*loaded before' <<<"$stderr")" -eq 1 ]
}

# bats test_tags=full
@test "a refusal is said with its cause, and nothing else suffers" {
	local error words
	while read -r error words; do
		FAKE_PC_ERROR=$error record --want=$SAMPLES -- "$WORK" code:lines context:10
		grep -q "^failure 23 $error .*no samples inside GPU kernels: .*$words" <<<"$output" || { echo "$output"; return 1; }
		samples_are
		[ "$(counter kernels)" -eq 10 ]
	done <<-'END'
		27 compute capability 7.0
		35 only administrators
		26 another profiler
		36 another profiler in this process
		43 MIG
		999 CUPTI says
	END
}

# bats test_tags=full
@test "what was enabled is disabled: where settings are refused, and at a detach" {
	export FAKE_LOG=$BATS_TEST_TMPDIR/log
	FAKE_PC_SETTING_ERROR=7 record --want=$SAMPLES -- "$WORK" code:lines context:10
	grep -q '^failure 23 7 .*settings' <<<"$output"
	samples_are
	[ "$(calls_in_log cuptiPCSamplingEnable)" -eq 1 ] && [ "$(calls_in_log cuptiPCSamplingDisable)" -eq 1 ]
	rm "$FAKE_LOG"
	record --want=$SAMPLES --stop-after=700 -- "$WORK" code:lines context:10 spin:1500
	grep -q '^after_stop 0$' <<<"$output"
	[ "$(calls_in_log cuptiPCSamplingEnable)" -eq 2 ] && [ "$(calls_in_log cuptiPCSamplingDisable)" -eq 2 ]
}

@test "beside another profiler that has the GPU's counters, that is said, all else is recorded, and later samples come" {
	export FAKE_PC_HARDWARE=$BATS_TEST_TMPDIR/hardware
	exec 9>"$FAKE_PC_HARDWARE"
	flock 9
	record_gpu --pc-sampling -- "$WORK" code:lines context:10
	[[ $stderr == *"no samples inside GPU kernels"*"another profiler uses the GPU's counters"* ]]
	time_is_conserved g.data
	"$SPROF" report --gpu --json g.data | jq -e '[.rows[] | select(.name == "gemm_kernel").calls] | add == 10'
	run "$SPROF" report --stalls g.data
	[ "$status" -eq 1 ]
	exec 9>&-
	record_gpu --pc-sampling -- "$WORK" code:lines context:10
	stalls '.samples == 800'
}

@test "nothing of it is called unless it is asked for" {
	export FAKE_LOG=$BATS_TEST_TMPDIR/log
	record_gpu -- "$WORK" code:lines context:10
	[ "$(calls_in_log 'cuptiPCSampling.*')" -eq 0 ]
	run "$SPROF" report --stalls g.data
	[ "$status" -eq 1 ] && grep -q 'sprof record --pc-sampling' <<<"$output"
}

@test "a full buffer of the hardware is said, and sampling goes on" {
	FAKE_PC_FULL=10 record_gpu --pc-sampling=20 -- "$WORK" code:lines context:10 context:3
	[[ $stderr == *"samples inside GPU kernels were lost"* ]]
	stalls '.buffer_full == 1 and .samples == 240'
	"$SPROF" report --stalls g.data | grep -q "^1 times the hardware's buffer was full"
}

@test "samples that the hardware dropped, and those of others, are counted and shown" {
	FAKE_PC_DROP=7 FAKE_PC_FOREIGN=2 record_gpu --pc-sampling -- "$WORK" code:lines context:10
	stalls '.samples == 800 and .dropped == 70 and .foreign == 20 and .without_line == 0'
	"$SPROF" report --stalls g.data >text
	grep -q '^70 samples were dropped by the hardware$' text && grep -q '^20 samples were in kernels' text
	"$SPROF" report --gpu --json g.data | jq -e '[.counters[] | select(.name == "samples inside kernels").value] == [890]'
}

@test "the table, the flame graph and the list of columns say the same" {
	record_gpu --pc-sampling=stacks,20 -- "$WORK" code:lines context:10 code:plain context:5
	stalls '.samples == 1200 and .without_line == 400 and ([.rows[].samples] | add) == 1200'
	stalls '[.rows[] | select(.stall == "long_scoreboard" and .line == 40)] | length == 1 and .[0].samples == 500 and
		.[0].idle_share == 60 and .[0].file == "/src/train/model.cu" and .[0].kernel == "gemm_kernel" and .[0].pc == null'
	stalls '[.rows[] | select(.stall == "wait" and .line == null)] | length == 1 and .[0].samples == 100 and .[0].pc == 32'
	"$SPROF" report --stalls --json -n 1 g.data | jq -e '.rows | length == 1'
	"$SPROF" fold --column gpu-samples g.data >folded
	[ "$(awk '{ sum += $NF } END { print sum }' folded)" -eq 1200 ]
	grep -q 'in_context;.*launch_gemm;.*gemm_kernel_\[g];model.cu:40_\[g];long_scoreboard_\[g] 500$' folded
	grep -q 'gemm_kernel_\[g];pc+0x20_\[g];wait_\[g] 100$' folded
	"$SPROF" info --json g.data | jq -e '.columns[] | select(.name == "gpu-samples").sum == 1200'
	"$SPROF" flame --column gpu-samples g.data -o g.svg
	grep -q 'long_scoreboard' g.svg
	"$SPROF" report --stalls g.data | grep -q ' long_scoreboard  model.cu:40  gemm_kernel$'
}

@test "combinations that cannot work are refused" {
	local options
	for options in '--pc-sampling=4' '--pc-sampling=32' '--pc-sampling=stack' '--pc-sampling=stacks,' '--pc-sampling=20x' \
		'--pc-sampling --max-overhead 1%' '--pc-sampling --gpu off' '--pc-sampling --capture-range cudaProfilerApi'; do
		run "$SPROF" record $options -- true
		[ "$status" -eq 2 ] || { echo "$options: $status $output"; return 1; }
	done
}
