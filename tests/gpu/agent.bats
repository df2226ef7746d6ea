# What libsprof-gpu.so collects from the fake GPU.

load fake.bash

setup() {
	fake_setup
}

# Durations, sums, stacks, graph nodes, to the nanosecond. Regenerate with UPDATE_GOLDEN=1.
# bats test_tags=full
@test "every CUDA version gives the same records and sums, to the nanosecond" {
	for version in 11 12 13; do
		export SPROF_CUPTI=$BUILD/tests/gpu/cuda$version/libcupti.so.$version
		record --records -- "$WORK" launch:2 graph:1 mixed:1 peer alloc:3
		grep -qx "cupti [0-9]* libcupti.so.$version" <<<"$output"
		# Moments and waits differ from run to run; graph nodes of CUDA 11.0 have no graph id yet.
		grep -v -e '^record api' -e '^cupti ' -e '^counter buffers ' <<<"$output" |
			sed -E -e 's/^(record [a-z]+) [0-9]+ [0-9]+/\1/' \
				-e '/^(fold|record) sync/s/ (ns|min|max)=[0-9]+//g' |
			LC_ALL=C sort -s -k1,2 >"$BATS_TEST_TMPDIR/got"
		[ $version != 11 ] || sed -i 's/graph=0 node=1/graph=1 node=1/' "$BATS_TEST_TMPDIR/got"
		# Before update 1 of CUDA 13.0, CUPTI has no records of cuCtxSynchronize().
		if is_realistic && [ $version = 13 ]; then
			grep -v -e '^counter syncs ' -e '^fold sync 4 ' -e '^record sync .* stream=4294967295 ' tests/golden/gpu/agent.txt |
				diff - <(grep -v '^counter syncs ' "$BATS_TEST_TMPDIR/got")
			continue
		fi
		[ -z "${UPDATE_GOLDEN-}" ] || cp "$BATS_TEST_TMPDIR/got" tests/golden/gpu/agent.txt
		diff tests/golden/gpu/agent.txt "$BATS_TEST_TMPDIR/got"
	done
}

@test "every call is counted and has a record with its stack" {
	record --records -- "$WORK" launch:1000 mixed:10
	[ "$(calls_of cuLaunchKernel)" -eq 1020 ]
	[ "$(calls_of cuMemcpyHtoD_v2)" -eq 10 ]
	[ "$(grep -c '^record api .* cuLaunchKernel ' <<<"$output")" -eq 1020 ]
	[ "$(grep -c '^record api .*;main;train;forward;launch_gemm$' <<<"$output")" -eq 1000 ]
	[ "$(counter launches)" -eq "$(($(counter stack_walked) + $(counter stack_cached)))" ]
	# A stack that repeats is not walked again.
	[ "$(counter stack_cached)" -ge 990 ]
}

# Unwind rows are sent before the recorder wants data.
@test "a program waits in cuInit for the recorder's control word, not for unwind rows" {
	record --rows-first=500 -- "$WORK" launch:1000
	[ "$(calls_of cuLaunchKernel)" -eq 1000 ]
	[ "$(fold_sum kernel count)" -eq 1000 ]
}

@test "sums are those of the records, and every launch finds its call" {
	record --records -- "$WORK" launch:3000 mixed:50 graph:20
	[ "$(fold_sum kernel ns)" -eq "$(record_sum kernel)" ]
	[ "$(fold_sum memcpy ns)" -eq "$(record_sum memcpy)" ]
	[ "$(fold_sum kernel count)" -eq 3200 ]
	[ "$(counter kernels)" -eq 3200 ]
	[ "$(counter no_launch)" -eq 0 ]
	[ "$(counter graph_nodes)" -eq 100 ]
	! grep '^fold kernel .* -$' <<<"$output" || false
}

@test "a full ring loses records, but no sums and no counts" {
	record --no-drain -- "$WORK" launch:100000
	[ "$(sed -n 's/^ring_dropped //p' <<<"$output")" -gt 10000 ]
	[ "$(fold_sum kernel count)" -eq 100000 ]
	[ "$(fold_sum kernel ns)" -eq 100000000 ]
	[ "$(calls_of cuLaunchKernel)" -eq 100000 ]
}

# bats test_tags=full
@test "threads have lanes of their own, and their streams run in parallel" {
	record --records -- "$WORK" threads:2000 threads:2000
	[ "$(calls_of cuLaunchKernel)" -eq 16000 ]
	[ "$(fold_sum kernel count)" -eq 16000 ]
	[ "$(counter threads)" -eq 9 ]
	[ "$(counter lanes_shared)" -eq 0 ]
	[ "$(grep '^record kernel' <<<"$output" | grep -o 'stream=[0-9]*' | sort -u | wc -l)" -eq 4 ]
	! grep '^fold kernel .* -$' <<<"$output" || false
}

# CUDA 13 has a buffer for each launching thread where nobody says otherwise.
@test "more launching threads than a few dozen lose nothing" {
	export FAKE_REALISTIC=1 SPROF_CUPTI=$BUILD/tests/gpu/cuda13/libcupti.so.13
	local cannot_set
	for cannot_set in '' 9; do
		FAKE_ATTRIBUTE_ERROR=$cannot_set record -- "$WORK" crowd:100
		[ "$(calls_of cuLaunchKernel)" -eq 3200 ]
		[ "$(fold_sum kernel count)" -eq 3200 ]
		[ "$(counter discarded)" -eq 0 ]
	done
}

# bats test_tags=full
@test "buffers that CUPTI completes on its own threads, late, lose nothing" {
	FAKE_BUFFER_LATE=1 record --records -- "$WORK" launch:20000 idle:100
	[ "$(fold_sum kernel count)" -eq 20000 ]
	[ "$(record_sum kernel)" -eq 20000000 ]
}

@test "graphs: nodes by default, one record per launch on request" {
	record -- "$WORK" graph:10
	[ "$(fold_sum kernel count)" -eq 50 ]
	[ "$(fold_sum graph count)" -eq 0 ]
	# kernels off, GRAPH_TRACE, stacks and records on
	record --want=0x320 -- "$WORK" graph:10
	[ "$(fold_sum graph count)" -eq 10 ]
	[ "$(fold_sum graph ns)" -eq 60000 ]
	[ "$(fold_sum kernel count)" -eq 0 ]
	grep -q '^fold graph .*;main;replay$' <<<"$output"
}

# The thread that begins the capture makes the first and the last launch, into another stream. The first counts as
# captured, because the thread captures then.
@test "what another thread launches into a captured stream runs nothing, and that thread may end the capture" {
	local want
	for want in 0x33df 0x32df; do # with stacks, and without
		record --records --want=$want -- "$TARGETS/gpu_graphs" threads:5
		[ "$(grep -c '^record api .* cuLaunchKernel .* class=13 ' <<<"$output")" -eq 6 ]
		[ "$(grep -c '^record api .* cuLaunchKernel .* class=1 ' <<<"$output")" -eq 1 ]
		[ "$(counter nodes_left_out)" -eq 0 ]
		[ "$(fold_sum kernel count)" -eq 7 ]
	done
}

@test "a call shorter than the threshold gets no stack, and that is counted" {
	record --stack-min=1000000000 -- "$WORK" launch:100
	[ "$(counter stack_short)" -eq 101 ]
	[ "$(counter stack_walked)" -eq 0 ]
	grep -q '^fold kernel gemm_kernel .* -$' <<<"$output"
}

@test "only the wanted classes of calls get stacks" {
	record --classes=0x20 -- "$WORK" mixed:10 # synchronization
	[ "$(counter launches)" -eq 11 ]
	grep -q '^fold sync .*;main;mixed$' <<<"$output"
	grep -q '^fold kernel gemm_kernel .* -$' <<<"$output"
}

@test "a stack deeper than the limit keeps its leaf and says so" {
	record -- "$WORK" deep:600
	grep -q '^fold kernel .*\[end 5\];deeper;.*;deeper;launch_gemm$' <<<"$output"
}

@test "device memory is known as allocated and at its peak" {
	record -- "$WORK" alloc:10
	grep -qx 'device 0 Fake H200 sms=132 allocated=5242880 peak=10485760' <<<"$output"
	[ "$(fold_sum alloc bytes)" -eq 10485760 ]
}

@test "capture: calls of cuProfilerStart and cuProfilerStop are records" {
	record --records -- "$WORK" profiler
	grep -q '^record api .* cuProfilerStart .*class=9 ' <<<"$output"
	grep -q '^record api .* cuProfilerStop .*class=10 ' <<<"$output"
}

# Prints how many kernels have a call, and how many of them start more than 1 ms before it or 1 s after it.
misplaced() {
	awk '$2 == "api" { for (i = 6; i <= 7; i++) if ($i ~ /^corr=/) call[$i] = $3 }
		$2 == "kernel" { for (i = 5; i < 12; i++) if ($i ~ /^corr=/) kernel[$i] = $3 }
		END { for (c in kernel) if (c in call) { n++; d = kernel[c] - call[c]; bad += d < -1e6 || d > 1e9 }
			printf "%d %d\n", n, bad }' <<<"$output"
}

# A clock that is registered anew leaves some records on the one before, and another tool may need its own.
# bats test_tags=full
@test "no clock is registered with CUPTI, and its own is converted, whatever it counts" {
	local rival
	for rival in 0 1; do
		rm -f "$BATS_TEST_TMPDIR/log"
		FAKE_RIVAL=$rival FAKE_LOG=$BATS_TEST_TMPDIR/log record --records -- "$WORK" launch:1000 idle:1500 launch:1000
		[ "$(grep -c cuptiActivityRegisterTimestampCallback "$BATS_TEST_TMPDIR/log")" -eq 0 ]
		[ "$(misplaced)" = '2000 0' ]
		[ "$(counter untimed)" -eq 0 ]
		[ "$(($(fold_sum kernel ns) / 1000))" -ge 1990 ] && [ "$(fold_sum kernel ns)" -le 2010000 ]
	done
}

@test "what starts before its call or ends after now has no times, and is counted" {
	FAKE_RIVAL=2 record --records -- "$WORK" launch:1000
	[ "$(misplaced)" = '500 0' ]
	[ "$(counter untimed)" -ge 500 ]
	[ "$(fold_sum kernel count)" -eq 500 ]
	grep -q '^failure 19 .*on a clock that is not its own' <<<"$output"
}
