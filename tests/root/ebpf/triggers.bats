# sprof record --continuous --trigger: what fires on a real kernel, and what follows.
# tests/unit/cli/triggers has what is parsed, measured and compared.
bats_require_minimum_version 1.5.0
load ../flight

teardown() {
	[ -z "${pids[*]-}" ] || { kill -9 "${pids[@]}" 2>/dev/null || true; wait "${pids[@]}" || true; }
	[ -z "${group-}" ] || rmdir "$group" || true
}

# bats test_tags=full
@test "over a limit, the time before is kept, the next is sampled more often, and weights stay right" {
	local true_ns
	# Memory is over the limit for 2 s however busy the machine is.
	"$SPROF" record --continuous "$dir" --segment 1s -F 99 --trigger memory=500K:2s --trigger-for 2s --trigger-rate 1999 \
		-- bash -c 'exec "$0" 5000' "$TARGETS/shares" >"$BATS_TEST_TMPDIR/truth" 2>"$log"
	cat "$log"
	[ "$(grep -c 'trigger memory=500K:2s: process [0-9]* has' "$log")" = 1 ]
	said 'sampling at 1999 Hz for 2 s'
	# Each segment says its own rate; a sample weighs a period of the rate that it was taken at.
	for file in $(segments); do
		"$SPROF" info --json "$file" 2>/dev/null | jq '.frequency_hz'
	done | sort | uniq -c | tee "$BATS_TEST_TMPDIR/rates"
	grep -q ' 99$' "$BATS_TEST_TMPDIR/rates"
	grep -q ' 1999$' "$BATS_TEST_TMPDIR/rates"
	for file in $(segments); do
		"$SPROF" export -f json "$file" 2>/dev/null | jq -r '.samples.weight[]'
	done | sort -n | uniq -c | awk '{ print } $2 != 10101010 && $2 != 500250 { exit 1 }'
	# Read as one, the sum is the CPU time, whatever the rates were.
	true_ns=$(awk '{ sum += $2 } END { print sum }' "$BATS_TEST_TMPDIR/truth")
	"$SPROF" info --json "$dir" | jq -e --argjson t "$true_ns" \
		'.columns[0].sum / $t | . > 0.9 and . < 1.1'
	"$SPROF" info --json "$dir" | jq -e '[.rates[] | "\(.frequency_hz) \(.reason)"] == ["1999 trigger", "99 calm"]'
	"$SPROF" info "$dir" | grep -q '1999 Hz: a trigger fired'
	# Marked, and kept: before and after.
	"$SPROF" info --json "$dir" | jq -e '.marks | length == 1 and (.[0].text | startswith("trigger memory=500K:2s: process"))'
	"$SPROF" fold "$dir/kept" 2>/dev/null | grep -q ';main;'
	"$SPROF" info --json "$dir/kept" 2>/dev/null | jq -e '.segments >= 3 and .samples > 100'
}

# bats test_tags=full
@test "memory of a process over a limit" {
	start python3 -c 'import time; x = bytearray(200 << 20); time.sleep(60)'
	fly --segment 1h -p ${pids[0]} --trigger memory=100M
	wait_until said "trigger memory=100M: process ${pids[0]} has 2"
	wait_until said "1 segment is kept in '$dir/kept'"
	land
}

# bats test_tags=full
@test "pressure over a limit, and not below it" {
	[ -e /proc/pressure/cpu ] || skip "this kernel knows no pressure (CONFIG_PSI)"
	local i
	for i in $(seq $((3 * $(nproc)))); do start "$TARGETS/shares" 30000; done
	fly --segment 1h -F 19 -a --trigger psi=cpu:some:10%,psi=memory:full:100%,psi=cpu:some:20%:700ms
	wait_until said "trigger psi=cpu:some:10%: the machine waited for a CPU for"
	wait_until said "trigger psi=cpu:some:20%:700ms: the machine"
	land
	! said 'psi=memory:full:100%:' || false
}

# bats test_tags=full
@test "the kernel kills a process for lack of memory" {
	group=/sys/fs/cgroup/memory/sprof-$$
	[ -d /sys/fs/cgroup/memory ] || group=/sys/fs/cgroup/sprof-$$
	mkdir "$group" 2>/dev/null || { group=; skip "no cgroup can be made here"; }
	echo $((32 << 20)) >"$group/memory.limit_in_bytes" 2>/dev/null || echo $((32 << 20)) >"$group/memory.max" ||
		skip "no cgroup can be limited here"
	work shares 30000
	fly --segment 1h -p ${pids[0]} --trigger oom
	sleep 1.5
	! said 'trigger oom: ' || false
	bash -c 'echo $$ >"$0/cgroup.procs" && exec python3 -c "x = bytearray(500 << 20)"' "$group" || true
	wait_until said 'trigger oom: the kernel killed a process for lack of memory in the machine'
	land
}

# bats test_tags=full
@test "what cannot work here is said, and the rest works" {
	work shares 30000
	fly --segment 1h -p ${pids[0]} --trigger "cpu@/no/such.slice=10%,cpu@${pids[0]}=10%:1s,memory@4194303=1M"
	said "the trigger 'cpu@/no/such.slice=10%' cannot work here: No such file or directory"
	said "the trigger 'memory@4194303=1M' cannot work here: /proc/4194303/statm: No such file or directory"
	wait_until said "trigger cpu@${pids[0]}=10%:1s: process ${pids[0]} took"
	land
}

# bats test_tags=full
@test "source perf keeps and marks at its own rate" {
	work shares 30000
	fly --segment 1h -s perf -p ${pids[0]} --trigger cpu=10%:1s
	said 'this source cannot change its rate'
	wait_until said "is kept in '$dir/kept'"
	land
	! said 'sampling at 999 Hz' || false
}

# bats test_tags=full
@test "no more is kept than --trigger-max-size allows" {
	mkdir -p "$dir/kept"
	head -c 2000000 /dev/zero >"$dir/kept/sprof-20260101T000000.000Z.data"
	work shares 30000
	fly --segment 1h -p ${pids[0]} --trigger cpu=10%:1s --trigger-max-size 1M
	wait_until said "'$dir/kept' has as much as --trigger-max-size allows"
	land
	[ "$(find "$dir/kept" -name 'sprof-*.data' | wc -l)" = 1 ]
	"$SPROF" info --json "$dir" 2>/dev/null | jq -e '.marks | length == 1'
}

@test "options of triggers that cannot work are refused" {
	local options
	for options in "--trigger cpu=90%" "--continuous $dir --trigger load=3" "--continuous $dir --trigger-for 2m" "--continuous $dir --trigger oom --trigger-rate 0" "--continuous $dir --trigger oom --trigger-max-size 5"; do
		run "$SPROF" record -a $options
		[ "$status" -eq 2 ]
	done
	[ ! -e "$dir" ]
}
