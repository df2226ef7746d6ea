# NVTX ranges of a program built with NVTX's own headers, of the version that is found.

load fake.bash
load real.bash

# Prints where the headers are: $NVTX_INCLUDE, a toolkit, or NVIDIA's wheel (0.1 MB), which is fetched once.
find_headers() {
	local dir at

	for dir in "${NVTX_INCLUDE-}" /usr/local/cuda/include; do
		[ -e "$dir/nvtx3/nvToolsExt.h" ] && echo "$dir" && return
	done
	at=$(wheel nvidia-nvtx-cu12 12.9.79) && echo "$at/nvidia/nvtx/include"
}

setup_file() {
	local include

	include=$(find_headers) || return 0
	gcc -O1 -g -no-pie -pthread -isystem "$include" -o "$BATS_FILE_TMPDIR/nvtx_user" tests/gpu/nvtx_user.c -ldl
	strip "$BATS_FILE_TMPDIR/nvtx_user"
}

setup() {
	fake_setup
	USER_PROGRAM=$BATS_FILE_TMPDIR/nvtx_user
	[ -x "$USER_PROGRAM" ] || skip 'no NVTX headers: set NVTX_INCLUDE, or let pip fetch nvidia-nvtx-cu12'
}

# As a launcher of workers that annotates itself: CUDA is started by the child only.
# bats test_tags=full
@test "a child forked after the first range is recorded, with its kernels and ranges" {
	local t=$BATS_FILE_TMPDIR way
	[ -e tests/gpu/fork_user.c ] || skip 'no sources here'
	gcc -O1 -g -isystem "$(find_headers)" -o "$t/fork_user" tests/gpu/fork_user.c -ldl
	for way in exit nvtx closed; do
		run --separate-stderr timeout 60 "$SPROF" record -s timer --gpu on -o "$t/g.data" -- "$t/fork_user" $way
		echo "$way: $output $stderr"
		[ "$status" -eq 0 ]
		run --separate-stderr "$SPROF" report --ranges "$t/g.data"
		echo "$output"
		grep -q '^| parent |  *|  *1 |' <<<"$output"
		grep -q '^| step  *|  *|  *20 |' <<<"$output"
		[ $way = nvtx ] && continue
		run "$SPROF" report --gpu "$t/g.data"
		grep -q ' 20 .* child_kernel$' <<<"$output"
	done
}

@test "ranges nest across domains, with counts and times" {
	record --records -- "$USER_PROGRAM" 50
	grep -q '^range Schritt ü count=50 ' <<<"$output"
	grep -q '^range Schritt ü/load count=50 ' <<<"$output"
	grep -q '^range Schritt ü/model:forward count=50 ' <<<"$output"
	# A load sleeps for 1 ms, a step for 2; on a busy machine they take longer.
	awk -F'[= ]' '/^range Schritt ü\/load / { load = $NF } /^range Schritt ü count/ { step = $NF }
		END { exit !(load >= 50e6 && load < 500e6 && step >= 2 * 50e6 && step > load) }' <<<"$output"
}

# bats test_tags=full
@test "categories, colours and payloads are kept" {
	record --records -- "$USER_PROGRAM" 3
	grep -q '^record range .* load domain= kind=1 flags=0 category=7 color=ff00ff00 payload=2:2 path=Schritt ü/load ' <<<"$output"
	grep -q '^record range .* forward domain=model kind=1 .*path=Schritt ü/model:forward ' <<<"$output"
	grep -q '^record name .*kind=2 id=7 .* input$' <<<"$output"
	grep -q '^record name .*kind=1 id=1234 .* worker$' <<<"$output"
	grep -q '^record mark .* saved ' <<<"$output"
}

# bats test_tags=full
@test "a range that ends on another thread, and one that never ends" {
	record --records -- "$USER_PROGRAM" 3
	[ "$(grep -c '^record range .* epoch domain= kind=2 flags=0 ' <<<"$output")" -eq 1 ]
	[ "$(grep -c '^record range .* never ended domain= kind=1 flags=1 ' <<<"$output")" -eq 1 ]
	! grep '^range never ended ' <<<"$output" || false
}

# The first NVTX call finds no tool, so NVTX falls back to doing nothing; later it is found in the program's data. The
# library is there as CUDA loads it; here it is preloaded and its entry is called by a constructor.
# bats test_tags=full
@test "NVTX that found no tool is adopted later, in a program without symbols" {
	cat >"$BATS_TEST_TMPDIR/enter.c" <<-'C'
		int InitializeInjection(void);
		__attribute__((constructor)) static void enter(void) { InitializeInjection(); }
	C
	gcc -shared -fPIC -o "$BATS_TEST_TMPDIR/enter.so" "$BATS_TEST_TMPDIR/enter.c" "$SPROF_GPU_LIBRARY" \
		-Wl,-rpath,"$(dirname "$SPROF_GPU_LIBRARY")"
	cat >"$BATS_TEST_TMPDIR/run" <<-SH
		#!/bin/sh
		unset NVTX_INJECTION64_PATH
		LD_PRELOAD=$BATS_TEST_TMPDIR/enter.so exec $USER_PROGRAM "\$@"
	SH
	chmod +x "$BATS_TEST_TMPDIR/run"
	record --records -- "$BATS_TEST_TMPDIR/run" 20 late:2500
	[ "$(counter nvtx_adopted)" -eq 1 ]
	grep -q '^range Schritt ü count=20 ' <<<"$output"
	! grep ' early ' <<<"$output" || false
}

# bats test_tags=full
@test "with a range to capture, what lies outside is left out" {
	local data=$BATS_TEST_TMPDIR/c.data
	timeout 60 "$SPROF" record -q -s timer -o "$data" --capture-range nvtx:load -- "$USER_PROGRAM" 20
	"$SPROF" report --ranges --json "$data" | jq -e '[.rows[] | [.range, .repeats]] == [["load", 20]]'
	timeout 60 "$SPROF" record -q -s timer -o "$data" --capture-range nvtx:forward@model --stop-on-range-end -- "$USER_PROGRAM" 20
	"$SPROF" report --ranges --json "$data" | jq -e '[.rows[] | [.range, .domain, .repeats]] == [["forward", "model", 1]]'
	timeout 60 "$SPROF" record -q -s timer -o "$data" --capture-range nvtx:forward@other -- "$USER_PROGRAM" 20
	run "$SPROF" report --ranges "$data"
	! grep forward <<<"$output" || false
}

@test "sprof record shows ranges in its table" {
	run timeout 60 "$SPROF" record -q -s timer -o "$BATS_TEST_TMPDIR/n.data" -- "$USER_PROGRAM" 20
	[ "$status" -eq 0 ]
	run "$SPROF" report --ranges "$BATS_TEST_TMPDIR/n.data"
	[ "$status" -eq 0 ]
	grep -q 'load' <<<"$output"
	grep -q 'forward' <<<"$output"
}

# With the nvtx package from PyPI, fetched once, under the system's interpreter.
# bats test_tags=full
@test "ranges of Python's nvtx package have right counts and times, and are slices over time" {
	local package=$BUILD/tests/gpu/nvtx_python data=$BATS_TEST_TMPDIR/p.data
	if ! PYTHONPATH=$package /usr/bin/python3 -c 'import nvtx' 2>/dev/null; then
		timeout 60 /usr/bin/python3 -m pip -q install --only-binary :all: --no-deps --target "$package" nvtx==0.2.10 >/dev/null 2>&1 ||
			skip "Python's nvtx package cannot be had from PyPI"
	fi
	cat >"$BATS_TEST_TMPDIR/user.py" <<-'PY'
		import time
		import nvtx
		@nvtx.annotate("load", domain="data")
		def load():
		    time.sleep(0.001)
		epoch = nvtx.start_range("epoch")
		for i in range(20):
		    with nvtx.annotate("step"):
		        load()
		        nvtx.push_range("forward")
		        time.sleep(0.001)
		        nvtx.pop_range()
		nvtx.end_range(epoch)
	PY
	PYTHONPATH=$package timeout 60 "$SPROF" record -q -s timer -o "$data" -- /usr/bin/python3 "$BATS_TEST_TMPDIR/user.py"
	"$SPROF" report --ranges --json "$data" >"$BATS_TEST_TMPDIR/r.json"
	jq -e '[.rows[] | [.range, .domain, .repeats]] | sort == [["epoch", "", 1], ["forward", "", 20], ["load", "data", 20], ["step", "", 20]]' "$BATS_TEST_TMPDIR/r.json"
	# a step sleeps for 2 ms and contains both
	jq -e '[.rows[] | {(.range): .total_ns}] | add | .load >= 20e6 and .forward >= 20e6 and
		.step >= .load + .forward and .epoch >= .step' "$BATS_TEST_TMPDIR/r.json"
	"$SPROF" export -f chrome -o "$BATS_TEST_TMPDIR/t.json" "$data"
	jq -e '[.traceEvents[] | select(.cat == "nvtx") | .name] | group_by(.) | map([.[0], length]) ==
		[["epoch", 1], ["forward", 20], ["load", 20], ["step", 20]]' "$BATS_TEST_TMPDIR/t.json"
	jq -e '([.traceEvents[] | select(.cat == "nvtx" and .name == "step").dur] | add * 1000 | round) as $ns |
		$ns == ($r[0].rows[] | select(.range == "step").total_ns)' --slurpfile r "$BATS_TEST_TMPDIR/r.json" "$BATS_TEST_TMPDIR/t.json"
}
