# Python frames of the perf source, which are read while the sampled thread stands still. How many
# samples lack them depends on the load of the machine, so tests ask for few of them; no sample may
# have wrong ones.
source=perf
load ../source
load ../pythons

sampled() { # HZ SCRIPT ARGUMENTS...
	"$SPROF" record -q -o "$data" --source perf -F "$1" -- "$python" "tests/targets/$2" "${@:3}" >"$truth"
	"$SPROF" fold "$data" >"$folded"
}

# At most this share of the samples, in percent, lacks its Python frames.
few_are_missing() { # PERCENT
	awk -v most="$1" '{ n += $NF } /\[Python frames not readable\]/ { bad += $NF }
		END { print bad + 0, "of", n, "samples lack Python frames"; exit !(n && bad * 100 <= n * most) }' "$folded"
}

has_its_shares() {
	sampled 499 python_shares.py 800
	few_are_missing 30
	judge shares "$truth" "$folded"
}

@test "python with perf: loops, calls, released GIL and callbacks from C have their true shares" {
	each_python has_its_shares
}

has_no_impossible_stack() {
	sampled 1999 python_impossible.py 0.4
	judge possible "$folded" 200
}

# bats test_tags=full
@test "python with perf: a leaf that only one function calls is below no other" {
	each_python has_no_impossible_stack
}

# The C functions are in the native stack, which was copied before the Python frames were read.
agrees_with_the_native_stack() {
	sampled 1999 python_natives.py 1 "$1"
	has_c_functions_below_their_callers
}

has_c_functions_below_their_callers() {
	awk '!/not readable/ && /run \(python_natives.py:/ {
			crc = /;in_crc \(/; sort = /;in_sort \(/
			if (/;crc32(_z)?[ ;]/) { seen["crc"] += $NF; wrong += !crc * $NF }
			if (/;(list_sort_impl|PyList_Sort|binarysort)/) { seen["sort"] += $NF; wrong += !sort * $NF }
		}
		END { print seen["crc"] + 0, "in crc32,", seen["sort"] + 0, "in sort,", wrong + 0, "below another function"
			exit !(seen["crc"] > 50 && !wrong) }' "$folded"
}

@test "python with perf: native and Python frames of a sample are of the same moment" {
	each_python agrees_with_the_native_stack 1
}

# Here the kernel need not give a reader the CPU of the sampled thread: 1 to 2 % run on a little.
natives_of_nobody() { # THREADS
	as_nobody
	cp "$BATS_TEST_DIRNAME/../../targets/python_natives.py" "$place/out/"
	"${as[@]}" "$SPROF" record -q -o "$data" --source perf -F 1999 -- \
		/usr/bin/python3 "$place/out/python_natives.py" 3 "$1" >"$truth"
	fold_here
	has_c_functions_below_their_callers
}

# bats test_tags=full
@test "nobody with perf: native and Python frames of a sample are of the same moment" {
	natives_of_nobody 1
}

# bats test_tags=full
@test "nobody with perf: the same of threads that take the GIL from each other" {
	natives_of_nobody 4
}

# bats test_tags=full
@test "python with perf: the same of threads that take the GIL from each other" {
	each_python agrees_with_the_native_stack 4
}

names_what_is_gone() {
	sampled 1999 python_shortlived.py 0.5 often
	# A function that was sampled without its frames is not seen; none may have a wrong name.
	judge named "$truth" "$folded" | tee "$BATS_TEST_TMPDIR/judged" || true
	grep -q ' 0 samples have a wrong name' "$BATS_TEST_TMPDIR/judged"
}

# bats test_tags=full
@test "python with perf: functions that live 3 ms, one in the memory of the other, have their own names" {
	each_python names_what_is_gone
}

# bats test_tags=full
@test "python with perf: workers that are forked and spawned, and programs that are exec'ed, have their frames" {
	python=/usr/bin/python3
	[ -x "$python" ] || skip "no $python"
	sampled 999 python_family.py "$python"
	for part in in_forked in_spawned in_exec; do
		grep -q "$part (python_family.py:[0-9]*);burn (python_family.py:" "$folded"
	done
}

# While others want the CPU, a reader without SCHED_FIFO gets it late: 11 to 18 % at a load of 40. If late readers were
# not used it would be 70 %.
@test "nobody with perf: a script that is started, and one that runs, have Python frames" {
	as_nobody
	cp "$BATS_TEST_DIRNAME"/../../targets/python_shares.py "$place/out/"
	"${as[@]}" "$SPROF" record -q -o "$data" --source perf -F 499 -- /usr/bin/python3 "$place/out/python_shares.py" 500 >"$truth"
	fold_here
	few_are_missing 40
	judge shares "$truth" "$folded"
	cd "$place/out"
	"${as[@]}" /usr/bin/python3 "$place/out/python_shares.py" 60000 >/dev/null 3>&- &
	pids+=($!)
	sleep 0.7
	"${as[@]}" "$SPROF" record -q -o "$data" --source perf -F 499 -d 700ms -p "${pids[-1]}"
	fold_here
	few_are_missing 40
	grep -q 'main (python_shares.py:[0-9]*);loop (python_shares.py:' "$folded"
}

# bats test_tags=full
@test "python with perf: threads have the GIL or not" {
	python=/usr/bin/python3
	[ -x "$python" ] || skip "no $python"
	sampled 499 python_gil.py 0.4
	"$SPROF" info --json "$data" | jq -e '.gil | (.held + .released + .waited_for) as $all |
		.held / $all > 0.35 and .released / $all > 0.25'
}

@test "python with perf: --no-python shows the interpreter's own functions" {
	"$SPROF" record -q -o "$data" --source perf --no-python -- python3 tests/targets/python_shares.py 200
	"$SPROF" fold "$data" >"$folded"
	[ "$(grep -c 'python_shares.py' "$folded")" = 0 ]
	grep -q '_PyEval_EvalFrameDefault' "$folded"
}

# bats test_tags=full
@test "python with perf: a read that never returns ends neither the recording nor the target" {
	local from=$EPOCHREALTIME took status=0
	python3 tests/targets/python_stuck.py 20 >"$truth" 2>&1 3>&- &
	pids+=($!)
	for _ in $(seq 200); do
		! grep -q ready "$truth" || break
		kill -0 "${pids[-1]}" 2>/dev/null || break
		sleep 0.05
	done
	grep -q ready "$truth" || skip "$(cat "$truth")"
	from=$EPOCHREALTIME
	timeout -s KILL 30 "$SPROF" record -o "$data" --source perf -F 499 -d 3s -p "${pids[-1]}" 2>"$truth" || status=$?
	took=$(((${EPOCHREALTIME/./} - ${from/./}) / 1000))
	cat "$truth"
	echo "$took ms"
	[ "$status" -eq 0 ]
	[ "$took" -lt 10000 ]
	grep -q "a read of the memory of process ${pids[-1]} did not return within 1000 ms" "$truth"
	kill -0 "${pids[-1]}"
	[ "$("$SPROF" info --json "$data" | jq '.samples > 100 and .finished')" = true ]
}
