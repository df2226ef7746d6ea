# One thread of a program is stopped, makes system calls for us, and continues undisturbed.
bats_require_minimum_version 1.5.0
load ../attach

# bats test_tags=stress,full
@test "every kind of waiting goes on: no EINTR, nothing too early, no byte lost" {
	target "$TARGETS/blocked" 60000
	drive inject "$target" $((100 * times))
	nothing_stays
	ends_well
}

# bats test_tags=full, stress
@test "a program with one thread, in each kind of waiting" {
	local kind
	for kind in nanosleep clock_nanosleep clock_nanosleep_abs poll ppoll ppoll_mask select pselect futex cond \
		epoll sigtimedwait recv semtimedop wait4 read poll_pipe epoll_pipe; do
		target "$TARGETS/blocked" 60000 $kind
		drive inject "$target" $((20 * times)) >/dev/null 3>&-
		ends_well
	done
}

# bats test_tags=stress, full
@test "registers of a program that computes are as they were" {
	target "$TARGETS/registers" 60000
	drive inject "$target" $((100 * times))
	nothing_stays
	ends_well
}

# bats test_tags=full, stress
@test "a static program" {
	target "$TARGETS/blocked_static" 60000
	drive inject "$target" $((50 * times))
	nothing_stays
	ends_well
}

# bats test_tags=full, stress
@test "a program of another libc (musl)" {
	command -v musl-gcc >/dev/null || skip "needs musl-gcc (apt-get install musl-tools)"
	musl-gcc -static -O2 -D_GNU_SOURCE -I. -o "$BATS_TEST_TMPDIR/musl" tests/targets/blocked.c
	target "$BATS_TEST_TMPDIR/musl" 60000
	drive inject "$target" $((50 * times))
	nothing_stays
	ends_well
}

# bats test_tags=full, stress
@test "a Go program" {
	command -v go >/dev/null || skip "needs go (apt-get install golang-go)"
	cp tests/targets/goroutines.go "$BATS_TEST_TMPDIR/main.go"
	(cd "$BATS_TEST_TMPDIR" && GO111MODULE=off GOCACHE=$BATS_TEST_TMPDIR/cache go build -o go main.go)
	target "$BATS_TEST_TMPDIR/go" 60000
	drive inject "$target" $((50 * times))
	nothing_stays
	ends_well
}

# bats test_tags=full, stress
@test "python3 and node" {
	target python3 -c 'import os, time
open(os.environ["READY_FILE"], "w").close()
end = time.time() + 60
while time.time() < end and not os.path.exists(os.environ["END_FILE"]): sum(i * i for i in range(10000))'
	drive inject "$target" $((50 * times))
	nothing_stays
	ends_well
	target node -e 'const end = Date.now() + 60000, fs = require("fs"); function f() { let n = 0; for (let i = 0; i < 1e5; i++) n += i;
		if (Date.now() < end && !fs.existsSync(process.env.END_FILE)) setImmediate(f) } fs.writeFileSync(process.env.READY_FILE, ""); f()'
	drive inject "$target" $((50 * times))
	nothing_stays
	ends_well
}

# bats test_tags=full, stress
@test "a program in another mount and pid namespace" {
	needs_unshare --mount --pid --fork
	unshare --mount --pid --fork "$TARGETS/blocked" 60000 >"$BATS_TEST_TMPDIR/said" 2>&1 3>&- &
	pids+=($!)
	local outer=$!
	sleep 0.3
	target=$(pgrep -P $outer)
	before=$(footprint)
	drive inject "$target" $((50 * times))
	nothing_stays
	: >"$END_FILE"
	wait $outer
}

@test "a program that is stopped stays so, and goes on when it is told to" {
	target "$TARGETS/registers" 60000
	kill -STOP "$target"
	sleep 0.1
	drive inject "$target" 20
	grep -q 'State:.T' /proc/"$target"/status
	kill -CONT "$target"
	ends_well
}

# bats test_tags=full, stress
@test "stop signals that come in the middle are kept" {
	target "$TARGETS/registers" 60000
	(for _ in $(seq 40); do kill -STOP "$target"; sleep 0.01; kill -CONT "$target"; sleep 0.02; done) 3>&- &
	local killer=$!
	drive inject "$target" $((60 * times))
	wait $killer
	kill -STOP "$target"
	sleep 0.1
	grep -q 'State:.T' /proc/"$target"/status
	kill -CONT "$target"
	ends_well
}

# bats test_tags=full, stress
@test "the recorder may be killed at any moment" {
	target "$TARGETS/registers" 60000
	local n driver
	for n in $(seq $((30 * times))); do
		"$DRIVERS/inject" "$target" 100000 >/dev/null 2>&1 3>&- &
		driver=$!
		sleep 0.0$((RANDOM % 90 + 10))
		kill -9 $driver
		wait $driver 2>/dev/null || true
		kill -0 "$target"
		[ -z "${STRESS-}" ] || [ $n -lt 80 ] || break
	done
	drive inject "$target" 3
	nothing_stays
	ends_well
}

@test "refused: a kernel thread, a zombie, nobody, sprof itself" {
	target=2
	[ "$(cat /proc/2/comm 2>/dev/null)" != kthreadd ] || refused "it is a thread of the kernel" # in a container it is another
	sh -c 'sleep 0.1 & echo $! >"$0"; exec sleep 60' "$BATS_TEST_TMPDIR/zombie" 3>&- &
	pids+=($!)
	sleep 0.3
	target=$(cat "$BATS_TEST_TMPDIR/zombie")
	refused "it is a zombie"
	target=4194300
	refused "No such process"
}

@test "refused: somebody else traces it" {
	target sleep 60
	gdb -q -p "$target" -batch -ex 'shell sleep 3' >/dev/null 2>&1 3>&- &
	pids+=($!)
	for _ in $(seq 50); do
		grep -q '^TracerPid:.*[1-9]' /proc/"$target"/status && break
		sleep 0.1
	done
	refused "process"
	[[ $output == *"(gdb) traces it already"* ]]
}

@test "refused: a seccomp filter" {
	needs_no_filter
	target "$TARGETS/seccomped" trace 60
	[ "$(id -u)" = 0 ] || refused "it has 1 seccomp filters, sprof 0"
	[ "$(id -u)" != 0 ] || refused "its seccomp filter has another process decide over munmap(2)"
}

@test "refused: another user's" {
	needs_root "be somebody else"
	target sleep 60
	cp "$DRIVERS/inject" "$BATS_TEST_TMPDIR/inject"
	chmod 755 "$BATS_TEST_TMPDIR" "$BATS_RUN_TMPDIR"
	DRIVERS=$BATS_TEST_TMPDIR
	run setpriv --reuid=65534 --regid=65534 --clear-groups "$DRIVERS/inject" "$target" 1
	[ "$status" -eq 2 ] || skip "nobody cannot reach $BATS_TEST_TMPDIR"
	[ "${lines[0]}" = "refused: it belongs to user 0" ]
	[[ ${lines[1]} == "hint: "*sudo* ]]
}
