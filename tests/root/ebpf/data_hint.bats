# --hints says whether a training loop waits for its data, and what the workers do meanwhile. The
# modules have the names and functions of PyTorch's DataLoader, and do what it does: processes
# that take indices from queues of their own and answer into a common one.
load ../kernel

setup() {
	needs_bpf
	command -v python3 >/dev/null || skip "there is no python3"
	cd "$BATS_TEST_TMPDIR"
	export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$BATS_TEST_DIRNAME/../../cases/lib/site-packages
	cat >train.py <<-'PYTHON'
		import sys, time, dataloader
		slow, quick, step, batches = [float(x) for x in sys.argv[1:5]]
		class Pictures:
		    def __init__(self, s): self.s = s
		    def __getitem__(self, i):
		        time.sleep(self.s)
		        return i
		def train_step(): time.sleep(step)
		def train():
		    for data in dataloader._MultiProcessingDataLoaderIter([Pictures(slow), Pictures(quick)], 2, int(batches)):
		        train_step()
		if __name__ == "__main__":
		    train()
	PYTHON
}

hints_of() { # ARGUMENTS of train.py
	"$SPROF" record -q --source ebpf --clock wall -o data -- python3 train.py "$@"
	"$SPROF" report --hints data | tee text
	"$SPROF" report --hints --json data >json
}

# bats test_tags=full
@test "a DataLoader that starves is told with its busiest worker, and where that loads" {
	hints_of 0.01 0.001 0.001 100
	jq -e '.rows[] | select(.code == "data-wait") | .percent > 60 and (.where | startswith("train ")) and
		.workers == 2 and .worker > 0 and .worker_percent > 80 and (.worker_where | startswith("Pictures.__getitem__ "))' json
	grep -E '2 workers: the busiest, process [0-9]+, loads for [0-9]+% of its time, [0-9]+% of it below Pictures.__getitem__ .*; the least busy, process [0-9]+, loads for [0-9.]+% of its time' text
	# The busiest worker is the slow one: the first that was started.
	local slow quick
	read -r slow quick < <(grep -oE 'process [0-9]+' text | grep -oE '[0-9]+' | paste -sd' ')
	[ "$slow" -lt "$quick" ]
}

# bats test_tags=full
@test "a DataLoader that is quick enough is no hint" {
	hints_of 0.001 0.001 0.02 60
	! grep -q data-wait json || false
}
