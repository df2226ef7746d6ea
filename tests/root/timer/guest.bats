# The code inside a target under checkers and load: valgrind, ThreadSanitizer, a storm of other
# signals.
bats_require_minimum_version 1.5.0
load ../attach

# The CPU time that the samples stand for equals the CPU time of the program: within 3 % and two
# ticks of 10 ms.
is_whole() { # DATA
	local had
	had=$(sed -n 's/^cpu_ns \([0-9]*\).*/\1/p' "$said")
	"$SPROF" info --json "$1" | jq -e --argjson had "$had" '.lost == 0 and
		((.columns[0].sum - $had) | fabs) < $had * 0.03 + 2e7'
}

# bats test_tags=full
@test "5000 signals a second of its own: none is lost, and the samples stand for its CPU time" {
	said=$BATS_TEST_TMPDIR/said data=$BATS_TEST_TMPDIR/data
	"$SPROF" record -q -o "$data" --source timer -F 999 -- "$TARGETS/sig_storm" 1500 >"$said"
	cat "$said"
	is_whole "$data"
}

# bats test_tags=full, stress
@test "5000 signals a second of its own, attached to again and again" {
	target "$TARGETS/sig_storm" 60000
	drive attach "$target" 20 20 2000
	grep -q '^handlers [1-9]' "$BATS_TEST_TMPDIR/figures"
	nothing_stays
	ends_well
}

# bats test_tags=full
@test "under valgrind the library makes no error, asleep or sampling" {
	command -v valgrind >/dev/null || skip "needs valgrind"
	local log=$BATS_TEST_TMPDIR/errors data=$BATS_TEST_TMPDIR/data
	LD_PRELOAD=$(dirname "$SPROF")/libsprof.so valgrind --error-exitcode=9 --log-file="$log" "$TARGETS/threads8" 50 >/dev/null
	grep -q 'ERROR SUMMARY: 0 errors' "$log"
	"$SPROF" record -q -o "$data" --source timer -F 99 -- valgrind --error-exitcode=9 --log-file="$log" \
		"$TARGETS/threads8" 300 >/dev/null
	grep -q 'ERROR SUMMARY: 0 errors' "$log"
	[ "$("$SPROF" info --json "$data" | jq .samples)" -gt 5 ]
}

# bats test_tags=full
@test "ThreadSanitizer finds nothing in what the target and the recorder share" {
	# ThreadSanitizer needs fixed addresses for its own memory, which randomized mappings may
	# occupy.
	local as=(setarch -R)
	setarch -R true || as=()
	run timeout 60 "${as[@]}" "$TARGETS/race"
	echo "$output"
	[ "$status" -ne 66 ] || [[ $output != *"unexpected memory mapping"* ]] || skip "ThreadSanitizer does not run on this kernel"
	[ "$status" -eq 0 ]
	[[ $output == "samples "*" bad 0" ]]
}
