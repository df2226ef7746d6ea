# What a GPU ran over time, in the recording and as trace events. Over the fake GPU; no privileges are needed.

load fake.bash

setup() {
	fake_setup
	cp tests/gpu/trace_events.py "$BATS_TEST_TMPDIR"
	AGENT_GOLDEN=$PWD/tests/golden/gpu/agent.txt
	cd "$BATS_TEST_TMPDIR"
}

record_trace() {
	record_gpu "$@"
	"$SPROF" export -f chrome -o t.json g.data
}

# The golden file is what recorder.py, an independent reader, found in the shared memory.
@test "trace events have every activity of every CUDA version, with its duration to the nanosecond" {
	sed -n 's/^record \(kernel\|memcpy\|memset\|sync\) //p' "$AGENT_GOLDEN" >want
	[ "$(wc -l <want)" -eq 16 ]
	grep -v 'stream=4294967295' want >without_context_waits
	for version in 11 12 13; do
		export SPROF_CUPTI=$BUILD/tests/gpu/cuda$version/libcupti.so.$version
		record_trace -- "$WORK" launch:2 graph:1 mixed:1 peer alloc:3
		# before update 1 of CUDA 13.0, CUPTI has no records of cuCtxSynchronize()
		! is_realistic || [ $version != 13 ] || mv without_context_waits want
		python3 trace_events.py activities t.json want
	done
}

@test "a kernel in trace events has its grid, block, registers and shared memory" {
	record_trace -- "$WORK" launch:2
	jq -e '[.traceEvents[] | select(.cat == "kernel" and .ph == "X").args | {grid, block, "registers per thread", "shared memory"}] |
		unique == [{grid: [10, 1, 1], block: [128, 1, 1], "registers per thread": 35, "shared memory": 4096}]' t.json
}

@test "device memory is a counter with every point in time" {
	record_trace -- "$WORK" launch:2 graph:1 mixed:1 peer alloc:3
	[ "$(python3 trace_events.py memory t.json | cut -d ' ' -f 2 | tr '\n' ' ')" = "1048576 2097152 3145728 2097152 " ]
	python3 trace_events.py memory t.json | sort -nc
}

# Of the 8448 warps of the GPU a gemm has 40, a relu 24, and a kernel that takes long 1. The fake CUPTI describes device 0 only.
@test "occupancy is a counter of what the shapes of running kernels fill" {
	record_trace -- "$WORK" launch:1
	jq -e '[.traceEvents[] | select(.ph == "C" and .name == "occupancy").args.percent] == [0.4734, 0]' t.json
	record_trace -- "$WORK" long:1000 launch:20 mixed:3 graph:3 peer threads:50
	[[ "$(python3 trace_events.py occupancy t.json)" =~ ^(0.4[89]|0.[5-9]|[1-9].)[0-9]*" % at most"$ ]]
	jq -e '[.traceEvents[] | select(.name == "work of unknown occupancy").args.running] == [1, 0]' t.json
}

@test "a graph that ran whole is work of unknown occupancy" {
	record_trace --gpu-kinds kernels,graphs -- "$WORK" graph:1
	jq -e '[.traceEvents[] | select(.ph == "C") | .name, .args.running] == ["work of unknown occupancy", 1, "work of unknown occupancy", 0]' t.json
}

# 3 MiB outside pools, of which 1 is freed; then 9 MiB from a pool that grows by 4 MiB. All but one of the pool's
# allocations are freed, and the pool is trimmed.
# bats test_tags=full
@test "a pool counts as what it has reserved, in every CUDA version" {
	for version in 11 12 13; do
		export SPROF_CUPTI=$BUILD/tests/gpu/cuda$version/libcupti.so.$version
		record_trace -- "$WORK" launch:2 alloc:3 pool:9
		[ "$(python3 trace_events.py memory t.json | cut -d ' ' -f 2 | tr '\n' ' ')" = \
			"1048576 2097152 3145728 2097152 6291456 10485760 14680064 6291456 " ]
		"$SPROF" report --gpu --json g.data | jq -e '[.devices[].peak_bytes] == [14680064]'
	done
}

# bats test_tags=full
@test "an arrow leads from each call to all that it launched" {
	record_trace -- "$WORK" launch:200 graph:3 mixed:20 peer threads:50
	# 200 + 3 graphs of 5 + 20 * 5 + 2 + 4 * 50; waits have no arrow
	[ "$(python3 trace_events.py arrows t.json)" = "517 arrows from 505 calls of 5 threads" ]
}

# bats test_tags=full
@test "activities beyond --gpu-timeline are counted and reported" {
	record_trace --gpu-timeline 100 -- "$WORK" launch:1000
	jq -e '[.traceEvents[] | select(.cat == "kernel")] | length == 100' t.json
	jq -e '.otherData.gpu_activities_left_out >= 900' t.json
	"$SPROF" info g.data | grep -q '^GPU timeline: 100 activities, and 90[0-9] left out of it'
	"$SPROF" info --json g.data | jq -e '.gpu_timeline | .activities == 100 and .left_out >= 900'
	"$SPROF" report --gpu --json g.data | jq -e '[.rows[] | select(.name == "gemm_kernel").calls] == [1000]'
	record_trace --gpu-timeline off -- "$WORK" launch:10
	jq -e '[.traceEvents[] | select(.args.correlation? or .name == "occupancy")] == []' t.json
	"$SPROF" info --json g.data | jq -e '.gpu_timeline | .activities == 0 and .left_out >= 10'
	for max in '' -1 1000001 few 1x; do
		run "$SPROF" record --gpu-timeline "$max" -- true
		[ "$status" -eq 2 ]
	done
}
