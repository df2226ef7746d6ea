# Reports of a program over the fake GPU, whose work is known. No privileges are needed.

load fake.bash

setup() {
	fake_setup
	cd "$BATS_TEST_TMPDIR"
}

# A field of the one row whose name matches.
row() { # table, name, field
	"$SPROF" report --"$1" --json g.data | jq -e --arg n "$2" "[.rows[] | select(.name | test(\$n))] | if length == 1 then .[0].$3 else error end"
}

@test "GPU time is the same in the flame graph, in the table and in the list of columns" {
	record_gpu -- "$WORK" idle:100 mixed:50 launch:2000 graph:20 peer
	of_fold=$("$SPROF" fold --column gpu g.data | awk '{ sum += $NF } END { printf "%.0f", sum }')
	of_table=$("$SPROF" report --gpu --json g.data | jq '[.rows[].total_ns] | add')
	of_info=$("$SPROF" info --json g.data | jq '.columns[] | select(.name == "gpu").sum')
	[ "$of_fold" -gt 2000000 ]
	[ "$of_fold" -eq "$of_table" ] && [ "$of_fold" -eq "$of_info" ]
}

@test "idle and busy time of each device add up to the wall, and idle to its flame graph" {
	record_gpu -- "$WORK" mixed:50 idle:100 launch:500 peer
	"$SPROF" report --gpu --json g.data >r.json
	jq -e '.devices | length == 2 and all(.busy_ns + .idle_ns == .wall_ns and .busy_ns > 0)' r.json
	of_fold=$("$SPROF" fold --column gpu-idle g.data | awk '{ sum += $NF } END { printf "%.0f", sum }')
	[ "$of_fold" -eq "$(jq '[.devices[].idle_ns] | add' r.json)" ]
}

# Its record comes 3.5 s after its call, long after those of the small kernels in later buffers.
# bats test_tags=full
@test "a kernel that runs for seconds beside others is busy time, not idle time" {
	FAKE_REALISTIC=1 record_gpu -- "$WORK" launch:10 long:3500 launch:8000 paced:3600 mixed:5
	"$SPROF" report --gpu --json g.data >r.json
	jq -e '.devices[0] | .busy_ns + .idle_ns == .wall_ns and .busy_ns >= 3500000000' r.json
	jq -e '[.counters[] | select(.name == "activities too late for their place" and .value > 0)] == []' r.json
	jq -e '[.rows[] | select(.name == "spin")] | length == 1 and .[0].total_ns == 3500000000' r.json
}

@test "a pause of the program is blamed on the stack of the next launch" {
	record_gpu -- "$WORK" launch:100 idle:300 mixed:1
	late=$("$SPROF" fold --column gpu-idle g.data | awk '/^GPU 0 idle: launched late;.*main;.*mixed/ { s += $NF } END { print s + 0 }')
	[ "$late" -ge 290000000 ]
}

@test "waiting for the GPU is blamed on the synchronization" {
	record_gpu -- "$WORK" launch:1 mixed:200
	waits=$("$SPROF" fold --column gpu-idle g.data | awk '/^GPU 0 idle: after a synchronization;.*mixed/ { s += $NF } END { print s + 0 }')
	[ "$waits" -gt 0 ]
}

@test "bytes and calls of copies, and calls of the API, are those that the program made" {
	record_gpu -- "$WORK" mixed:30
	[ "$(row memcpy 'host to device' bytes)" -eq $((30 * 4096)) ]
	[ "$(row memcpy 'host to device' calls)" -eq 30 ]
	[ "$(row memcpy 'device to host' calls)" -eq 30 ]
	[ "$(row api '^cuLaunchKernel' calls)" -eq 60 ]
}

@test "a hint names the exact share of idle time that late launches cause" {
	record_gpu -- "$WORK" launch:10 idle:400 launch:10
	run "$SPROF" report --hints g.data
	echo "$output"
	grep -Eq '^[0-9.]+% of the time of the GPUs: the GPU is idle because the host launches too late' <<<"$output"
	[ "$("$SPROF" report --hints --json g.data | jq '.rows[] | select(.code == "gpu-launch-bound") | .weight > 390e6 and .weight < .whole')" = true ]
}

# In the realistic model every call comes through the runtime API, under one correlation id.
@test "calls of the runtime API are counted beside the driver's, and nested ones once" {
	local calls
	export FAKE_REALISTIC=1
	for which in driver runtime all; do
		record_gpu --cuda-api $which -- "$WORK" launch:100 mixed:10
		calls=$("$SPROF" report --api --json g.data | jq -r '.rows[] | "\(.api) \(.name) \(.calls)"' | grep LaunchKernel)
		echo "$which: $calls"
		if [ $which = driver ]; then
			[ "$calls" = 'driver cuLaunchKernel 120' ]
		else
			grep -q '^runtime cudaLaunchKernel.* 120$' <<<"$calls"
			[ "$(wc -l <<<"$calls")" -eq 1 ]
		fi
		# Launches have their stacks and kernels all the same.
		[ "$("$SPROF" fold --column launches g.data | awk '/gemm_kernel/ && /main/ { s += $NF } END { print s }')" -eq 110 ]
		"$SPROF" report --api --json g.data | jq -e '[.rows[].share] | add | . > 99 and . < 101'
	done
	run "$SPROF" record --cuda-api cudart -- true
	[ "$status" -eq 2 ]
}

@test "rows of two processes are told apart, those of one need no column for it" {
	record_gpu -- sh -c '"$0" launch:100 & "$0" launch:50; wait' "$WORK"
	for table in gpu api; do
		"$SPROF" report --$table g.data >got
		cat got
		grep -q '^ *Share .* PID ' got
		[ "$(awk '/gemm_kernel$|cuLaunchKernel$/ { print $(NF - 1) }' got | sort -u | wc -l)" -eq 2 ]
	done
	record_gpu -- "$WORK" launch:100
	run "$SPROF" report --gpu g.data
	grep -q '^ *Share ' <<<"$output"
	[ "$(grep -c PID <<<"$output")" -eq 0 ]
}

@test "a table names the processes if its own rows are of several" {
	# records of the second process are lost with its end, its calls are not
	record_gpu -- sh -c '"$0" launch:100 & "$0" captured:0 quit; wait' "$WORK"
	"$SPROF" report --api g.data >got
	cat got
	grep -q '^ *Share .* PID ' got
	[ "$(awk '/cuLaunchKernel$/ { print $(NF - 1) }' got | sort -u | wc -l)" -eq 2 ]
	# the second process waits and runs nothing
	record_gpu -- sh -c '"$0" launch:100 & "$0" idle:10; wait' "$WORK"
	"$SPROF" report --gpu g.data >got
	cat got
	grep -q '^ *Share ' got
	[ "$(grep -c PID got)" -eq 0 ]
}

@test "a kernel that was launched with several grids has their spread" {
	record_gpu -- "$WORK" launch:10 graph:5 # gemm_kernel in the graph has 10, 12 and 14 blocks
	run "$SPROF" report --gpu g.data
	echo "$output"
	grep -Eq ' 10\.\.14 .*gemm_kernel$' <<<"$output"
	grep -Eq ' 11\.\.13 .*relu_kernel$' <<<"$output"
	"$SPROF" report --gpu --json g.data | jq -e '.rows[] | select(.name == "gemm_kernel") | .min_blocks == 10 and .max_blocks == 14'
	record_gpu -- "$WORK" launch:10
	run "$SPROF" report --gpu g.data
	grep -Eq ' 10x1x1 .*gemm_kernel$' <<<"$output"
}
