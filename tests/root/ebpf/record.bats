# sprof record: what it samples, and what it reports when a limit is hit.
bats_require_minimum_version 1.5.0
load ../recorder

# bats test_tags=full
@test "three processes named with -p are all there" {
	start "$(named one shares)" 60000
	start "$(named two shares)" 60000
	start "$(named three shares)" 60000
	sleep 0.3
	"$SPROF" record -q -o "$data" -F 499 -d 1500ms -p "${pids[0]},${pids[1]}" -p "${pids[2]}"
	fold
	for name in one two three; do
		[ "$(samples "^$name;.*;main;part_")" -gt 10 ]
	done
}

@test "a recording says in words what was sampled" {
	start "$(named one shares)" 60000
	start "$(named two shares)" 60000
	sleep 0.1
	"$SPROF" record -q -o "$data" -d 100ms -p "${pids[0]}" -p "${pids[1]}"
	local command
	command=$("$SPROF" info --json "$data" | jq -r .command)
	[[ $command == *"/one 60000 (pid ${pids[0]}), "*"/two 60000 (pid ${pids[1]})" ]]
	"$SPROF" record -q -o "$data" -a -d 100ms
	[ "$("$SPROF" report "$data" 2>/dev/null | head -1)" = "the whole system" ]
}

# bats test_tags=full
@test "the same process named twice is sampled once" {
	work shares 60000
	"$SPROF" record -q -o "$data" -F 499 -d 1s -p "${pids[0]},${pids[0]}"
	fold
	[ "$(samples '^shares;')" -gt 50 ]
	[ "$(samples '^shares;')" -lt 600 ]
}

# bats test_tags=full
@test "a thread's number stands for its process" {
	work threads8 60000
	tid=$(ls "/proc/${pids[0]}/task" | tail -1)
	[ "$tid" != "${pids[0]}" ]
	run --separate-stderr "$SPROF" record -o "$data" -F 499 -d 1s -p "$tid"
	[ "$status" -eq 0 ]
	[[ $stderr == *"$tid is a thread of process ${pids[0]}"* ]]
	fold
	[ "$(samples '^worker-8;.*work_8')" -gt 5 ]
	[ "$(samples '^worker-7;.*work_7')" -gt 5 ]
}

# bats test_tags=full
@test "a process whose first thread has ended is sampled" {
	work leaderless 60000
	"$SPROF" record -q -o "$data" -F 499 -d 1s -p "${pids[0]}"
	fold
	[ "$(samples '^leaderless;.*;heir;leaf')" -gt 50 ]
}

@test "children and libraries that come later are sampled" {
	work later 60000
	record -F 499 -p "${pids[0]}"
	wait_until pgrep -P "${pids[0]}" -x child
	sleep 1
	kill -INT $recorder
	wait $recorder
	fold
	[ "$(samples '^later;.*;main;parent')" -gt 5 ]
	[ "$(samples '^child;.*;main;plugin')" -gt 20 ]
}

# bats test_tags=full
@test "a program that is started is sampled from its exec on, and sprof before that is not" {
	starts_without_sprof --source ebpf
}

# bats test_tags=full
@test "a thread that changes its name has a share under each" {
	work renames 60000
	"$SPROF" record -q -o "$data" -F 499 -d 1500ms -p "${pids[0]}"
	fold
	[ "$(samples '^first;.*;main;leaf')" -gt 20 ]
	[ "$(samples '^second;.*;main;leaf')" -gt 20 ]
	[ "$(samples '^renames;')" -eq 0 ]
}

@test "a child that lives 20 ms is in the profile with its name" {
	"$SPROF" record -q -o "$data" -F 999 -- "$TARGETS/forkstorm" 4 20 >/dev/null
	fold
	[ "$(samples '^fork-2;.*child_work')" -gt 5 ]
	[ "$(samples '^exec-3;.*child_work')" -gt 5 ]
}

# bats test_tags=full
@test "the whole machine: every process, kernel threads, and no idle" {
	start "$(named busy_one shares)" 60000
	start dd if=/dev/zero of="$BATS_TEST_TMPDIR/zeros" bs=64k count=2000000
	"$SPROF" record -q -o "$data" -F 997 -d 2s -a
	fold
	[ "$(samples '^busy_one;.*;main;part_50')" -gt 50 ]
	[ "$(samples '^dd;.*_\\[k\\] ')" -gt 10 ]
	[ "$(samples '^(swapper|idle)')" -eq 0 ]
	# Kernel threads have kernel frames only.
	[ "$(grep -E '^(kworker|ksoftirqd|rcu_)' "$folded" | grep -cvE '^[^;]*(;[^;]*_\[k\])+ [0-9]+$')" = 0 ]
	local cpus
	cpus=$(nproc)
	awk -v most="$((2200 * cpus))" '{ n += $NF } END { exit !(n <= most) }' "$folded"
}

@test "a kernel thread can be named with -p" {
	local pid
	pid=$(pgrep -x kthreadd)
	run --separate-stderr "$SPROF" record -o "$data" -F 99 -d 300ms -p "$pid"
	[ "$status" -eq 0 ]
	[ "$(told .finished)" = true ]
}

# bats test_tags=full
@test "the recorder can be its own target" {
	run timeout 60 bash -c 'exec "$SPROF" record -q -o "$0" -F 99 -d 1s -p $$' "$data"
	[ "$status" -eq 0 ]
	[ "$(told .finished)" = true ]
}

@test "a target that has ended is called what it is" {
	(sleep 0.1 3>&- & exec sleep 60 3>&-) &
	pids+=($!)
	local zombie=
	while [ -z "$zombie" ]; do zombie=$(pgrep -P "${pids[-1]}" -r Z || true); done
	for source in ebpf perf timer; do
		run "$SPROF" record -o "$data" -d 300ms -s $source -p "$zombie"
		[ "$status" -eq 1 ]
		[[ $output == *"process $zombie: it is a zombie"* ]]
	done
}

# bats test_tags=full
@test "a stopped target gives no sample, and samples once it goes on" {
	work shares 60000
	kill -STOP "${pids[0]}"
	run --separate-stderr timeout 60 "$SPROF" record -o "$data" -F 499 -d 500ms -p "${pids[0]}"
	[ "$status" -eq 0 ]
	[[ $stderr == *"no samples: process ${pids[0]} is stopped (kill -CONT ${pids[0]} lets it go on)"* ]]
	record -F 499 -d 1500ms -p "${pids[0]}"
	kill -CONT "${pids[0]}"
	wait $recorder
	fold
	[ "$(samples '^shares;.*;main;part_50')" -gt 20 ]
}

@test "a program executed from memory has its names" {
	start python3 -c '
import os, sys
fd = os.memfd_create("program", 0)
os.write(fd, open(sys.argv[1], "rb").read())
os.execve(fd, ["program", "60000"], os.environ)' "$TARGETS/shares"
	wait_until grep 'memfd:program' "/proc/${pids[0]}/maps"
	"$SPROF" record -q -o "$data" -F 499 -d 1s -p "${pids[0]}"
	fold
	[ "$(samples ';.*;main;part_50')" -gt 20 ]
}

# bats test_tags=full
@test "a program that is replaced while it is sampled keeps its names" {
	cp "$TARGETS/shares" "$BATS_TEST_TMPDIR/program"
	start "$BATS_TEST_TMPDIR/program" 60000
	sleep 0.2
	record -F 499 -d 1500ms -p "${pids[0]}"
	cp "$TARGETS/leaf" "$BATS_TEST_TMPDIR/new"
	mv "$BATS_TEST_TMPDIR/new" "$BATS_TEST_TMPDIR/program"
	wait $recorder
	fold
	[ "$(samples '^program;.*;main;part_50')" -gt 50 ]
}

# bats test_tags=full
@test "a program overwritten in place between two runs has the names of both" {
	cp "$TARGETS/shares" "$BATS_TEST_TMPDIR/program"
	"$SPROF" record -q -o "$data" -F 499 -- bash -c '
		"$0/program" 500 >/dev/null
		cat "$1/deep32_nofp" >"$0/program" # the same inode
		"$0/program" 800 >/dev/null' "$BATS_TEST_TMPDIR" "$TARGETS"
	fold
	[ "$(samples '^program;.*main;.*leaf_')" -gt 100 ]
	# The old content of the file is gone: an unnamed frame is better than a wrong name.
	[ "$(samples '^program;.*(leaf_|f[0-9]).*part_')" -eq 0 ]
	[ "$(samples '^program;.*(no unwind rule|bad stack|cannot be read)')" -le 5 ]
}

# bats test_tags=full
@test "a file that is deleted, on tmpfs, or on an overlay has its names" {
	local dir=$BATS_TEST_TMPDIR/overlay
	mkdir -p "$dir"/{lower,upper,work,merged}
	cp "$TARGETS/shares" "$dir/lower/layered"
	mount -t tmpfs tmpfs "$dir/upper" || skip "cannot mount a tmpfs"
	mkdir "$dir/upper"/{upper,work}
	mount -t overlay overlay -o "lowerdir=$dir/lower,upperdir=$dir/upper/upper,workdir=$dir/upper/work" \
		"$dir/merged" || { umount "$dir/upper"; skip "cannot mount an overlay"; }
	cp "$TARGETS/shares" "$dir/upper/temporary"
	start "$dir/merged/layered" 60000
	start "$dir/upper/temporary" 60000
	sleep 0.3
	rm "$dir/upper/temporary"
	"$SPROF" record -q -o "$data" -F 1999 -d 1500ms -p "${pids[0]},${pids[1]}"
	kill -9 "${pids[@]}"
	wait "${pids[@]}" || true
	# The kernel closes the files of what has ended a moment later.
	wait_until umount "$dir/merged"
	wait_until umount "$dir/upper"
	fold
	[ "$(samples '^layered;.*;main;part_50')" -gt 20 ]
	[ "$(samples '^temporary;.*;main;part_50')" -gt 20 ]
}

# bats test_tags=full
@test "a target in namespaces of its own has its names" {
	local root=$BATS_TEST_TMPDIR/root
	mkdir "$root"
	needs_unshare --pid --mount --fork
	start unshare --pid --mount --fork bash -c '
		mount -t tmpfs tmpfs "$0" && cp "$1" "$0/hidden" && "$0/hidden" 60000 & wait' "$root" "$TARGETS/shares_static"
	wait_until pgrep -x hidden
	[ ! -e "$root/hidden" ]
	local pid
	pid=$(pgrep -x hidden)
	pids+=("$pid")
	"$SPROF" record -q -o "$data" -F 499 -d 2s -p "$pid"
	fold
	[ "$(samples '^hidden;.*main;part_50')" -gt 20 ]
}

# bats test_tags=full
@test "JIT code in a pid namespace is named by the map it wrote there" {
	needs_unshare --pid --mount --fork
	start unshare --pid --mount --fork bash -c '
		exec 3<"$0" && mount -t tmpfs tmpfs /tmp && /proc/self/fd/3 60000 & wait' "$TARGETS/jit"
	wait_until pgrep -f '^/proc/self/fd/3 60000'
	sleep 0.3
	local pid
	pid=$(pgrep -f '^/proc/self/fd/3 60000')
	pids+=("$pid")
	"$SPROF" record -q -o "$data" -F 499 -d 1s -p "$pid"
	fold
	[ "$(samples 'jit_inner')" -gt 50 ]
}

# bats test_tags=full
@test "JavaScript is named by the dump that node wrote, while node runs and afterwards" {
	cat >"$BATS_TEST_TMPDIR/fib.js" <<-'END'
		function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
		const end = Date.now() + Number(process.argv[2]);
		while (Date.now() < end)
			fib(20);
	END
	cd "$BATS_TEST_TMPDIR"
	"$SPROF" record -q -o "$data" -F 499 -- node --perf-prof --no-logfile-per-isolate fib.js 1500
	fold
	[ "$(samples '(JS|LazyCompile):\*fib ')" -gt 50 ]
	start node --perf-prof --no-logfile-per-isolate fib.js 60000
	sleep 1
	cd /
	"$SPROF" record -q -o "$data" -F 499 -d 1s -p "${pids[0]}"
	fold
	[ "$(samples '(JS|LazyCompile):\*fib ')" -gt 50 ]
}

@test "more mappings than fit are counted and said" {
	work many_maps 10000 60000
	run --separate-stderr "$SPROF" record -o "$data" -F 499 -d 1s -p "${pids[0]}"
	[ "$status" -eq 0 ]
	[ "$(grep -c "warning: process ${pids[0]} has more than 8192 executable mappings" <<<"$stderr")" = 1 ]
	[ "$(told .limits_hit)" -gt 0 ]
	[[ $(told '.limits[] | select(.limit == 9).text') == "process ${pids[0]} has more than 8192 "* ]]
	"$SPROF" info "$data" | grep -Eq "^ +[0-9]+  process ${pids[0]} has more than 8192 executable mappings"
	fold
	# The program and its libraries come before mappings without a file.
	[ "$(samples '^many_maps;.*main;leaf')" -gt 50 ]
}

@test "more files than may be open are counted and said" {
	mkdir "$BATS_TEST_TMPDIR/many"
	for i in $(seq 60); do cp "$TARGETS/exits_at_once" "$BATS_TEST_TMPDIR/many/$i"; done
	run --separate-stderr bash -c 'ulimit -n 84; exec "$@"' - "$SPROF" record -o "$data" -F 499 -- \
		bash -c 'for program in "$0"/*; do "$program"; done; exit 0' "$BATS_TEST_TMPDIR/many"
	[ "$status" -eq 0 ]
	[[ $stderr == *"warning: too many open files: "* ]]
	[ "$(told .limits_hit)" -gt 0 ]
}

# The full ring cannot report the exec; the recorder finds it within a second after it notices the
# loss.
# bats test_tags=full
@test "a program that starts while the ring is full has its names" {
	local late recorder
	late=$(named later_program shares)
	"$SPROF" record -q -o "$data" -F 19997 -- bash -c '
		"$0/unique" 7000 & first=$!
		"$0/unique" 7000 & second=$!
		sleep 5.5
		"$1" 2000 &
		wait $first $second $!' "$TARGETS" "$late" >/dev/null 3>&- &
	recorder=$!
	pids+=($recorder)
	sleep 1
	kill -STOP $recorder
	sleep 5
	kill -CONT $recorder
	wait $recorder
	fold
	[ "$(told .lost)" -gt 0 ]
	local all there
	all=$(samples '^later_program;')
	there=$(samples '^later_program;.*main;part_')
	echo "$there of $all samples are named"
	[ "$all" -gt 1000 ]
	[ $((100 * there)) -ge $((75 * all)) ]
}

# bats test_tags=full
@test "throttling by the kernel is counted" {
	local rate
	rate=$(cat /proc/sys/kernel/perf_event_max_sample_rate)
	echo 8000 >/proc/sys/kernel/perf_event_max_sample_rate || skip "cannot set perf_event_max_sample_rate"
	"$SPROF" record -q -o "$data" -e cpu-clock -F 19997 -- "$TARGETS/shares" 500 >/dev/null || true
	echo "$rate" >/proc/sys/kernel/perf_event_max_sample_rate
	[ "$(told .throttled)" -gt 0 ]
}
