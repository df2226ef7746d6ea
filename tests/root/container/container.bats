# sprof in a container as engines make them by default (tests/drivers/contained.c): no perf events, no
# BPF, and a seccomp filter over every program. The timer source and `sprof dump` work there all the
# same, for root and for an ordinary user.
bats_require_minimum_version 1.5.0
source=timer
load ../source
load ../pythons

setup() {
	needs_root "make a container"
	contained=$BUILD/tests/drivers/contained
	"$contained" true || skip "no container can be made here"
	as=() place='' pids=()
	place=$(mktemp -d /tmp/sprof-container.XXXXXX)
	chmod 755 "$place"
	cp -r "$SPROF" "$(dirname "$SPROF")/libsprof.so" "$TARGETS" tests/targets/python_shares.py tests/targets/python_waits.py "$place/"
	SPROF=$place/sprof TARGETS=$place/targets
	mkdir -m 777 "$place/out"
	data=$place/out/data folded=$place/out/folded truth=$place/out/truth
	cd "$place/out"
	export -f in_container
}

# Runs in the container: starts the load, waits until it works, and has a command look at it.
# READY LOOK... -- LOAD...; READY is a command, PID in LOOK is the load's process.
in_container() {
	local ready=$1 look=()
	shift
	while [ "$1" != -- ]; do
		look+=("$1")
		shift
	done
	shift
	"$@" >said 2>&1 &
	local pid=$!
	for _ in $(seq 200); do
		! eval "$ready" || break
		sleep 0.05
	done
	grep -qx 'Seccomp:.2' /proc/self/status && grep -qx 'Seccomp:.2' /proc/$pid/status || return 3
	"${look[@]//PID/$pid}"
	local status=$?
	kill -0 $pid || status=4 # it has survived
	kill $pid
	return $status
}

# The users that a container's programs commonly run as: root, and an ordinary one.
as_root() {
	as=()
	has_cache 0
}
as_user() {
	as=(setpriv --reuid 65534 --regid 65534 --clear-groups)
	has_cache 65534
}

# Unwind tables that were not ready at once are at the next recording. USER
has_cache() {
	export XDG_CACHE_HOME=$place/cache.$1
	mkdir -p -m 700 "$XDG_CACHE_HOME"
	chown "$1" "$XDG_CACHE_HOME"
}

# READY LOOK... -- LOAD...
looks() {
	rm -f "$data" said redis
	"$contained" "${as[@]}" bash -c 'in_container "$@"' - "$@"
}

# The load is attached to and its stacks are complete. On a busy machine it may get little CPU time, and so few samples,
# or tables may come late: then it is recorded again, for longer. READY LOAD...
attaches() {
	local ready=$1 seconds
	shift
	for seconds in 2 6 18; do
		looks "$ready" "$SPROF" record -o "$data" -F 499 -d ${seconds}s -p PID -- "$@" 2>messages || { cat messages; return 1; }
		cat messages
		[ "$("$SPROF" info --json "$data" | jq -r .source)" = timer ]
		"$SPROF" fold "$data" >"$folded"
		grep -q 'tables are not ready' messages || [ "$(awk '{ all += $NF } END { print all + 0 }' "$folded")" -lt 30 ] || break
	done
	awk '{ all += $NF } /\[incomplete/ { cut += $NF } END { print cut + 0, "of", all, "samples are incomplete"; exit all < 10 || cut > 1 + 0.02 * all }' "$folded"
}

# Both users in turn. COMMAND...
each_user() {
	as_root
	"$@"
	as_user
	"$@"
}

attaches_to_python() {
	attaches 'test -s said || sleep 0.3' /usr/bin/python3 "$place/python_shares.py" 20000
	grep -q 'calls.*;fib' "$folded"
	grep -q 'callbacks.*;order' "$folded"
}

@test "container: sprof record -p of python" {
	each_user attaches_to_python
}

# bats test_tags=full
@test "container: sprof record -p of a program without a dynamic linker" {
	each_user attaches 'sleep 0.3' "$TARGETS/shares_static" 20000
	grep -q 'main;part_50' "$folded"
}

# bats test_tags=full
@test "container: sprof record -p of node" {
	command -v node >/dev/null || skip "node is not installed"
	echo 'function hot(n) { let s = 0; for (let i = 0; i < n; i++) s += Math.sqrt(i) % 7; return s }
		console.log("ready"); const end = Date.now() + 600000; while (Date.now() < end) hot(1e5)' >"$place/load.js"
	each_user attaches 'test -s said' node "$place/load.js"
}

# bats test_tags=full
@test "container: sprof record -p of redis-server" {
	command -v redis-server >/dev/null || skip "redis-server is not installed"
	load() {
		attaches 'test -S redis && { redis-benchmark -q -s redis -n 100000000 -P 16 -t get,set & sleep 0.3; }' \
			redis-server --port 0 --unixsocket "$place/out/redis" --save ''
		grep -q ';aeMain;' "$folded" || grep -q '^redis-server;' "$folded"
	}
	each_user load
}

# bats test_tags=full
@test "container: sprof record of a program that it starts" {
	starts() {
		rm -f "$data"
		"$contained" "${as[@]}" "$SPROF" record -o "$data" -F 499 -- "$TARGETS/shares" 1000
		"$SPROF" fold "$data" | grep -q 'main;part_50'
	}
	each_user starts
}

@test "container: sprof dump" {
	dumps() {
		looks 'grep -q ready said' "$SPROF" dump -p PID -- /usr/bin/python3 "$place/python_waits.py" >"$folded"
		grep -q report "$folded"
	}
	each_user dumps
}

@test "container: sprof doctor -p says how a program can be sampled" {
	doctor() {
		looks 'sleep 0.3' "$SPROF" doctor -p PID -- "$TARGETS/shares" 20000 >"$folded"
		cat "$folded"
		grep -qx "timer  OK: by ptrace, under the container's seccomp filter, which allows what that takes" "$folded"
	}
	each_user doctor
}

@test "container: a program with a filter of its own is refused, and it is said why" {
	refuses() {
		run looks 'sleep 0.3' "$SPROF" record -o "$data" -d 1s -p PID -- "$TARGETS/seccomped" docker 30
		echo "$output"
		[ "$status" -ne 0 ] && [ "$status" -ne 4 ]
		[[ $output == *"it has 2 seccomp filters, sprof 1 and the first process 1: "* ]]
	}
	each_user refuses
}

@test "container: root is not told to become root" {
	local options
	for options in '-a' '--source ebpf -a' '--source perf -a' "--calls main -- $TARGETS/shares 100"; do
		run "$contained" "$SPROF" record -o "$data" -d 1s $options
		echo "$options: $output"
		[ "$status" -ne 0 ]
		[[ $output == *"hint: "* && $output != *sudo* ]]
	done
	run "$contained" "$SPROF" record -o "$data" -d 1s --source ebpf -a
	[[ $output == *"hint: root lacks them here: in a container, start that with --cap-add BPF --cap-add PERFMON"* ]]
}

@test "container: where no other source works, none is suggested" {
	lets_nothing_in() {
		run looks '[[ $(readlink /proc/$pid/exe) == *shares_static ]]' "$SPROF" record -o "$data" -d 1s -p PID -- \
			bash -c 'ulimit -n 3; exec "$0" 20000' "$TARGETS/shares_static"
		echo "$output"
		[[ $status != 0 && $status != 4 ]]
		[[ $output == *"it has no descriptor free (ulimit -n)"*"hint: only a source that looks from outside can sample it: sprof doctor says"* ]]
		[[ $output != *"--source"* ]]
	}
	each_user lets_nothing_in
}
