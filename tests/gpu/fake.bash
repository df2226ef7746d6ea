# Runs programs over a fake GPU: tests/gpu/fake_cuda.c, tests/gpu/fake_cupti.c, and tests/gpu/recorder.py as recorder.

fake_setup() {
	bats_require_minimum_version 1.5.0
	export SPROF_GPU_LIBRARY=$BUILD/libsprof-gpu.so LD_LIBRARY_PATH=$BUILD/tests/gpu
	export SPROF_CUPTI=$BUILD/tests/gpu/cuda12/libcupti.so.12
	WORK=$TARGETS/gpu_work
}

# True for the realistic model of CUPTI (tests/gpu/fake_cupti.c), in which realistic.bats runs the other files again.
is_realistic() {
	[ -n "${FAKE_REALISTIC-}" ]
}

# Runs a program under recorder.py, which prints what the agent shared. Arguments: recorder options, --, program.
record() {
	run --separate-stderr timeout "${LIMIT:-60}" python3 tests/gpu/recorder.py "$@"
	[ "$status" -eq 0 ] || { echo "$output"; echo "$stderr"; return 1; }
}

# Records a program with sprof into g.data. Arguments: of sprof record. LIMIT: seconds it may take.
record_gpu() {
	run --separate-stderr timeout "${LIMIT:-60}" "$SPROF" record -s timer -o g.data "$@"
	[ "$status" -eq 0 ] || { echo "$output"; echo "$stderr"; return 1; }
}

# Sum of a field (count, ns, bytes) over the folds of a kind.
fold_sum() { # kind, field
	sed -n "s/^fold $1 .* $2=\([0-9]*\).*/\1/p" <<<"$output" | awk '{ s += $1 } END { print s + 0 }'
}

# Sum over the records of a kind.
record_sum() { # kind
	awk -v kind="$1" '$1 == "record" && $2 == kind { s += $4 - $3 } END { print s + 0 }' <<<"$output"
}

counter() {
	sed -n "s/^counter $1 //p" <<<"$output" | grep . || echo 0
}

calls_of() {
	sed -n "s/^api $1 \([0-9]*\) .*/\1/p" <<<"$output" | grep . || echo 0
}

# Checks a recording: every device is busy or idle at every moment, and the table has the time of the flame graph.
time_is_conserved() { # DATA
	local report flame why=$BATS_TEST_TMPDIR/why

	if ! report=$("$SPROF" report --gpu --json "$1" 2>"$why"); then
		grep -q 'it holds no work of a GPU' "$why" || { cat "$why"; return 1; }
		return 0
	fi
	jq -e '.devices | all(.busy_ns + .idle_ns == .wall_ns)' <<<"$report" >/dev/null ||
		{ echo "$1: busy and idle time are not the wall time"; jq .devices <<<"$report"; return 1; }
	[ "$(jq '.rows | length' <<<"$report")" -gt 0 ] || return 0
	flame=$("$SPROF" fold --column gpu "$1" | awk '{ sum += $NF } END { printf "%.0f", sum }')
	jq -e --argjson flame "$flame" '([.rows[].total_ns] | add) == $flame' <<<"$report" >/dev/null ||
		{ echo "$1: the flame graph has $flame ns"; jq -c '.rows[]' <<<"$report"; return 1; }
}

# What a test leaves as *.data is a whole recording.
check_recordings_left() {
	local data

	for data in "$BATS_TEST_TMPDIR"/*.data "$BATS_FILE_TMPDIR"/*.data; do
		[ ! -s "$data" ] || time_is_conserved "$data" || return 1
	done
}

teardown() {
	check_recordings_left
}
