# Measures what the recorder itself costs (CPU, memory, file) and how soon it samples.

# The same running program for the same time at 999 Hz.
bench_recorder() {
	local seconds=${QUICK:+2}
	seconds=${seconds:-5}
	measure() { # contender, profiler that takes a PID at its end
		"$targets/deep32_nofp" 600000 >/dev/null &
		background=$!
		timeout -s INT $seconds "$tools/usage" "$work/usage" "${@:2}" $background || true
		end $background
		background=
		note "$1.cpu" "$(awk '{ print $1 }' "$work/usage")"
		note "$1.rss" "$(awk '{ print $2 }' "$work/usage")"
		note "$1.bytes" "$(stat -c %s "$work/data")"
	}
	for _ in $(seq "$ROUNDS"); do
		measure recorder "$SPROF" record -q -F 999 -o "$work/data" -p
		local rows
		rows=$(info .unwind_rows)
		measure recorder_fp perf record -q -F 999 -g -o "$work/data" -p
		measure recorder_dwarf perf record -q -F 999 --call-graph dwarf -o "$work/data" -p
	done 2>/dev/null
	title "The recorder, attached for $seconds s at 999 Hz"
	row "CPU of sprof" "$(median recorder.cpu)" s "$(calc "0.05 + 0.001 * $seconds")"
	row "CPU of perf -g" "$(median recorder_fp.cpu)" s
	row "CPU of perf dwarf" "$(median recorder_dwarf.cpu)" s
	row "peak memory of sprof ($rows unwind rows)" "$(median recorder.rss)" MB "$(calc "20 + 4.5 * $rows / 1e6")"
	row "peak memory of perf -g" "$(median recorder_fp.rss)" MB
	row "peak memory of perf dwarf" "$(median recorder_dwarf.rss)" MB
	row "file of sprof" "$(calc "$(median recorder.bytes) / 1000")" KB
	row "file of perf -g" "$(calc "$(median recorder_fp.bytes) / 1000")" KB
	row "file of perf dwarf" "$(calc "$(median recorder_dwarf.bytes) / 1000")" KB
	row "file of sprof, percent of perf dwarf" "$(paired recorder.bytes / recorder_dwarf.bytes | awk '{ print 100 * $1 }')" % 0.1
}

# From the start of the command to the first sample, measured from outside so that it works for any
# profiler: the CPU time that a program which never sleeps has used until it is stopped, less the
# time that its samples account for.
bench_attach() {
	attach() { # pid, profiler that takes a PID at its end; prints the target's CPU time in ms
		local cpu
		cpu=$(cpu_ns "$1")
		"${@:2}" "$1" &
		local profiler=$!
		background+=" $profiler"
		sleep 0.8
		calc "($(cpu_ns "$1") - $cpu) / 1e6"
		end $profiler
	}
	sprof_ms() { # contender, pid
		attach "$2" "$SPROF" record -q -F 4999 -o "$work/data" -p >"$work/cpu"
		note "$1" "$(calc "$(cat "$work/cpu") - $(info .samples) / 4.999")"
	}
	perf_ms() { # contender, pid
		attach "$2" perf record -q -c 200040 -e cpu-clock -g -o "$work/perf" -p >"$work/cpu"
		note "$1" "$(calc "$(cat "$work/cpu") - $(perf script -i "$work/perf" -F time | wc -l) / 4.999")"
	}
	for _ in $(seq "$ROUNDS"); do
		"$targets/shares" 600000 >/dev/null &
		background=$!
		sprof_ms small $background
		perf_ms small_perf $background
		end $background
		clang++ -std=c++17 -O2 -g -w -DPART=0 -DKINDS=9 -c -o "$work/object" tests/bench/big.cc &
		background=$!
		sleep 0.5
		sprof_ms large $background
		local rows
		rows=$(info .unwind_rows)
		perf_ms large_perf $background
		end $background
		background=
	done 2>/dev/null
	title "Attach to first sample"
	row "sprof, a small program" "$(median small)" ms 120
	row "perf -g, a small program" "$(median small_perf)" ms
	row "sprof, clang ($rows unwind rows)" "$(median large)" ms 350
	row "perf -g, clang" "$(median large_perf)" ms
}

# From the start of the command to the first sample after which every stack is complete: of a compiler, whose libraries
# have millions of unwind rows, with an empty cache of tables and with a full one. TABLES_PID names another process.
bench_tables() {
	local pid=${TABLES_PID:-} source kind
	complete() { # contender, options
		local since
		since=$(date +%s%N)
		rm -f "$work/data"
		timeout 60 "$SPROF" record -q -F 999 -d 2s -o "$work/data" "${@:2}" -p "$pid"
		"$SPROF" export -f json "$work/data" | jq -r --argjson since "$since" '
			(.start_realtime_ns - .start_ns - $since) as $offset |
			[.functions[] | .kind == "marker"] as $marker |
			[.stacks[] | any(.[]; $marker[.[0]])] as $bad |
			[range(.samples.stack | length) as $i | select($bad[.samples.stack[$i]]) | .samples.time_ns[$i]] as $late |
			"\((.samples.time_ns | min) + $offset) \(($late | max // 0) + $offset) \(100 - 100 * ($late | length) / (.samples.stack | length))"
			' >"$work/complete"
		note "$1.first" "$(awk '{ print $1 / 1e6 }' "$work/complete")"
		note "$1.last" "$(awk '{ print ($2 > $1 ? $2 : $1) / 1e6 }' "$work/complete")"
		note "$1.share" "$(awk '{ print $3 }' "$work/complete")"
	}
	for _ in $(seq "$ROUNDS"); do
		if [ -z "${TABLES_PID:-}" ]; then
			clang++ -std=c++17 -O2 -g -w -DPART=0 -DKINDS=40 -c -o "$work/object" tests/bench/big.cc &
			background=$! pid=$!
			sleep 0.5
		fi
		for source in ebpf perf timer; do
			rm -rf "$work/sprof"
			complete cold_$source -s $source
			complete warm_$source -s $source
		done
		[ -z "$background" ] || end $background
		background=
	done 2>/dev/null
	title "Attach to a large program: tables built, and from the cache"
	for source in ebpf perf timer; do
		for kind in cold warm; do
			row "$source, $kind: to the first sample" "$(median ${kind}_$source.first)" ms 1350
			row "$source, $kind: until no stack is incomplete" "$(median ${kind}_$source.last)" ms
			row "$source, $kind: complete stacks in 2 s" "$(median ${kind}_$source.share)" %
		done
	done
}
