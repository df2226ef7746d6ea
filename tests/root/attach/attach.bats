# The payload is put into running programs, samples them and is removed: the programs are
# undisturbed, and nothing stays behind.
bats_require_minimum_version 1.5.0
load ../attach

# Attaches again and again to a storm, which notices when something is wrong, then ends it.
# FREQUENCY FEW KIND
survives() {
	target "$TARGETS/storm" "$3" $life
	drive attach "$target" "$(often "$2" 10000)" 20 "$1"
	nothing_stays
	kill -TERM "$target"
	ends_well
}

# The same for a program that ends when END_FILE appears. FREQUENCY COMMAND...
goes_on() {
	target "${@:2}"
	drive attach "$target" "$(often 20 1000)" 20 "$1"
	nothing_stays
	ends_well
}

# bats test_tags=stress, full
@test "storms: malloc" {
	survives 1000 25 malloc
}

# bats test_tags=full, stress
@test "storms: dlopen and dlclose" {
	survives 1000 25 dlopen
}

# bats test_tags=stress,full
@test "storms: fork, vfork and exec of children" {
	survives 1000 25 fork
}

# bats test_tags=full, stress
@test "storms: threads" {
	survives 1000 40 thread
}

# bats test_tags=full, stress
@test "storms: page faults where handlers begin" {
	survives 1000 10 fault
}

# bats test_tags=full, stress
@test "storms: thread storage" {
	survives 1000 25 storage
}

# bats test_tags=stress
@test "storms: the program's own signals" {
	survives 1000 25 signal
}

# bats test_tags=full, stress
@test "storms: exec of itself" {
	target "$TARGETS/storm" exec $life
	run timeout -k 30 "$(often 110 "${STRESS_SECONDS:-36000}")" "$DRIVERS/attach" "$target" "$(often 40 10000)" 20 1000
	echo "$output"
	[ -z "${STRESS-}" ] || grep -E ' us |^cycles|^handlers' <<<"$output" | sed "s/^/# $BATS_TEST_DESCRIPTION: /" >&3
	[ "$status" -ne 2 ] || [[ $output == *"another program"* ]]
	kill -TERM "$target"
	ends_well
}

# bats test_tags=full, stress
@test "every kind of waiting, with handlers at a high rate" {
	goes_on 1000 "$TARGETS/blocked" $life
}

# bats test_tags=stress
@test "registers of threads that compute" {
	goes_on 5000 "$TARGETS/registers" $life
	grep -q '^handlers [1-9][0-9]' "$BATS_TEST_TMPDIR/figures"
}

# The target works and sleeps in turns of 10 ms, so half of the attaches find it asleep. It uses 100
# ms of CPU time in each; on a busy machine it gets less, and uses some of that before it is
# sampled.
# bats test_tags=full
@test "a program that was asleep when it was attached to is sampled at once" {
	local data=$BATS_TEST_TMPDIR/data n nr before used
	used_ms() { awk '{ printf "%d", $1 / 1e6 }' "/proc/$target/schedstat"; }
	target "$TARGETS/seccomped" none 60
	for n in 1 2 3 4 5 6 7 8; do
		before=$(used_ms)
		"$SPROF" record -q -o "$data" --source timer -F 999 -d 200ms -p "$target"
		used=$(($(used_ms) - before))
		nr=$("$SPROF" info --json "$data" | jq .samples)
		echo "$nr samples of $used ms"
		[ "$nr" -ge $((used < 50 ? 0 : used < 90 ? 1 : 4)) ]
	done
	ends_well
}

# bats test_tags=full, stress
@test "wall time: handlers in threads that sleep" {
	target "$TARGETS/registers" $life
	drive attach "$target" "$(often 20 1000)" 20 2000 wall
	grep -q '^handlers [1-9][0-9][0-9]' "$BATS_TEST_TMPDIR/figures"
	nothing_stays
	ends_well
}

# bats test_tags=full, stress
@test "a static program" {
	goes_on 250 "$TARGETS/blocked_static" $life
}

# bats test_tags=full, stress
@test "a musl program" {
	command -v musl-gcc >/dev/null || skip "needs musl-gcc (apt-get install musl-tools)"
	musl-gcc -static -O2 -D_GNU_SOURCE -I. -o "$BATS_TEST_TMPDIR/musl" tests/targets/blocked.c
	goes_on 250 "$BATS_TEST_TMPDIR/musl" $life
}

# bats test_tags=full, stress
@test "a Go program" {
	command -v go >/dev/null || skip "needs go (apt-get install golang-go)"
	cp tests/targets/goroutines.go "$BATS_TEST_TMPDIR/main.go"
	(cd "$BATS_TEST_TMPDIR" && GO111MODULE=off GOCACHE=$BATS_TEST_TMPDIR/cache go build -o go main.go)
	goes_on 1000 "$BATS_TEST_TMPDIR/go" $life
}

# bats test_tags=full, stress
@test "python3" {
	goes_on 1000 python3 -c 'import os, sys, time
open(os.environ["READY_FILE"], "w").close()
end = time.time() + int(sys.argv[1]) / 1000
while time.time() < end and not os.path.exists(os.environ["END_FILE"]): sum(i * i for i in range(10000))' $life
}

# bats test_tags=full, stress
@test "node" {
	command -v node >/dev/null || skip "needs node (apt-get install nodejs)"
	goes_on 1000 node -e 'const end = Date.now() + Number(process.argv[1]), fs = require("fs");
		function f() { let n = 0; for (let i = 0; i < 1e5; i++) n += i;
		if (Date.now() < end && !fs.existsSync(process.env.END_FILE)) setImmediate(f) } fs.writeFileSync(process.env.READY_FILE, ""); f()' $life
}

# Sends requests as long as the driver attaches: every request is answered, and there are many.
# bats test_tags=full, stress
@test "redis-server answers every request" {
	command -v redis-benchmark >/dev/null || skip "needs redis-tools"
	local socket=$BATS_TEST_TMPDIR/redis asked rounds
	target redis-server --port 0 --unixsocket "$socket" --save '' --daemonize no
	while [ ! -e "$END_FILE" ]; do
		redis-benchmark -s "$socket" -n 20000 -c 10 -r 1000 -t set,get -q || echo "error: it ended with $?"
	done >"$BATS_TEST_TMPDIR/asked" 2>&1 3>&- &
	asked=$!
	pids+=($asked)
	sleep 0.2
	before=$(footprint | grep -v socket)
	drive attach "$target" "$(often 20 1000)" 20 1000
	: >"$END_FILE"
	wait $asked
	! grep -i error "$BATS_TEST_TMPDIR/asked" || false
	rounds=$(grep -o '[SG]ET: [0-9.]* requests per second' "$BATS_TEST_TMPDIR/asked" | wc -l)
	[ "$rounds" -ge 2 ] && [ $((rounds % 2)) = 0 ]
	[ "$(redis-cli -s "$socket" ping)" = PONG ]
	[ "$(footprint | grep -v socket)" = "$before" ]
	[ -z "${STRESS-}" ] || echo "# $BATS_TEST_DESCRIPTION: $((rounds * 20000)) requests answered" >&3
}

# bats test_tags=full, stress
@test "a recorder that is killed: what it left turns itself off, and the next one takes it out" {
	target "$TARGETS/registers" $life
	local n driver
	for n in $(seq $((12 * times))); do
		"$DRIVERS/attach" "$target" 100000 20 1000 >/dev/null 2>&1 3>&- &
		driver=$!
		sleep 0.$((RANDOM % 10))$((RANDOM % 10))
		kill -9 $driver
		wait $driver 2>/dev/null || true
		kill -0 "$target"
		[ $n -lt 200 ] || break
	done
	sleep 2.2
	[ -z "$(cat /proc/"$target"/timers)" ] || sleep 1
	drive attach "$target" 2
	nothing_stays
	ends_well
}

# bats test_tags=full
@test "what a try that came too late left in the memory does no harm to the next" {
	target "$TARGETS/registers" 60000
	drive attach "$target" 5 20 1000 again
	nothing_stays
	ends_well
}

# bats test_tags=full
@test "two recorders: the second is refused, the first is not disturbed" {
	target "$TARGETS/registers" 60000
	"$DRIVERS/attach" "$target" 1 2500 >"$BATS_TEST_TMPDIR/first" 2>&1 3>&- &
	local first=$!
	sleep 1
	run "$DRIVERS/attach" "$target" 1
	echo "$output"
	[ "$status" = 2 ]
	[ "${lines[0]}" = "refused: another sprof samples it" ]
	wait $first
	cat "$BATS_TEST_TMPDIR/first"
	grep -q 'cycles 1 ok 1' "$BATS_TEST_TMPDIR/first"
	nothing_stays
	ends_well
}

# bats test_tags=full
@test "sprof record -p, by timers: the truth, and nothing stays" {
	data=$BATS_TEST_TMPDIR/data
	target "$TARGETS/shares" 5500
	"$SPROF" record -o "$data" --source timer -F 999 -d 2500ms -p "$target"
	nothing_stays
	wait "$target"
	"$SPROF" fold "$data" | sed 's/;\[no kernel stack\] / /' >"$BATS_TEST_TMPDIR/folded"
	tests/root/shares "$said" "$BATS_TEST_TMPDIR/folded"
	[ "$("$SPROF" info --json "$data" | jq -r .source)" = timer ]
}

@test "sprof record -p as an ordinary user, on a program of that user" {
	needs_root "be somebody else"
	local place
	place=$(mktemp -d /tmp/sprof-attach.XXXXXX)
	cp "$SPROF" "$(dirname "$SPROF")/libsprof.so" "$TARGETS/shares_static" "$place"
	chmod 777 "$place"
	target setpriv --reuid 65534 --regid 65534 --clear-groups "$place/shares_static" 6000
	setpriv --reuid 65534 --regid 65534 --clear-groups "$place/sprof" record -q -o "$place/data" --source timer -F 999 \
		-d 1s -p "$target"
	nothing_stays
	[ "$("$SPROF" info --json "$place/data" | jq '.samples > 20 and .finished')" = true ]
	rm -rf "$place"
	kill "$target"
}

@test "sprof record -p by timers refuses with the reason and a hint" {
	data=$BATS_TEST_TMPDIR/data
	target "$TARGETS/seccomped" timers 60
	run --separate-stderr "$SPROF" record -o "$data" --source timer -p "$target"
	[ "$status" -eq 1 ]
	[[ ${stderr_lines[0]} == "sprof: cannot attach to process $target: "*"seccomp filter"* ]]
	[[ ${stderr_lines[1]} == "hint: "* ]]
	[ ! -e "$data" ]
}

# bats test_tags=full
@test "memory of a program at an address of ours is neither run, changed nor unmapped" {
	local data=$BATS_TEST_TMPDIR/data
	target "$TARGETS/decoys" 3
	"$SPROF" record -q -o "$data" --source timer -F 999 -d 1s -p "$target"
	ends_well
	nr=$("$SPROF" info --json "$data" | jq .samples)
	echo "$nr samples"
	[ "$nr" -gt 20 ]
}

# bats test_tags=full
@test "sprof record -p by timers waits for what an earlier try left and is just going" {
	local data=$BATS_TEST_TMPDIR/data go=$BATS_TEST_TMPDIR/go
	target "$TARGETS/leftover" "$go"
	run --separate-stderr "$SPROF" record -o "$data" --source timer -d 300ms -p "$target"
	[ "$status" -eq 1 ]
	[[ ${stderr_lines[0]} == "sprof: cannot attach to process $target: what an earlier try left in it is still there"* ]]
	[[ ${stderr_lines[1]} == "hint: try again"* ]]
	(sleep 0.06 && : >"$go") & # sprof retries for 140 ms
	"$SPROF" record -q -o "$data" --source timer -F 999 -d 1s -p "$target"
	[ "$("$SPROF" info --json "$data" | jq '.samples > 20')" = true ]
	kill "$target"
}

# bats test_tags=full
@test "sprof record -p by timers, a program in another pid and mount namespace" {
	needs_unshare --mount --pid --fork --mount-proc
	data=$BATS_TEST_TMPDIR/data
	unshare --mount --pid --fork --mount-proc "$TARGETS/threads8" 7000 >"$BATS_TEST_TMPDIR/truth" 2>&1 3>&- &
	local outer=$!
	pids+=($outer)
	sleep 0.3
	target=$(pgrep -P $outer)
	before=$(footprint)
	"$SPROF" record -q -o "$data" --source timer -F 999 -d 1s -p "$target"
	nothing_stays
	wait $outer
	[ "$("$SPROF" info --json "$data" | jq '.samples > 5')" = true ]
	"$SPROF" fold "$data" | grep -q 'work'
}
