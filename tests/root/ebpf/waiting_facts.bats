# What threads wait for and who ends their waits: on top of the stacks of waits.
load ../kernel
load ../waits

setup() {
	needs_bpf
	cd "$BATS_TEST_TMPDIR"
}

teardown() {
	[ -z "${target-}" ] || kill "$target" 2>/dev/null || true
	[ -z "${mounted-}" ] || umount "$mounted" || true
	[ -z "${device-}" ] || losetup -d "$device" || true
	[ -z "${group-}" ] || { sleep 0.3; rmdir "$group"; } || true
}

# Prints how much of the time that a thread waited for a reason is below a pattern, in percent.
share_of() { # thread, reason, pattern: folded stacks are in the file `waiting`
	awk -v thread="$1" -v reason="$2" -v pattern="$3" '
		index($0, thread ";") == 1 && index($0, ";" reason "_[w]") { all += $NF; if ($0 ~ pattern) part += $NF }
		END { printf "%.1f\n", all ? 100 * part / all : 0 }' waiting
}

most() { # as share_of: at least nine tenths
	local share
	share=$(share_of "$@")
	echo "$1, $2: $share % have $3"
	awk -v share="$share" 'BEGIN { exit share < 90 }'
}

@test "who wakes a thread, and from where, is on top of its wait" {
	"$SPROF" record -q --source ebpf --clock off --wakers -o data -- "$TARGETS/waiting" 2000 >truth
	fold_waits data
	times_add_up
	[ "$(jq '.lost' info.json)" = 0 ]
	most reads_pipe "pipe wait" 'woken by writes_\[w\].*;anon_pipe_write_\[k\];.*;writes;run;'
	most reads_socket "socket wait" 'woken by writes_\[w\];.*unix_stream_sendmsg_\[k\];.*;writes;run;'
	most wants_lock "lock wait" 'lock lock \(waiting\)_\[w\];woken by holds_lock_\[w\];.*futex_wake_\[k\];.*;holds_lock;run;'
	# A timer wakes in an interrupt: what it interrupted is left out.
	most polls "poll wait" 'woken by an interrupt_\[w\];.*hrtimer_wakeup_\[k\];[^ ]*(apic_timer|hrtimer)_interrupt_\[k\]( |$)|hrtimer'
	! grep -E 'woken by an interrupt_\[w\].*;(run|start_thread|main)[; ]' waiting || false
	# The part of a wait for a CPU has no waker.
	! grep 'woken by' runnable || false
}

# bats test_tags=full
@test "what the waker itself had waited for follows, and who ended that" {
	"$SPROF" record -q --source ebpf --clock off --wakers -o data -- "$TARGETS/wait_chain" 50
	fold_waits data
	times_add_up
	[ "$(jq '.lost' info.json)" = 0 ]
	local timer='woken by an interrupt_\[w\];.*hrtimer_wakeup_\[k\]'
	local sleep="waited before_\[w\];([^ ]*;)?sleeps;[^ ]*;sleep_\[w\];$timer"
	local futex='waited before_\[w\];passes_on;syscall;[^ ]*;lock wait_\[w\];(lock [^;]*;)?woken by sleeps_\[w\];[^ ]*futex_wake_\[k\];[^ ]*;sleeps;run;'
	most sleeps sleep "sleep_\[w\];$timer"
	most passes_on "lock wait" "woken by sleeps_\[w\];.*futex_wake_\[k\];.*;sleeps;run;[^ ]*;$sleep"
	most reads "pipe wait" "pipe wait_\[w\];woken by passes_on_\[w\];anon_pipe_write_\[k\];.*;passes_on;run;[^ ]*;$futex[^ ]*;$sleep"
	# The wait is the reader's: it has the reader's reason and is no wait for a lock.
	"$SPROF" report --by reason --json --column waiting --thread reads data | jq -e '.rows[0].function == "pipe wait"'
	# A thread does not wait for what its waker had waited for before.
	"$SPROF" record -q --source ebpf --clock off --wakers -o data -- "$TARGETS/pingpong" 1000
	fold_waits data
	grep -q '^pingpong;.*pipe wait_\[w\];.*woken by pingpong_\[w\]' waiting
	! grep 'waited before' waiting || false
}

# bats test_tags=full
@test "a waker that is not recorded is named, and has frames of the kernel only" {
	mkfifo pipe
	python3 -c 'import os
fd = os.open("pipe", os.O_RDONLY)
while os.read(fd, 1): pass' &
	target=$!
	bash -c 'exec >pipe; for i in {1..400}; do printf x; sleep 0.005; done' 3>&- &
	local writer=$!
	sleep 0.5
	"$SPROF" record -q --source ebpf --clock off --wakers -o data -d 1s -p $target
	fold_waits data
	most python3 "pipe wait" 'pipe pipe_\[w\];woken by bash_\[w\];.*_\[k\] [0-9]+$'
	wait $writer
}

# bats test_tags=full
@test "wakers of Python threads have their Python frames" {
	cat >waits.py <<-PYTHON
		import queue, threading, time
		def take_from_queue(q):
		    while q.get():
		        pass
		def give(q):
		    q.put(1)
		q = queue.SimpleQueue()
		threading.Thread(target=take_from_queue, args=(q,)).start()
		end = time.time() + 2
		while time.time() < end:
		    time.sleep(0.004); give(q)
		q.put(None)
	PYTHON
	"$SPROF" record -q --source ebpf --clock off --wakers -o data -- python3 waits.py
	"$SPROF" fold --time --column waiting data | awk '
		/;take_from_queue \(waits.py:2\);/ { all += $NF }
		/;take_from_queue \(waits.py:2\);.*woken by python3_\[w\];.*;give \(waits.py:5\);<module> \(waits.py:1\)/ { woken += $NF }
		END { printf "%.1f ms of %.1f ms\n", woken / 1e6, all / 1e6; exit woken < 0.9 * all || all < 1.5e9 }'
}

# bats test_tags=full
@test "waits for sockets name the peer, and polls what they watch" {
	cat >peers.py <<-PYTHON
		import os, select, socket, threading, time, ctypes
		libc = ctypes.CDLL(None)
		def thread(name, function):
		    def run():
		        libc.prctl(15, name.encode(), 0, 0, 0)
		        function()
		    threading.Thread(target=run, daemon=True).start()
		server = socket.create_server(("127.0.0.1", 0)); port = server.getsockname()[1]
		client = socket.create_connection(("127.0.0.1", port)); other, _ = server.accept()
		six = socket.create_server(("::1", 0), family=socket.AF_INET6)
		local = socket.socket(socket.AF_UNIX); local.bind("service.sock"); local.listen()
		lclient = socket.socket(socket.AF_UNIX); lclient.connect("service.sock")
		epoll = select.epoll(); epoll.register(other, select.EPOLLIN)
		poll = select.poll(); poll.register(server, select.POLLIN); poll.register(os.pipe()[0], select.POLLIN)
		def accepts():
		    while True:
		        six.accept()
		thread("receives", lambda: client.recv(1))
		thread("accepts", accepts)
		thread("local", lambda: lclient.recv(1))
		def epolls():
		    while True: epoll.poll(0.02)
		def polls():
		    while True: poll.poll(20)
		thread("epolls", epolls); thread("polls", polls)
		print(port, other.getpeername()[1], six.getsockname()[1], flush=True)
		time.sleep(1.5)
		other.send(b"x")
		for i in range(20):
		    time.sleep(0.005); socket.create_connection(six.getsockname()[:2]).close()
		os._exit(0)
	PYTHON
	"$SPROF" record -q --source ebpf --clock off -o data -- python3 peers.py >ports
	read -r server client six <ports
	fold_waits data
	most receives "socket wait" "socket wait_[[]w[]];127.0.0.1:$server""_"
	most accepts "socket wait" "socket wait_[[]w[]];listens on port $six""_"
	most local "socket wait" 'socket wait_\[w\];unix service.sock_'
	most epolls "poll wait" "poll wait_[[]w[]];127.0.0.1:$client, and what else is in the epoll set_"
	most polls "poll wait" "poll wait_[[]w[]];listens on port $server, the first of 2_"
}

# bats test_tags=full
@test "a file that has the name of an epoll set is none" {
	mkfifo '[eventpoll]'
	"$SPROF" record -q --source ebpf --clock off -o data -- python3 -c '
import os, select, time
poll = select.poll()
poll.register(os.open("[eventpoll]", os.O_RDWR), select.POLLIN)
end = time.time() + 1
while time.time() < end: poll.poll(20)'
	fold_waits data
	most python3 "poll wait" 'poll wait_\[w\];pipe \[eventpoll\]_'
	! grep -q 'epoll set' waiting || false
}

# bats test_tags=full
@test "waits for a disk name the device and the file" {
	local disk
	disk=$(df --output=source . | tail -1)
	[ -b "$disk" ] || skip "the temporary directory is on no disk"
	cat >syncs.py <<-'PYTHON'
		import os, time
		fd = os.open("written.data", os.O_RDWR | os.O_CREAT)
		end = time.time() + 1.5
		while time.time() < end:
		    os.pwrite(fd, os.urandom(65536), 0)
		    os.fsync(fd)
	PYTHON
	"$SPROF" record -q --source ebpf --clock off -o data -- python3 syncs.py
	fold_waits data
	grep -q 'disk wait' waiting || skip "the disk answers without a wait"
	most python3 "disk wait" "disk wait_[[]w[]];$(basename "$(readlink -f "$disk")"): written.data_"
}

# A disk that makes so many reads a second, as its cgroup may: by version 1, whose limit counts reads
# that were asked for in the group.
slow_disk() { # MOUNT POINT, READS A SECOND
	group=/sys/fs/cgroup/blkio/sprof_disk_$$
	[ -e /sys/fs/cgroup/blkio/blkio.throttle.read_iops_device ] || skip "no cgroup of version 1 limits disks"
	truncate -s 64M disk.img
	mkfs.ext4 -q disk.img
	mkdir -p "$1" "$group"
	device=$(losetup -f --show disk.img) || skip "there is no loop device"
	mount "$device" "$1" || skip "cannot mount a loop device"
	mounted=$PWD/$1
	echo "$(lsblk -dno MAJ:MIN "$device" | tr -d ' ') $2" >"$group/blkio.throttle.read_iops_device"
}

# The waits of a Python function, by a pattern of what is above its frame, and of sleeps() are those of the file
# `truth`. A program's first samples have native frames until the recorder has found its interpreter, which
# takes it some 100 ms where it has to wait for a CPU.
waits_are_true() { # FUNCTION, PATTERN; folded stacks on stdin
	awk -v slow="$1" -v pattern="$2" '
		NR == FNR { exact[$1] = $2; next }
		$0 ~ ";" slow " [(].*" pattern { named += $NF }
		$0 ~ ";(" slow " [(]|_PyEval_EvalFrameDefault;).*" pattern { is[slow] += $NF }
		/;sleeps \(.*;sleep_/ { is["sleeps"] += $NF }
		END {
			for (n in exact) {
				printf "%s: %.3f s of %.3f s\n", n, is[n] / 1e9, exact[n] / 1e9
				failed = failed || is[n] < 0.98 * exact[n] || is[n] > 1.02 * exact[n]
			}
			printf "%.3f s of them with the function\n", named / 1e9
			exit failed || exact[slow] < 1.5e9 || named < 0.7 * exact[slow]
		}' truth -
}

# bats test_tags=full
@test "waits for a disk of known speed have their true times" {
	slow_disk slow 50
	dd if=/dev/urandom of=slow/data bs=1M count=16 status=none
	sync
	cat >reads.py <<-'PYTHON'
		import mmap, os, sys, time
		open(sys.argv[1] + "/cgroup.procs", "w").write(str(os.getpid()))
		fd = os.open("slow/data", os.O_RDONLY | os.O_DIRECT)
		page = mmap.mmap(-1, 4096)
		def reads_disk():
		    for i in range(100):
		        os.preadv(fd, [page], 4096 * (i * 37 % 4096))
		def sleeps():
		    time.sleep(1)
		def ready():
		    return sum(int(n) for n in open("/proc/thread-self/schedstat").read().split()[:2])
		for f in reads_disk, sleeps:
		    start, r = time.monotonic_ns(), ready()
		    f()
		    print(f.__name__, time.monotonic_ns() - start - (ready() - r))
	PYTHON
	"$SPROF" record -q --source ebpf --clock off -o data -- python3 reads.py "$group" >truth
	"$SPROF" fold --time --column waiting data | waits_are_true reads_disk 'preadv.*;disk wait_'
}

# bats test_tags=full
@test "page faults that read from a disk of known speed have their true times" {
	slow_disk slow 50
	dd if=/dev/urandom of=slow/data bs=1M count=16 status=none
	sync
	cat >faults.py <<-'PYTHON'
		import mmap, os, sys, time
		fd = os.open("slow/data", os.O_RDONLY)
		os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
		pages = mmap.mmap(fd, 0, prot=mmap.PROT_READ)
		pages.madvise(mmap.MADV_RANDOM) # each fault reads one page
		open(sys.argv[1] + "/cgroup.procs", "w").write(str(os.getpid()))
		def faults():
		    for i in range(100):
		        pages[4096 * (i * 37 % 4096)]
		def sleeps():
		    time.sleep(1)
		def ready():
		    return sum(int(n) for n in open("/proc/thread-self/schedstat").read().split()[:2])
		for f in faults, sleeps:
		    start, r = time.monotonic_ns(), ready()
		    f()
		    print(f.__name__, time.monotonic_ns() - start - (ready() - r))
	PYTHON
	"$SPROF" record -q --source ebpf --clock off -o data -- python3 faults.py "$group" >truth
	"$SPROF" fold --time --column waiting data | waits_are_true faults 'mmap_subscript;.*;page fault_'
	"$SPROF" report --by reason --json --column waiting data | jq -e 'any(.rows[]; .function == "page fault")'
	"$SPROF" flame --no-js --column waiting -o flame.svg data
	grep -q '<g class="w1"><title>page fault' flame.svg
}

# A thread is watched from its creation on, so the recording has the switches that the kernel counts away from it, and that
# to it for the first time. Then it goes on for a moment.
# bats test_tags=full
@test "no switch of a thread is missed" {
	cat >switches.py <<-'PYTHON'
		import os, threading, time
		def status():
		    lines = open("/proc/thread-self/status").read().split("\n")
		    return sum(int(l.split()[1]) for l in lines if "ctxt_switches" in l)
		def waits():
		    for i in range(1000):
		        time.sleep(0.001)
		        if i % 10 == 0:
		            os.sched_yield()
		    print(threading.get_native_id(), status())
		threads = [threading.Thread(target=waits) for _ in range(4)]
		for t in threads:
		    t.start()
		for t in threads:
		    t.join()
	PYTHON
	"$SPROF" record -q --source ebpf --clock off -o data -- python3 switches.py >truth
	"$SPROF" info --json data >info.json
	times_add_up
	jq -r '.thread_times[] | "\(.tid) \(.switches)"' info.json | awk '
		NR == FNR { kernel[$1] = $2; next }
		$1 in kernel {
			nr++
			printf "%s: %d switches, kernel %d before its end\n", $1, $2, kernel[$1]
			failed = failed || $2 < kernel[$1] + 1 || $2 > kernel[$1] + 21
		}
		END { exit failed || nr != 4 }' truth -
}

@test "locks have their places, their waits and their holders" {
	"$SPROF" record -q --source ebpf --clock off -o data -- "$TARGETS/locks" 2000 >truth
	"$SPROF" report --locks --json data >locks.json
	"$SPROF" report --locks data
	cat truth
	# The waits of each lock, with the margin of the samples; a thread that has the lock may wait for a CPU.
	local thread lock ns
	while read -r thread lock ns; do
		jq -e --arg t "$thread" --argjson ns "$ns" '
			[.rows[] | select(.thread | startswith($t + " (")) | select(.place | startswith("[anonymous]") | not)] |
			(map(.waiting_ns) | add) as $sum | (map(.margin_ns) | add) as $margin |
			$sum <= 1.03 * $ns + $margin + 5e6 and $sum >= 0.75 * $ns - $margin' locks.json
		jq -e --arg t "$thread" --arg holder "holds_$lock (" '
			[.rows[] | select(.thread | startswith($t + " (")) | select(.place | startswith("[anonymous]") | not)] |
			(map(.waiting_ns) | add) as $sum |
			(map(select((.holder | startswith($holder)) and .known_by == "the lock") | .waiting_ns) | add) >= 0.9 * $sum' locks.json
	done <truth
	# In the program's data, at the address of its symbol, and on the heap.
	local address
	address=$(nm "$TARGETS/locks" | awk '$3 == "global" { sub(/^0+/, "", $1); print $1 }')
	jq -e --arg place "global (locks+0x$address)" '[.rows[] | select(.thread | startswith("wants_global")) | .place] | unique == [$place]' locks.json
	"$SPROF" fold --column waiting data | grep -E '^wants_global;.*;lock wait_\[w\];lock global \(locks\)_\[w\] '
	jq -e 'any(.rows[]; (.thread | startswith("wants_heap")) and (.place | test("^[[]heap]\\+0x")))' locks.json
}

# A condition variable has no holder: the thread that signals it is known with --wakers.
# bats test_tags=full
@test "a lock without an owner is held by the thread that wakes" {
	cat >waits.py <<-PYTHON
		import threading, time
		lock = threading.Lock()
		def holds():
		    for i in range(100):
		        with lock: time.sleep(0.008)
		        time.sleep(0.004)
		def wants():
		    while thread.is_alive():
		        with lock: pass
		        time.sleep(0.001)
		thread = threading.Thread(target=holds); thread.start(); wants()
	PYTHON
	"$SPROF" record -q --source ebpf --clock off --wakers -o data -- python3 waits.py
	"$SPROF" report --locks data
	"$SPROF" report --locks --json data | jq -e '.rows | (map(.waiting_ns) | add) as $sum |
		(map(select(.known_by == "its waking") | .waiting_ns) | add) > 0.8 * $sum'
	# A lock of Python has no name: the code around it has.
	"$SPROF" report --locks --json data | jq -e '.rows[0] | (.wanted_in | startswith("wants ")) and (.released_in | startswith("holds "))'
	"$SPROF" report --locks data | grep -E 'released in holds \(waits.py:'
	"$SPROF" record -q --source ebpf --clock off -o data -- python3 waits.py
	"$SPROF" report --locks --json data | jq -e '.rows[0] | .known_by == "" and .holder == "not known"'
}

@test "a recording without waits has no locks" {
	"$SPROF" record -q --source ebpf -o data -- true
	run "$SPROF" report --locks data
	[ "$status" -eq 1 ]
	[[ $output == *"it holds no waits for locks"*"--clock wall"* ]]
}

# bats test_tags=full
@test "time in which the cgroup throttled a thread is told from preemption" {
	local folder
	for folder in /sys/fs/cgroup/cpu /sys/fs/cgroup; do
		[ -e $folder/cgroup.procs ] && mkdir "$folder/sprof_test_$$" 2>/dev/null && group=$folder/sprof_test_$$ && break
	done
	[ -n "${group-}" ] || skip "cannot make a cgroup"
	if [ -e "$group/cpu.cfs_quota_us" ]; then
		echo 5000 >"$group/cpu.cfs_quota_us"
	elif ! echo 5000 100000 >"$group/cpu.max"; then
		skip "the cgroup has no CPU controller"
	fi
	cat >burns.sh <<-SCRIPT
		echo \$\$ >$group/cgroup.procs
		exec python3 -c "import time
		end = time.time() + 2
		while time.time() < end: pass"
	SCRIPT
	"$SPROF" record -q --source ebpf --clock wall -o data -- bash burns.sh
	"$SPROF" info --json data >info.json
	times_add_up
	"$SPROF" fold --time --column runnable data >runnable
	# The kernel counts the time of the group, in ns (version 1) or us (version 2).
	awk 'NR == FNR { if ($1 == "throttled_time") kernel = $2; if ($1 == "throttled_usec") kernel = 1000 * $2; next }
		{ all += $NF } /throttled by its cgroup_\[w\]/ { throttled += $NF }
		END { printf "throttled %.1f ms of %.1f ms, kernel %.1f ms\n", throttled / 1e6, all / 1e6, kernel / 1e6
		      exit kernel < 5e8 || throttled < 0.9 * kernel || throttled > 1.3 * kernel + 1e8 }' "$group/cpu.stat" runnable
}

@test "--wakers goes with waits only" {
	run "$SPROF" record --wakers -- true
	[ "$status" -eq 2 ]
	[[ $output == *"--wakers needs --clock wall or off"* ]]
	run "$SPROF" record --source timer --clock wall --wakers -- true
	[ "$status" -eq 2 ]
	[[ $output == *"source timer does not see who wakes a thread, only ebpf does"* ]]
}
