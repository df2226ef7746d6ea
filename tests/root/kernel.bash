# For tests that sample: checks of what they need, and recording of a target together with its
# truth. Leaves in $BATS_TEST_TMPDIR: data (the recording), truth (printed by the target), folded
# (printed by sprof).
cd "$BATS_TEST_DIRNAME/../../.." || exit 1
source tests/rights.bash

needs_bpf() {
	needs_root
	[ -r /sys/kernel/btf/vmlinux ] || skip "this kernel has no BTF (/sys/kernel/btf/vmlinux)"
	PATH=$PATH:/usr/sbin bpftool prog show >/dev/null 2>&1 || skip "this kernel or container refuses bpf()"
	data=$BATS_TEST_TMPDIR/data truth=$BATS_TEST_TMPDIR/truth folded=$BATS_TEST_TMPDIR/folded
}

fold() {
	"$SPROF" fold "$data" >"$folded"
	[ -s "$folded" ]
}

# sprof starts the target: profile TARGET ARGUMENTS...
profile() {
	"$SPROF" record -o "$data" -F 999 -- "$TARGETS/$1" "${@:2}" >"$truth"
	fold
}

# Attaches to a running target; argument 1 is its CPU time in ms, of which the first 2 s are
# sampled.
profile_running() {
	"$TARGETS/$1" "${@:2}" >"$truth" 3>&- &
	local pid=$!
	sleep 0.3
	"$SPROF" record -o "$data" -F 999 -d 2s -p $pid
	wait $pid
	fold
}

# Waits until a command succeeds, for at most 10 s.
wait_until() {
	for _ in $(seq 100); do
		"$@" >/dev/null && return
		sleep 0.1
	done
	return 1
}

# Does a process run this program yet? Before that one that was just started may have another user's rights.
runs_program() { # PID NAME
	local program
	IFS= read -r -d '' program <"/proc/$1/cmdline" || true # which anyone may read
	[[ $program == */"$2" ]]
}

# Samples of the stacks that match an awk regular expression.
samples() {
	awk -v pattern="$1" '$0 ~ pattern { n += $NF } END { print n + 0 }' "$folded"
}

# Records programs from their start, with these options of sprof record. Until its exec, such a process is sprof's own,
# and no recording has anything of that.
starts_without_sprof() { # OPTIONS...
	local nr=0 i
	for i in $(seq 10); do
		"$SPROF" record -q -o "$data" -F 20000 "$@" -- /bin/true
		holds_no_sprof
		"$SPROF" record -q -o "$data" -F 20000 "$@" -- sh -c "for i in 1 2 3; do /bin/true; $TARGETS/shares 10; done"
		holds_no_sprof
	done
	((nr > 50))
}

# Adds the samples of the recording to $nr.
holds_no_sprof() {
	"$SPROF" info --json "$data" >"$BATS_TEST_TMPDIR/info"
	nr=$((nr + $(jq .samples "$BATS_TEST_TMPDIR/info")))
	! jq -r '.threads[].name, .thread_times[].name, .modules[].path' "$BATS_TEST_TMPDIR/info" | grep -E '(^|/)sprof$' || false
}

# [options of tests/root/shares]
truth_holds() {
	tests/root/shares "$@" "$truth" "$folded"
}

# Whether calls.json has the system calls of `truth`, which tests/targets/system_calls prints. The target and the loader
# make a few more.
calls_are_true() {
	local name calls errors
	while read -r name calls errors; do
		jq -e --arg name "$name" --argjson calls "$calls" --argjson errors "$errors" '
			[.rows[] | select(.call == $name)] | length == 1 and
			.[0].calls >= $calls and .[0].calls <= $calls + 20 and
			.[0].errors >= $errors and .[0].errors <= $errors + 5' calls.json
	done <truth
}
