# Idle waits of threads that really wait. tests/cli/idle.bats has the stacks of other programs.
load ../kernel

setup() {
	needs_bpf
	cd "$BATS_TEST_TMPDIR"
}

# The waiting time of each thread, in ms, of the stacks that a report shows.
waiting_of() { # recording OPTIONS...
	"$SPROF" report --json --column waiting --by thread "${@:2}" "$1" |
		jq -r '.rows[] | "\(.function) \(.self_ns / 1e6 | floor)"'
}

@test "idle threads are folded away, and threads in a request are not" {
	"$SPROF" record -q --source ebpf --clock off -o data -- "$TARGETS/idle" 1000
	waiting_of data >busy
	waiting_of data --idle >all
	cat busy
	for thread in accepts loops pool; do
		! grep "^$thread" busy || false
		awk -v t="$thread" '$1 ~ "^" t { ms += $NF } END { exit ms < 800 || ms > 2000 }' all
	done
	for thread in handler calls contends; do
		awk -v t="$thread" '$1 ~ "^" t { ms += $NF } END { exit ms < 800 || ms > 2000 }' busy
	done
	"$SPROF" report --json --column waiting data |
		jq -e '.idle_threads == 3 and .idle > 2.4e9 and .idle < 6e9'
	"$SPROF" report --column waiting data | grep -E 'idle: [0-9.]+ s of 3 threads folded, --idle shows them'
}

# bats test_tags=full
@test "Python's pools are folded away, and a thread that waits for a result is not" {
	command -v python3 >/dev/null || skip "there is no python3"
	cat >pool.py <<-PYTHON
		import concurrent.futures, queue, threading, time
		results = queue.Queue()
		def give():
		    time.sleep(1); results.put(1)
		def wait_for_result():
		    return results.get()
		pool = concurrent.futures.ThreadPoolExecutor(2)
		list(pool.map(time.sleep, [0.05, 0.05]))
		threading.Thread(target=give).start()
		wait_for_result()
	PYTHON
	python=$(python3 -c 'import sys; print(sys.executable)')
	"$SPROF" record -q --source ebpf --clock off -o data -- "$python" pool.py
	"$SPROF" report --json --column waiting data >json
	# What remains of the pool is what its jobs did.
	jq -e '.rows[] | select(.function | test("^_worker ")) | .total_ns > 5e7 and .total_ns < 5e8' json
	jq -e '.rows[] | select(.function | test("^wait_for_result")) | .total_ns > 8e8' json
	jq -e '.idle_threads == 2 and .idle > 1.6e9' json
	"$SPROF" report --json --column waiting --idle data |
		jq -e '.rows[] | select(.function | test("^_worker ")) | .total_ns > 1.6e9'
}
