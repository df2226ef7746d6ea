# sprof record --gpu-kinds: what is left out is enabled nowhere in CUPTI, and is said to be missing where it would be shown.
# Over the fake GPU; no privileges are needed.

load fake.bash

setup() {
	fake_setup
	cd "$BATS_TEST_TMPDIR"
}

# How many records of a kind the library read, by its own counters.
records_of() { # COUNTER...
	"$SPROF" report --api --json g.data | jq "[.counters[] | select(.name | IN($(printf '"%s",' "$@" | sed 's/,$//'))).value] | add // 0"
}

calls_of() { # REGEX
	"$SPROF" report --api --json g.data | jq --arg n "$1" '[.rows[] | select(.name | test($n)).calls] | add // 0'
}

@test "only the kinds that were asked for are recorded, and only their calls" {
	record_gpu --gpu-kinds kernels -- "$WORK" launch:50 mixed:10 alloc:4
	[ "$(records_of kernels)" -eq 70 ]
	[ "$(records_of copies fills synchronizations 'memory events' 'pool events' overheads)" -eq 0 ]
	[ "$(calls_of '^cuLaunchKernel')" -eq 70 ]
	[ "$(calls_of 'Memcpy|Memset|MemAlloc|MemFree|Synchronize')" -eq 0 ]
	record_gpu --gpu-kinds copies,memory -- "$WORK" launch:50 mixed:10 alloc:4
	[ "$(records_of kernels fills synchronizations overheads)" -eq 0 ]
	[ "$(records_of copies)" -eq 20 ] && [ "$(records_of 'memory events')" -ge 4 ]
	[ "$(calls_of '^cuLaunchKernel|Memset|Synchronize')" -eq 0 ]
	[ "$(calls_of '^cuMemcpy')" -eq 20 ]
}

@test "what was not collected is named, and null where a number would be" {
	record_gpu --gpu-kinds=-copies,-fills,-memory -- "$WORK" launch:50 mixed:10
	"$SPROF" report --gpu g.data | grep -q '^not collected (--gpu-kinds): copies, fills, memory$'
	"$SPROF" report --gpu --json g.data >r.json
	jq -e '.not_collected == ["copies", "fills", "memory"]' r.json
	jq -e '.devices[0] | .copy_ns == null and .overlap_ns == null and .peak_bytes == null and .kernel_ns > 0' r.json
	run "$SPROF" report --memcpy g.data
	[ "$status" -eq 1 ] && grep -q 'not collected (sprof record --gpu-kinds): copies, fills' <<<"$output"
	"$SPROF" info g.data | grep -q '^GPU work that was not collected (record --gpu-kinds): copies, fills, memory$'
	"$SPROF" info --json g.data | jq -e '.gpu_not_collected == ["copies", "fills", "memory"]'
	record_gpu -- "$WORK" launch:50
	"$SPROF" report --gpu --json g.data | jq -e '.not_collected == []'
	"$SPROF" info g.data | { ! grep -q 'not collected'; }
}

@test "launches alone have counts and stacks, and no time of a GPU" {
	record_gpu --gpu-kinds launches -- "$WORK" launch:50 graph:3
	[ "$(calls_of '^cuLaunchKernel')" -eq 50 ] && [ "$(calls_of '^cuGraphLaunch')" -eq 3 ]
	[ "$(records_of kernels 'launches without a record')" -eq 0 ]
	[ "$(records_of 'calls that want a stack')" -eq 53 ]
	"$SPROF" report --api --json g.data | jq -e '.devices | all(.busy_ns == null and .idle_ns == null)'
	run "$SPROF" report --gpu g.data
	[ "$status" -eq 1 ] && grep -q 'kernels, copies, fills' <<<"$output"
}

@test "without kernels no idle time is claimed" {
	record_gpu --gpu-kinds copies -- "$WORK" mixed:10 idle:200 mixed:10
	"$SPROF" info --json g.data | jq -e '[.columns[] | select(.name == "gpu-idle")] | length == 0 or .[0].sum == 0'
	run "$SPROF" report --hints --json g.data
	! grep -q 'gpu-launch-bound' <<<"$output" || false
}

@test "graphs are recorded whole where that is asked for" {
	record_gpu --gpu-kinds kernels,graphs -- "$WORK" launch:10 graph:6
	"$SPROF" report --gpu --json g.data | jq -e '[.rows[] | select(.name | test("graph")).calls] == [6]'
	[ "$(records_of kernels)" -eq 10 ]
}

@test "with ranges alone CUPTI is left to others" {
	FAKE_LOG=$PWD/log record_gpu --gpu-kinds ranges -- "$WORK" launch:10
	[ ! -e log ] || { cat log; ! grep -q 'Subscribe\|Enable' log; }
	run "$SPROF" report --api g.data
	[ "$status" -eq 1 ] && grep -q 'not collected' <<<"$output"
}

@test "a list with a name that is no kind is refused" {
	for list in '' kernel kernels, ,kernels kernels,,copies -all all,-kernels,-copies,-fills,-waits,-memory,-ranges,-launches,-overhead,-flops; do
		run "$SPROF" record --gpu-kinds="$list" -- true
		[ "$status" -eq 2 ]
	done
}
