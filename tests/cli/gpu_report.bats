# Tables and pictures of what a GPU did, from a recording made by tests/unit/gpu/test_gpu_golden.c.
load golden

setup() {
	bats_require_minimum_version 1.5.0
	cp "$GOLDEN/recordings/gpu.data" "$GOLDEN/recordings/complete.data" "$BATS_TEST_TMPDIR"
	cd "$BATS_TEST_TMPDIR"
}

@test "tables of kernels, calls and copies" {
	"$SPROF" report --gpu gpu.data | same_as_golden gpu.report
	"$SPROF" report --api gpu.data | same_as_golden gpu.api
	"$SPROF" report --memcpy gpu.data | same_as_golden gpu.memcpy
}

@test "tables of ranges, with and without the warm-up, and of operators" {
	"$SPROF" report --ranges gpu.data | same_as_golden gpu.ranges.md
	"$SPROF" report --ranges --skip 1 gpu.data | same_as_golden gpu.ranges.skip.md
	"$SPROF" report --op gpu.data | same_as_golden gpu.op
}

@test "tables in JSON say the same" {
	"$SPROF" report --gpu --json gpu.data | same_as_golden gpu.report.json
	"$SPROF" report --ranges --json gpu.data | same_as_golden gpu.ranges.json
	for t in gpu api memcpy ranges op; do
		"$SPROF" report --$t --json gpu.data | jq -e --arg t $t '.report == $t and .version == 1 and (.rows | length > 0)'
		"$SPROF" report --$t --json -n 1 gpu.data | jq -e '.rows | length == 1'
	done
	"$SPROF" report --ranges --skip 1 --json gpu.data | jq -e '.skip == 1 and all(.rows[]; .repeats == 1 and .skipped == 1)'
}

@test "GPU time is the same in the flame graph, the table and the list of columns" {
	of_fold=$("$SPROF" fold --column gpu gpu.data | awk '{ sum += $NF } END { printf "%.0f", sum }')
	of_table=$("$SPROF" report --gpu --json gpu.data | jq '[.rows[].total_ns] | add')
	of_info=$("$SPROF" info --json gpu.data | jq '.columns[] | select(.name == "gpu").sum')
	[ "$of_fold" -eq "$of_table" ] && [ "$of_fold" -eq "$of_info" ]
}

@test "busy and idle time add up to the wall, and idle time is the sum of its flame graph" {
	"$SPROF" report --gpu --json gpu.data >r.json
	jq -e '.devices | length == 1 and all(.busy_ns + .idle_ns == .wall_ns and .wall_ns == 400000000)' r.json
	of_fold=$("$SPROF" fold --column gpu-idle gpu.data | awk '{ sum += $NF } END { printf "%.0f", sum }')
	[ "$of_fold" -eq "$(jq '.devices[0].idle_ns' r.json)" ]
}

@test "stacks of GPU time, of idle time and of launches" {
	"$SPROF" fold --column gpu gpu.data | same_as_golden gpu.fold
	"$SPROF" fold --column gpu-idle gpu.data | same_as_golden gpu.idle.fold
	"$SPROF" fold --column launches gpu.data | same_as_golden gpu.launches.fold
	"$SPROF" fold gpu.data | same_as_golden gpu.cpu.fold
}

@test "the picture of a GPU column says its unit and has no margin" {
	"$SPROF" flame --column gpu --no-js gpu.data >g.svg
	grep -q '>182 ms of GPU time in 400 ms<' g.svg
	grep -q 'total 100%, 182 ms .* 10 launches' g.svg
	! grep -q '±' g.svg || false
	"$SPROF" flame --column gpu-bytes --no-js gpu.data | grep -q 'total 100%, 210 MB'
}

@test "info lists the columns with their sums, and samples are those of the CPU" {
	"$SPROF" info gpu.data | sed -n '/^column/,/^$/p' | same_as_golden gpu.columns
	"$SPROF" info --json gpu.data | jq -e '.samples == 360 and .lost == 0'
}

@test "a recording without GPU work has no such tables, and says so" {
	for t in gpu api memcpy ranges op; do
		run --separate-stderr "$SPROF" report --$t complete.data
		[ "$status" -eq 1 ]
		[ -z "$output" ]
		[[ "${stderr_lines[-2]}" == "sprof: cannot report on 'complete.data': it holds no "* ]]
		[[ "${stderr_lines[-1]}" == "hint: sprof record --gpu on "* ]]
	done
}

@test "options that do not go together are refused" {
	for args in "--gpu --api" "--skip 3" "--gpu --skip 3" "--ranges --column gpu" "--ranges --skip x"; do
		run "$SPROF" report $args gpu.data
		[ "$status" -eq 2 ]
	done
}
