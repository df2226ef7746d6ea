# sprof export -f torch: the schema of torch.profiler, read as its documentation says, and by Holistic Trace Analysis and
# the plugin of TensorBoard, which come from PyPI once. Over the fake GPU; no privileges are needed.

load fake.bash
load real.bash

READERS=$BATS_TEST_DIRNAME/torch_readers.py

setup() {
	fake_setup
	CHECK=$BATS_TEST_DIRNAME/torch_trace.py
	cd "$BATS_TEST_TMPDIR"
}

record_tables() {
	record_gpu "$@"
	"$SPROF" report --gpu --json -n 0 g.data >report.json
}

# Reads the folder traces with somebody else's program, and compares with report.json.
read_by() { # hta or tensorboard
	local packages
	packages=$(trace_readers) || skip 'no Holistic Trace Analysis or torch_tb_profiler: PyPI is not reachable, or has none for this Python'
	HTA_DISABLE_NS_ROUNDING=1 PYTHONPATH=$packages python3 "$READERS" "$1" traces report.json
}

@test "a torch trace has the fields of torch.profiler, and the sums of the report" {
	record_tables -- "$WORK" launch:200 graph:3 mixed:5 peer alloc:3 threads:20
	"$SPROF" export -o t.pt.trace.json g.data
	python3 "$CHECK" t.pt.trace.json report.json
	jq -e '.schemaVersion == 1 and .distributedInfo.rank == 0 and .distributedInfo.world_size == 1' t.pt.trace.json
	jq -e '.deviceProperties | .[0].name == "Fake H200" and .[0].numSms > 0 and .[0].warpSize == 32' t.pt.trace.json
	jq -e '[.traceEvents[] | select(.cat == "cuda_driver").name] | index("cuGraphLaunch") and index("cuLaunchKernel")' t.pt.trace.json
	jq -e '[.traceEvents[] | select(.cat == "kernel").args | select(.grid == [10, 1, 1])][0] |
		.["registers per thread"] == 35 and .["shared memory"] == 4096 and .["est. achieved occupancy %"] < 100' t.pt.trace.json
}

@test "a folder gets a file for each rank, and one file cannot hold several processes" {
	WORK=$TARGETS/gpu_rank
	job() {
		local pids=()
		truncate -s 4M job
		for r in 0 1 2 3; do
			FAKE_JOB=$PWD/job RANK=$r LOCAL_RANK=$r WORLD_SIZE=4 timeout 60 "$WORK" 4 &
			pids+=($!)
		done
		wait "${pids[@]}"
	}
	export WORK
	export -f job
	record_tables -- bash -c job
	run "$SPROF" export -f torch -o one.json g.data
	[ "$status" -eq 1 ] && grep -q 'sprof export -f torch -o DIR/' <<<"$output"
	"$SPROF" export -f torch -o traces/ g.data
	[ "$(ls traces | tr '\n' ' ')" = "rank0.pt.trace.json.gz rank1.pt.trace.json.gz rank2.pt.trace.json.gz rank3.pt.trace.json.gz " ]
	for r in 0 1 2 3; do
		zcat traces/rank$r.pt.trace.json.gz >t.json
		jq -e --argjson r $r '.distributedInfo == {backend: "nccl", rank: $r, world_size: 4}' t.json
		jq -e '[.traceEvents[] | select(.cat == "kernel").name | select(startswith("nccl"))] | length >= 4' t.json
		jq -r .baseTimeNanoseconds t.json >>bases
	done
	[ "$(sort -u bases | wc -l)" -eq 1 ]
	run "$SPROF" export -f pprof -o traces/ g.data
	[ "$status" -eq 1 ]
}

# bats test_tags=full
# Its sums are exact where it does not round: the busy time of the device, idle time between the first and the last work, and
# the time of each kernel.
@test "Holistic Trace Analysis finds the sums of the report" {
	record_tables -- "$WORK" launch:300 mixed:20 graph:5 idle:50 launch:20
	"$SPROF" export -f torch -o traces/ g.data
	read_by hta
}

# bats test_tags=full
@test "the loader of TensorBoard's plugin takes the trace, and counts its kernels" {
	record_tables -- "$WORK" launch:300 mixed:20 graph:5 idle:50 launch:20
	"$SPROF" export -f torch -o traces/ g.data
	read_by tensorboard
}
