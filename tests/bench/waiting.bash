# What following waits and system calls costs a switch, a call, and servers. Rivals, if they are
# there: offcputime of libbpf-tools and bpftrace, which walk the stack at every switch by frame
# pointers, and strace -c. (apt-get install libbpf-tools bpftrace strace redis postgresql)

# Runs a program above all others, so that their turns do not count, if that is allowed.
above=()
! chrt -f 50 true 2>/dev/null || above=(chrt -f 50)

# Runs a rival where tracefs is mounted, which bpftrace needs for tracepoints and not every machine has.
with_tracefs() {
	[ -e /sys/kernel/tracing/events ] || set -- unshare -m sh -c 'mount -t tracefs tracefs /sys/kernel/tracing; exec "$@"' sh "$@"
	exec "$@"
}

# Has the rival that ended last, whose output is in profiler.out, seen waits? If not, its time says nothing.
check_rival() { # contender
	grep -q '\bschedule\b' "$work/profiler.out" || grep -m1 -i 'error\|fail\|cannot' "$work/profiler.out" >"$work/$1_fails" ||
		echo "it saw no waits" >"$work/$1_fails"
}

rival_row() { # contender, what, as for paired, unit
	if [ -f "$work/$1_fails" ]; then
		printf '  %-52s %s\n' "$2" "it does not work here: $(cat "$work/$1_fails")"
	elif [ -f "$work/$1" ]; then
		row "$2" "$(paired "$3" "$4" "$5")" "$6"
	fi
}

# ns per switch of two threads that send a byte back and forth on CPU 1: half a round trip.
switch_time() { # contender, steps of work for each switch, the command of a profiler, in which PID stands for the process
	local contender=$1 steps=$2 profiler pid
	shift 2
	"${above[@]}" "$targets/pingpong" 1500 1 4000 "$steps" >"$work/round_trip" &
	pid=$!
	background=$pid
	sleep 0.3
	if [ $# -gt 0 ]; then
		"${@/PID/$pid}" >"$work/profiler.out" 2>&1 &
		profiler=$!
		background="$pid $profiler"
	fi
	wait $pid
	[ $# -eq 0 ] || { kill -INT $profiler 2>/dev/null || true; wait $profiler || true; }
	background=
	note "$contender" "$(calc "$(cut -d' ' -f2 "$work/round_trip") * 500")"
}

# So many steps of work for each switch that there are 100 000 switches in a second.
steps_of_100k() {
	local idle busy
	idle=$("${above[@]}" "$targets/pingpong" 300 1 300 0 | cut -d' ' -f2)
	busy=$("${above[@]}" "$targets/pingpong" 300 1 300 5000 | cut -d' ' -f2)
	awk -v idle="$idle" -v busy="$busy" 'BEGIN { n = (20 - idle) / (busy - idle) * 5000; printf "%d\n", (n > 0 ? n : 0) }'
}

switch_rows() { # prefix of the contenders, steps of work, what it is
	local at=$1 steps=$2
	for _ in $(seq "$ROUNDS"); do
		switch_time "${at}_alone" "$steps"
		switch_time "${at}_target" "$steps" "$SPROF" record -q --source ebpf --clock off -o "$work/data" -d 20s -p PID
		switch_time "${at}_wakers" "$steps" "$SPROF" record -q --source ebpf --clock off --wakers -o "$work/data" -d 20s -p PID
		switch_time "${at}_other" "$steps" "$SPROF" record -q --source ebpf --clock off -o "$work/data" -d 20s -p $sleeper
		switch_time "${at}_latency" "$steps" "$SPROF" record -q --source ebpf --latency -o "$work/data" -d 20s -a
		! command -v offcputime >/dev/null || { switch_time "${at}_offcputime" "$steps" with_tracefs offcputime -p PID 20; check_rival "${at}_offcputime"; }
		! command -v bpftrace >/dev/null || { switch_time "${at}_bpftrace" "$steps" with_tracefs bpftrace "$work/offcpu.bt" PID; check_rival "${at}_bpftrace"; }
		switch_time "${at}_again" "$steps"
	done
	title "A switch between two threads that send a byte back and forth$3"
	row "alone, $(calc "int(1e9 / $(median "${at}_alone"))") switches a second" "$(median "${at}_alone")" ns
	row "alone, once more in each round (noise)" "$(paired "${at}_again" - "${at}_alone")" ns
	row "added by --clock off, a target's" "$(paired "${at}_target" - "${at}_alone")" ns 400
	row "added by --clock off --wakers" "$(paired "${at}_wakers" - "${at}_alone")" ns 600
	row "added by --clock off, of another process" "$(paired "${at}_other" - "${at}_alone")" ns 200
	row "added by --latency -a" "$(paired "${at}_latency" - "${at}_alone")" ns 50
	rival_row "${at}_offcputime" "added by offcputime -p" "${at}_offcputime" - "${at}_alone" ns
	rival_row "${at}_bpftrace" "added by bpftrace, the same" "${at}_bpftrace" - "${at}_alone" ns
}

bench_waits() {
	local sleeper
	sleep 1000 &
	sleeper=$!
	cat >"$work/offcpu.bt" <<-BPFTRACE
		tracepoint:sched:sched_switch {
			if (@pid[args->prev_pid]) { @start[args->prev_pid] = nsecs; }
			if (@start[args->next_pid]) { @[kstack, ustack, args->next_pid] = sum(nsecs - @start[args->next_pid]); delete(@start[args->next_pid]); }
			if (pid == \$1) { @pid[tid] = 1; }
		}
	BPFTRACE
	switch_rows switch 0 ""
	switch_rows switch100k "$(steps_of_100k)" ", and work in between"
	end $sleeper
}

bench_syscalls() {
	build_tool system_call
	for _ in $(seq "$ROUNDS"); do
		note call_alone "$("$tools/system_call" 2000000)"
		note call_sprof "$("$SPROF" record -q --source ebpf --syscalls -o "$work/data" -- "$tools/system_call" 2000000)"
		! command -v strace >/dev/null || note call_strace "$(strace -c -o "$work/strace.out" "$tools/system_call" 50000)"
	done
	title "The shortest system call"
	row "alone" "$(median call_alone)" ns
	row "added by --syscalls" "$(paired call_sprof - call_alone)" ns 800
	[ ! -f "$work/call_strace" ] || row "added by strace -c" "$(paired call_strace - call_alone)" ns
}

# ns on CPUs of all threads of a process.
cpu_ns() {
	cat /proc/"$1"/task/*/schedstat | awk '{ n += $1 } END { printf "%.0f\n", n }'
}

# Requests a second of a server, alone and under each profiler, in turn. With a third argument, also
# the CPU time that a request takes, which other programs on the machine disturb less.
requests() { # name of the server, its process, number of requests or "", the command that prints requests per second
	local name=$1 pid=$2 nr=$3 profiler contender before
	shift 3
	local contenders="alone sprof again"
	! command -v offcputime >/dev/null || contenders="alone sprof offcputime again"
	for _ in $(seq "$ROUNDS"); do
		for contender in $contenders; do
			profiler=
			case $contender in
			sprof) "$SPROF" record -q --source ebpf --clock off -o "$work/data" -d 100s -p "$pid" & profiler=$! ;;
			offcputime) offcputime -p "$pid" 100 >"$work/profiler.out" 2>&1 & profiler=$! ;;
			esac
			background="$server $profiler"
			[ -z "$profiler" ] || sleep 1.5
			before=$(cpu_ns "$pid")
			note "${name}_$contender" "$("$@")"
			[ -z "$nr" ] || note "${name}_cpu_$contender" "$(calc "($(cpu_ns "$pid") - $before) / $nr")"
			[ -z "$profiler" ] || { kill -INT $profiler 2>/dev/null || true; wait $profiler || true; }
			[ $contender != offcputime ] || check_rival "${name}_$contender"
			background=$server
		done
	done
	title "Requests of $name"
	row "alone" "$(median "${name}_alone")" /s
	row "alone, once more in each round (noise)" "$(paired "${name}_again" / "${name}_alone")" x
	# Fewer requests are more time for each: at most 1 %.
	row "time of a request under --clock off" "$(paired "${name}_alone" / "${name}_sprof")" x 1.01
	[ -z "$nr" ] || row "CPU time of a request under --clock off" "$(paired "${name}_cpu_sprof" / "${name}_cpu_alone")" x 1.01
	[ -z "$nr" ] || row "CPU time of a request alone, once more" "$(paired "${name}_cpu_again" / "${name}_cpu_alone")" x
	rival_row "${name}_offcputime" "time of a request under offcputime -p" "${name}_alone" / "${name}_offcputime" x
}

bench_redis() {
	local server
	command -v redis-server >/dev/null || { echo "no redis-server: apt-get install redis"; return; }
	redis-server --port 7379 --save '' --dir "$work" --daemonize no >/dev/null &
	server=$!
	background=$server
	sleep 1
	redis_rate() { redis-benchmark -p 7379 -t get -n $((QUICK ? 50000 : 200000)) -c 20 --csv | awk -F'"' '$2 == "GET" { print $4 }'; }
	requests redis $server $((QUICK ? 50000 : 200000)) redis_rate
	end $server
	background=
}

bench_postgres() {
	local server bin
	bin=$(dirname "$(ls /usr/lib/postgresql/*/bin/initdb 2>/dev/null | tail -1)")
	[ -x "$bin/initdb" ] && id postgres >/dev/null 2>&1 || { echo "no postgres: apt-get install postgresql"; return; }
	chmod 755 "$top" "$work"
	mkdir "$work/pg"
	chown postgres "$work/pg"
	runuser -u postgres -- "$bin/initdb" -D "$work/pg" >/dev/null
	runuser -u postgres -- "$bin/postgres" -D "$work/pg" -p 7432 -k "$work/pg" >/dev/null 2>&1 &
	server=$!
	background=$server
	sleep 3
	runuser -u postgres -- pgbench -q -h "$work/pg" -p 7432 -i postgres >/dev/null 2>&1
	postgres_rate() {
		runuser -u postgres -- pgbench -h "$work/pg" -p 7432 -S -c 8 -T $((QUICK ? 2 : 5)) postgres 2>/dev/null | awk '/^tps/ { print $3 }'
	}
	requests postgres "$(head -1 "$work/pg/postmaster.pid")" "" postgres_rate
	end "$(head -1 "$work/pg/postmaster.pid")" $server
	background=
}
