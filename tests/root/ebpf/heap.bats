# The live heap of a process that ended: the table of live blocks outlives it.
load ../recorder
load ../allocations
load ../../cli/go_pprof

# bats file_tags=heap

teardown() {
	[ -z "${go-}" ] || exec {go}>&-
	[ -n "${pids[*]-}" ] && kill -9 "${pids[@]}" 2>/dev/null
	wait 2>/dev/null
	[ -z "${group-}" ] || wait_until rmdir "$group"
}

# A memory cgroup of its own, with a limit. BYTES
limited_group() {
	if [ -e /sys/fs/cgroup/memory/memory.limit_in_bytes ]; then
		group=/sys/fs/cgroup/memory/sprof-test-$$-$BATS_TEST_NUMBER
		mkdir "$group" 2>/dev/null || skip "no memory cgroup can be made here"
		echo "$1" >"$group/memory.limit_in_bytes"
		swap=$group/memory.memsw.limit_in_bytes
	else
		group=/sys/fs/cgroup/sprof-test-$$-$BATS_TEST_NUMBER
		mkdir "$group" 2>/dev/null || skip "no cgroup can be made here"
		echo "$1" 2>/dev/null >"$group/memory.max" || {
			rmdir "$group"
			group=
			skip "this cgroup has no memory controller"
		}
		swap=$group/memory.swap.max
	fi
	[ ! -e "$swap" ] || echo 0 2>/dev/null >"$swap" || echo "$1" >"$swap"
}

# Starts hoard, in $group if there is one. [MIB]
start_hoard() {
	rm -f "$BATS_TEST_TMPDIR/input" "$BATS_TEST_TMPDIR/held"
	mkfifo "$BATS_TEST_TMPDIR/input"
	: >"$truth"
	bash -c '[ -z "$1" ] || echo $$ >"$1/cgroup.procs"; shift; exec "$@"' sh "${group-}" \
		"$TARGETS/hoard" "$BATS_TEST_TMPDIR/held" "$@" <"$BATS_TEST_TMPDIR/input" >"$truth" 3>&- &
	hoard=$!
	pids+=($hoard)
	exec {go}>"$BATS_TEST_TMPDIR/input"
	until_says ready
}

# Records hoard from its beginning to its end. RECORD-OPTIONS...
record_hoard() {
	rm -f "$data"
	"$SPROF" record -o "$data" "$@" -p $hoard 2>"$BATS_TEST_TMPDIR/said" 3>&- &
	recorder=$!
	pids+=($recorder)
	while [ ! -e "$data" ]; do
		kill -0 $recorder
		sleep 0.02
	done
	sleep 0.2
	echo >&$go
}

# Compares what is live at each place with what was held there. INTERVAL SIGMAS
compare_held() {
	od -An -v -t u8 -w8 "$BATS_TEST_TMPDIR/held" | awk '{ print $1 }' >"$BATS_TEST_TMPDIR/words"
	"$SPROF" fold --column live "$data" | awk -v interval="$1" -v sigmas="$2" '
	BEGIN { split("hold_large hold_middle hold_small hold_leak", names, " ") }
	FNR == NR { truth[names[FNR]] = $1; next }
	{ all += $NF; for (name in truth) if (index($0, name)) sum[name] += $NF }
	function check(name, is, want,   sigma) {
		sigma = want ? (is - want) / sqrt(interval * want) : 0
		printf "%s: %.0f, to be %.0f: %.1f sigma\n", name, is, want, sigma
		if ((sigma < 0 ? -sigma : sigma) > sigmas || (!want && is)) bad = 1
	}
	END {
		for (name in truth) { whole += truth[name]; check(name, sum[name], truth[name]) }
		exit bad || !whole
	}' "$BATS_TEST_TMPDIR/words" -
}

kill_by_cgroup() { # HOW-OFTEN
	local i
	for i in $(seq "$1"); do
		echo "kill $i"
		start_hoard
		record_hoard --alloc=64k
		wait $recorder
		! wait $hoard || false
		exec {go}>&-
		cat "$BATS_TEST_TMPDIR/said"
		grep -q "process $hoard was killed by the kernel for lack of memory" "$BATS_TEST_TMPDIR/said"
		compare_held 65536 4.5
		"$SPROF" flame --column live -o "$BATS_TEST_TMPDIR/heap.svg" "$data"
		grep -q hold_large "$BATS_TEST_TMPDIR/heap.svg"
	done
}

@test "what a process held when the kernel killed it for memory is in the recording" {
	limited_group 80M
	kill_by_cgroup 1
	"$SPROF" report --column live "$data" >"$BATS_TEST_TMPDIR/report"
	cat "$BATS_TEST_TMPDIR/report"
	grep -q "process $hoard was killed by the kernel for lack of memory after" "$BATS_TEST_TMPDIR/report"
}

# bats test_tags=full
@test "twenty kills for memory leave the right places with the right bytes" {
	limited_group 80M
	kill_by_cgroup 20
}

# KILLS=N: another number of them.
# bats test_tags=full, stress
@test "a hundred kills for memory leave the right places with the right bytes" {
	[ -n "${STRESS-}${KILLS-}" ] || skip "make stress"
	limited_group 80M
	kill_by_cgroup "${KILLS:-100}"
}

@test "kill -9: the live heap and the signal are in the recording" {
	start_hoard 30
	record_hoard --alloc=64k
	until_says full
	kill -9 $hoard
	wait $recorder
	cat "$BATS_TEST_TMPDIR/said"
	grep -q "process $hoard was killed by signal 9 (Killed)" "$BATS_TEST_TMPDIR/said"
	compare_held 65536 4.5
}

@test "an exit: the live heap and the status are in the recording" {
	start_hoard 30
	record_hoard --alloc=64k
	until_says full
	echo >&$go
	wait $recorder
	cat "$BATS_TEST_TMPDIR/said"
	grep -q "process $hoard exited with status 3" "$BATS_TEST_TMPDIR/said"
	compare_held 65536 4.5
}

# Live over time of hoard, whose memory grows steadily, and which lets go of much in between.
@test "live at a moment, at the peak, and leaks, by every command alike" {
	start_hoard 60
	record_hoard --alloc=64k
	until_says full
	kill -9 $hoard
	wait $recorder
	"$SPROF" report --column live "$data"
	local whole half
	whole=$("$SPROF" fold --column live "$data" | awk '{ s += $NF } END { print s }')
	# The highest point is the end, and nothing of let_go() is in it but its last block.
	[ "$("$SPROF" fold --peak "$data" | awk '{ s += $NF } END { print s }')" -ge "$whole" ]
	"$SPROF" report --peak "$data" | grep 'memory in use when it was most, at'
	# Leaks are what was allocated in the middle, at the same shares.
	"$SPROF" report --leaks "$data" | grep 'that was allocated from .* and not freed'
	half=$("$SPROF" fold --leaks=0,1h "$data" | awk '{ s += $NF } END { print s }')
	echo "$whole $half"
	awk -v a="$whole" -v b="$half" 'BEGIN { exit b < 0.99 * a || b > 1.01 * a }'
	"$SPROF" fold --leaks=0,1h "$data" | grep -q hold_leak
	# The same choice means the same in each command.
	local moment at # half of the time that it grew for
	moment=$("$SPROF" report --peak "$data" | awk 'sub(/.*when it was most, at /, "") { print int($1 * (/^[0-9.]+ ms/ ? 1 : 1000) / 2) "ms" }')
	at=$("$SPROF" fold --at "$moment" "$data" | awk '{ s += $NF } END { print s }')
	[ "$at" -lt "$whole" ]
	[ "$("$SPROF" report --json --at "$moment" "$data" | jq .bytes)" -eq "$at" ]
	[ "$("$SPROF" report --json --at "$moment" "$data" | jq '.rows[0].total_bytes_margin > 0')" = true ]
	"$SPROF" export --at "$moment" -f collapsed "$data" | awk -v at="$at" '{ s += $NF } END { exit s != at }'
	"$SPROF" lines --at "$moment" -i "$data" hoard.c | grep -q hold_large
	"$SPROF" flame --at "$moment" -o "$BATS_TEST_TMPDIR/at.svg" "$data"
	grep -q 'memory in use at' "$BATS_TEST_TMPDIR/at.svg"
	"$SPROF" diff --at "$moment" "$data" "$data" | grep -q 'hold_large\|no change\|within' || true
	# Before the first allocation nothing is live, and that is shown, not another column.
	"$SPROF" report --at 0 "$data" | grep 'memory in use at 0 .*: 0 B'
	run "$SPROF" report --at 1 --from 2 "$data"
	[ "$status" -eq 2 ]
	run "$SPROF" report --at 1 --peak "$data"
	[ "$status" -eq 2 ]
	run "$SPROF" report --at 10h "$data"
	[ "$status" -eq 1 ]
}

# Some 25 samples of it are expected: it is found if the error that is printed does not reach down to nothing.
# bats test_tags=full
@test "a leak of 1 % of the heap is found, and nothing else is called one" {
	start_sites "$TARGETS/alloc_leak"
	record_sites --alloc=8k
	cat "$BATS_TEST_TMPDIR/said"
	compare live 3 8192 4.5
	"$SPROF" report --leaks "$data"
	"$SPROF" report --leaks --json "$data" | jq -r '.rows[] | select(.self_bytes > 0 or .function == "fill_table") |
		"\(.function) \(.total_bytes) \(.total_bytes_margin)"' >"$BATS_TEST_TMPDIR/leaks"
	cat "$BATS_TEST_TMPDIR/leaks"
	[ "$(wc -l <"$BATS_TEST_TMPDIR/leaks")" -eq 1 ]
	awk -v lost="$(awk '$1 == "lose_some" { print $2 }' "$truth")" '
		{ exit !($1 == "lose_some" && $2 > $3 && $2 - $3 < lost) }' "$BATS_TEST_TMPDIR/leaks"
}

# bats test_tags=full
@test "go tool pprof reads all four values of a heap profile" {
	command -v go >/dev/null || skip "go is not installed"
	start_hoard 30
	record_hoard --alloc=64k
	until_says full
	kill -9 $hoard
	wait $recorder
	local pprof=$BATS_TEST_TMPDIR/heap.pb.gz type column
	"$SPROF" export -f pprof -o "$pprof" "$data"
	for of in alloc_space:allocated alloc_objects:allocations inuse_space:live inuse_objects:live-objects; do
		type=${of%:*} column=${of#*:}
		go_pprof -raw -sample_index="$type" "$pprof" 2>/dev/null | grep -q "$type/"
		go_pprof -top -unit=bytes -nodecount=0 -nodefraction=0 -edgefraction=0 -sample_index="$type" "$pprof" 2>/dev/null |
			awk '$NF == "hold_middle" || $NF == "hold_large" { gsub(/[A-Za-z]+/, "", $4); print $NF, $4 }' | sort >"$BATS_TEST_TMPDIR/theirs"
		"$SPROF" report --json --column "$column" "$data" |
			jq -r --arg c "$column" '.rows[] | select(.function == "hold_middle" or .function == "hold_large") |
				"\(.function) \(.total_bytes // ."total_\($c)")"' | sort >"$BATS_TEST_TMPDIR/ours"
		cat "$BATS_TEST_TMPDIR/theirs" "$BATS_TEST_TMPDIR/ours"
		[ "$(wc -l <"$BATS_TEST_TMPDIR/ours")" -eq 2 ]
		cmp "$BATS_TEST_TMPDIR/theirs" "$BATS_TEST_TMPDIR/ours"
	done
}
