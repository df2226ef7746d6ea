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

# Samples of the stacks that match an awk regular expression.
samples() {
	awk -v pattern="$1" '$0 ~ pattern { n += $NF } END { print n + 0 }' "$folded"
}

# [options of tests/root/shares]
truth_holds() {
	tests/root/shares "$@" "$truth" "$folded"
}
