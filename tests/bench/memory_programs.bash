# Measures what sprof record --alloc costs programs as they are shipped, by the CPU time of all their threads, beside
# heaptrack's library and memray where they are installed. A figure of a round is the least of three blocks of the same
# work, because what else runs on the machine only adds to it. PROGRAMS="sqlite idle" limits it to some.

threads_ns() { # pid
	cat /proc/"$1"/task/*/schedstat | awk '{ sum += $1 } END { printf "%.0f", sum }'
}

# The CPU time of the least of three blocks of work, in ms; $ask has a program do one.
least_ms() { # pid
	local before block least=
	for _ in 1 2 3; do
		before=$(threads_ns "$1")
		$ask
		block=$(calc "($(threads_ns "$1") - $before) / 1e6")
		[ -n "$least" ] && [ "$(calc "$least <= $block")" = 1 ] || least=$block
	done
	echo "$least"
}

memory_attach() { # pid; sets recorder
	rm -f "$work/data"
	(
		[ -z "${source:-}" ] || exec {source}>&- # a compiler waits for its end
		exec "$SPROF" record -q -F 99 --alloc -o "$work/data" -p "$1"
	) &
	recorder=$!
	background+=" $recorder"
	until [ -e "$work/data" ]; do
		kill -0 "$recorder" 2>/dev/null || die "the recorder of section '$section' has ended"
		sleep 0.05
	done
	sleep 0.5
}

memory_detach() {
	kill -INT "$recorder" 2>/dev/null || true # it has ended if its program has
	wait "$recorder" || true
	background=${background% *}
}

# Millions of pairs in a second of CPU time, as they were sampled in that many ms of it.
pairs_rate() { # ms
	"$SPROF" fold --column allocations "$work/data" | awk -v ms="$1" '{ sum += $NF } END { print sum / ms / 1000 }'
}

# The share of CPU samples in the hooks and below, in percent. It does not see what the hooks do to the program's caches,
# but it is the same on a busy machine.
share_of_hooks() {
	"$SPROF" fold --column cpu "$work/data" | awk '{ all += $NF } index($0, "[allocation hook]") { hooks += $NF }
		END { print all ? 100 * hooks / all : 0 }'
}

# A program that waits for work: alone and with a recorder, in turn.
in_turn() { # contender, pid
	local recorder before
	$ask # warm
	for _ in $(seq "$ROUNDS"); do
		note "$1_alone" "$(least_ms "$2")"
		before=$(threads_ns "$2")
		memory_attach "$2"
		$ask # the interval adapts
		note "$1_attached" "$(least_ms "$2")"
		before=$(calc "($(threads_ns "$2") - $before) / 1e6")
		memory_detach
		note "$1_rate" "$(pairs_rate "$before")"
		note "$1_share" "$(share_of_hooks)"
	done
}

program_works() {
	local line
	echo "$request" >&"${PROGRAM[1]}"
	while read -r line <&"${PROGRAM[0]}"; do
		[ "$line" != "done" ] || return 0
	done
	die "the program of section '$section' has ended"
}

with_rival() { # contender, COMMAND...
	local ask=program_works pid
	coproc PROGRAM { exec "${@:2}" 2>&1; }
	pid=$PROGRAM_PID background=$PROGRAM_PID
	program_works
	for _ in $(seq "$ROUNDS"); do note "$1" "$(least_ms "$pid")"; done
	end "$pid"
	background=
}

# A program that does $request for each line on its standard input and says "done".
served_lines() { # contender, COMMAND...
	local ask=program_works pid
	coproc PROGRAM { exec "${@:2}" 2>&1; }
	pid=$PROGRAM_PID background=$PROGRAM_PID
	in_turn "$1" "$pid"
	end "$pid"
	background=
	[ ! -e /usr/lib/heaptrack/libheaptrack_preload.so ] || with_rival "$1_heaptrack" env \
		DUMP_HEAPTRACK_OUTPUT="$work/heaptrack" LD_PRELOAD=/usr/lib/heaptrack/libheaptrack_preload.so "${@:2}"
}

programs_sqlite() {
	local request
	command -v sqlite3 >/dev/null || return 0
	request="SELECT y, count(*), group_concat(printf('%d-%s', x, z)) FROM t GROUP BY y ORDER BY 2 DESC, 3 LIMIT 1;
SELECT sum(length(replace(z, '7', 'seven') || x)) FROM t;
.print done"
	cat >"$work/sqlite" <<-END
		CREATE TABLE t AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 300000)
			SELECT x, x * 7919 % 10007 AS y, printf('name %d', x) AS z FROM c;
	END
	served_lines sqlite sqlite3 -batch -init "$work/sqlite" :memory:
}

programs_json() {
	local request=go python=/usr/bin/python3
	[ -x $python ] || return 0
	cat >"$work/rows.py" <<-END
		import json, sys
		rows = [{"id": i, "name": "name %d" % i, "tags": ["a", str(i)], "size": i / 7} for i in range(2000)]
		for line in sys.stdin:
		    for _ in range(60):
		        json.loads(json.dumps(rows))
		    print("done", flush=True)
	END
	served_lines json $python "$work/rows.py"
	! command -v memray >/dev/null || with_rival json_memray memray run -q --aggregate -o "$work/memray.json" "$work/rows.py"
}

programs_redis() {
	local ask=redis_works server
	command -v redis-server >/dev/null || return 0
	redis-server --port 0 --unixsocket "$work/redis" --save '' --dir "$work" --daemonize no >/dev/null &
	server=$! background=$!
	until [ -S "$work/redis" ]; do sleep 0.05; done
	redis_works() { redis-benchmark -q -s "$work/redis" -n 200000 -r 10000 -P 16 -t set,lpush,zadd >/dev/null 2>&1; }
	in_turn redis $server
	end $server
	background=
}

# A compiler lives for one file, and waits for it: it is attached to before it is given that.
compile() { # contender[, and is recorded]
	local pid recorder run source
	"$tools/usage" "$work/usage" "$("$CXX" -print-prog-name=cc1plus)" -quiet -w -O1 -std=c++17 -DPART=0 -DKINDS=12 -o /dev/null \
		- <"$work/source" 2>/dev/null &
	run=$!
	exec {source}>"$work/source"
	until pid=$(pgrep -P $run); do sleep 0.02; done
	[ -z "${2:-}" ] || memory_attach "$pid"
	cat "$work/big.ii" >&"$source"
	exec {source}>&-
	wait $run
	[ -z "${2:-}" ] || memory_detach
	note "$1" "$(awk '{ print $1 * 1000 }' "$work/usage")"
}

programs_compiler() {
	[ -x "$("$CXX" -print-prog-name=cc1plus)" ] || return 0
	mkfifo "$work/source"
	"$CXX" -E -P -std=c++17 -DPART=0 -DKINDS=12 tests/bench/big.cc >"$work/big.ii"
	for _ in $(seq "$ROUNDS"); do
		compile compiler_alone
		compile compiler_attached yes
		note compiler_rate "$(pairs_rate "$(tail -1 "$work/compiler_attached")")"
		note compiler_share "$(share_of_hooks)"
	done
}

# Of a program that waits, and of its recorder.
programs_idle() {
	local pid recorder before spent
	sleep 600 &
	pid=$! background=$!
	memory_attach $pid
	sleep 1
	before=$(threads_ns $pid) spent=$(threads_ns "$recorder")
	sleep 5
	note idle_target "$(calc "($(threads_ns $pid) - $before) / 1e6")"
	note idle_recorder "$(calc "($(threads_ns "$recorder") - $spent) / 1e6 / 5")"
	memory_detach
	end $pid
	background=
}

program_rows() { # what, contender
	local rate rival
	[ -e "$work/$2_alone" ] || return 0
	rate=$(median "$2_rate")
	row "$1, $(printf %.1f "$rate") million pairs a second" "$(percent "$2_attached" "$2")" % "$(calc "$rate > 2 ? $rate / 2 : 1")"
	row "   CPU samples in the hooks" "$(median "$2_share")" %
	for rival in heaptrack memray; do
		[ ! -e "$work/$2_$rival" ] || row "   with $rival" "$(percent "$2_$rival" "$2")" %
	done
}

percent() { # contender, program
	calc "100 * ($(paired "$1" / "$2_alone") - 1)"
}

bench_memory_programs() {
	local program
	title "CPU time that record --alloc adds; budget: 1 % at 2 million pairs of malloc and free a second"
	for program in ${PROGRAMS:-sqlite json redis compiler idle}; do
		"programs_$program"
		case $program in
		sqlite) program_rows "sqlite3, strings of groups" sqlite ;;
		json) program_rows "python3, json" json ;;
		redis) program_rows "redis-server, SET LPUSH ZADD" redis ;;
		compiler) program_rows "cc1plus, templates" compiler ;;
		idle)
			row "a program that waits, in 5 s" "$(median idle_target)" ms 0
			row "   its recorder, a second" "$(median idle_recorder)" ms
			;;
		esac
	done
}
