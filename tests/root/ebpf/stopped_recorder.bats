# A recorder of the whole machine that gets no CPU for seconds.
# bats file_tags=full, alone
bats_require_minimum_version 1.5.0
load ../kernel

setup() {
	needs_bpf
	cd "$BATS_TEST_TMPDIR"
}

# A recorder that gets no CPU still loses nothing: half of the ring is for samples, not for copies of stacks.
@test "with -a no sample is lost while the recorder gets no CPU for seconds" {
	"$TARGETS/serial_parallel" 20000 10 2 >/dev/null 3>&- &
	local busy=$!
	"$SPROF" record -q --source ebpf --latency -d 6s -F 999 -a -o data 3>&- &
	local recorder=$!
	while [ ! -e data ]; do sleep 0.05; done
	kill -STOP $recorder
	# New processes, whose stacks are copied because the recorder makes no tables of them.
	for _ in {1..40}; do "$TARGETS/serial_parallel" 50 10 2 >/dev/null; done
	kill -CONT $recorder
	wait $recorder
	kill $busy
	wait $busy || true
	"$SPROF" report --column latency --by parallelism data | head -4
	"$SPROF" info --json data | jq -e '.lost == 0 and .samples > 4000'
}
