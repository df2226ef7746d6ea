# Measures the time from the end of sampling to the picture, for a large C++ program with many
# inlined functions.

# Debian has no package of flamegraph.pl, so the rival is the first stage of its pipeline alone,
# perf script, on far fewer samples and stopped when it takes too long: a lower bound for the
# rival's time.
bench_picture() {
	local samples=${QUICK:+20000} begin taken patience=40
	samples=${samples:-100000}
	tests/bench/build_big "$tools/big"
	seconds_of() { # contender, command...
		begin=$EPOCHREALTIME
		"${@:2}" >/dev/null 2>&1 || true
		note "$1" "$(calc "$EPOCHREALTIME - $begin")"
	}
	stop_and_draw() {
		kill "$1"
		wait "$1"
		"$SPROF" flame "$work/data" -o "$work/svg"
	}
	"$tools/big" &
	local big=$!
	background=$big
	"$SPROF" record -q -F 4999 -o "$work/data" -p $big &
	background+=" $!"
	until [ "$(info .samples)" -ge "$samples" ]; do sleep 1; done 2>/dev/null
	seconds_of picture stop_and_draw $!
	taken=$(info .samples)
	timeout -s INT 2 perf record -q -F 4999 --call-graph dwarf -o "$work/perf" -p $big || true
	end $big
	background=
	for _ in $(seq "$ROUNDS"); do
		seconds_of flame "$SPROF" flame "$work/data" -o "$work/svg"
	done
	seconds_of perf_script timeout $patience perf script -i "$work/perf"
	seconds_of perf_script_no_inline perf script --no-inline -i "$work/perf"
	title "From stop to picture: a C++ program with $(debug_mb "$tools/big") MB of DWARF, many inlined functions"
	row "sprof, from the signal to the SVG, $taken samples" "$(median picture)" s 1.5
	row "of these, sprof flame" "$(median flame)" s
	taken=$(perf script -i "$work/perf" --no-inline -F time | wc -l)
	row "perf script, at most $patience s of $taken samples" "$(median perf_script)" s
	row "perf script --no-inline, $taken samples" "$(median perf_script_no_inline)" s
	row "sprof / perf script" "$(paired picture / perf_script)" x 0.05
}

debug_mb() { # binary
	size -A "$1" | awk '/^\.debug/ { s += $2 } END { print int(s / 1e6) }'
}
