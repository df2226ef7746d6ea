# --hints says whether a training loop waits for its data, and what the workers do meanwhile. The
# modules have the names and functions of PyTorch's DataLoader, and do what it does: processes
# that take indices from queues of their own and answer into a common one.
load ../kernel

setup() {
	needs_bpf
	command -v python3 >/dev/null || skip "there is no python3"
	cd "$BATS_TEST_TMPDIR"
	mkdir -p lib/site-packages
	export PYTHONPATH=$PWD/lib/site-packages
	cat >"$PYTHONPATH/fetch.py" <<-'PYTHON'
		class _MapDatasetFetcher:
		    def __init__(self, dataset):
		        self.dataset = dataset
		    def fetch(self, batch):
		        return [self.dataset[i] for i in batch]
	PYTHON
	cat >"$PYTHONPATH/worker.py" <<-'PYTHON'
		import fetch, queue
		def _worker_loop(dataset, index_queue, data_queue):
		    fetcher = fetch._MapDatasetFetcher(dataset)
		    while True:
		        try:
		            r = index_queue.get(timeout=5)
		        except queue.Empty:
		            continue
		        if r is None:
		            return
		        n, batch = r
		        data_queue.put((n, fetcher.fetch(batch)))
	PYTHON
	cat >"$PYTHONPATH/dataloader.py" <<-'PYTHON'
		import multiprocessing as mp, worker
		class _MultiProcessingDataLoaderIter:
		    def __init__(self, dataset, workers, batches):
		        self.data_queue, self.sent, self.got, self.kept = mp.Queue(), 0, 0, {}
		        self.batches, self.queues, self.processes = batches, [], []
		        for i in range(workers):
		            q = mp.Queue()
		            p = mp.Process(target=worker._worker_loop, args=(dataset[i], q, self.data_queue))
		            p.daemon = True
		            p.start()
		            self.queues.append(q)
		            self.processes.append(p)
		        for i in range(2 * workers):
		            self._try_put_index()
		    def _try_put_index(self):
		        if self.sent < self.batches:
		            self.queues[self.sent % len(self.queues)].put((self.sent, range(4)))
		            self.sent += 1
		    def _try_get_data(self):
		        return self.data_queue.get(timeout=5)
		    def _get_data(self):
		        while self.got not in self.kept:
		            n, data = self._try_get_data()
		            self.kept[n] = data
		        return self.kept.pop(self.got)
		    def __iter__(self):
		        while self.got < self.batches:
		            data = self._get_data()
		            self.got += 1
		            self._try_put_index()
		            yield data
		        for q in self.queues:
		            q.put(None)
		        for p in self.processes:
		            p.join()
	PYTHON
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
