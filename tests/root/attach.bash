# For tests of stopping other programs and putting code into them. STRESS=1 does it as often as it takes to believe
# it; without, each test is short.
cd "$BATS_TEST_DIRNAME/../.." || exit 1
DRIVERS=$BUILD/tests/drivers

setup() {
	[ "$(id -u)" = 0 ] || [ "$(cat /proc/sys/kernel/yama/ptrace_scope 2>/dev/null || echo 0)" = 0 ] ||
		skip "kernel.yama.ptrace_scope is not 0"
	export END_FILE=$BATS_TEST_TMPDIR/end # targets that know it end when it is there
	pids=() target='' times=${STRESS:+20}
	times=${times:-1}
}

teardown() {
	[ -n "${pids[*]-}" ] || return 0
	kill -9 "${pids[@]}" 2>/dev/null || true
	wait "${pids[@]}" 2>/dev/null || true
}

# Starts a program that is to be attached to, and gives it time to be at work; what it prints is in $said.
target() { # COMMAND...
	said=$BATS_TEST_TMPDIR/said
	rm -f "$END_FILE"
	"$@" >"$said" 2>&1 3>&- &
	target=$!
	pids+=($target)
	sleep 0.3
	# A program that starts threads blocks its signals now and then: not at the moment of this picture.
	for _ in $(seq 20); do
		before=$(footprint)
		grep -q '^SigBlk:.*[1-9a-f]' <<<"$before" || break
		sleep 0.02
	done
}

# What must be the same afterwards: its descriptors, its timers, the signals it handles, and our mappings in it.
footprint() {
	local fd
	for fd in /proc/$target/fd/*; do readlink "$fd" || true; done | grep -E 'memfd|socket:|pipe:|anon_inode' |
		sed 's/\[[0-9]*\]//' | sort | uniq -c
	cat /proc/$target/timers 2>/dev/null || true
	grep -E '^(SigBlk|SigIgn|SigCgt|TracerPid)' /proc/$target/status
	grep -E '^[0-9a-f]*5f0f000-|sprof' /proc/$target/maps || true
}

# Looked at several times: the program itself may be in the middle of something.
nothing_stays() {
	local after
	for _ in $(seq 20); do
		after=$(footprint)
		[ "$after" != "$before" ] || return 0
		sleep 0.05
	done
	diff <(echo "$before") <(echo "$after")
	return 1
}

# The target ends, by itself or asked to, satisfied with how it went.
ends_well() {
	local status=0
	: >"$END_FILE"
	wait "$target" || status=$?
	cat "$said"
	[ "$status" = 0 ]
}

# A driver's figures, also shown to who runs the tests.
drive() { # DRIVER ARGUMENTS...
	local status=0
	timeout -k 1 110 "$DRIVERS/$1" "${@:2}" >"$BATS_TEST_TMPDIR/figures" 2>&1 || status=$?
	sed "s/^/# $BATS_TEST_DESCRIPTION: /" "$BATS_TEST_TMPDIR/figures" | grep ' us ' >&3 || true
	cat "$BATS_TEST_TMPDIR/figures"
	return $status
}

refused() { # reason
	run "$DRIVERS/inject" "$target" 1
	echo "$output"
	[ "$status" -eq 2 ]
	[[ ${lines[0]} == "refused: $1"* ]]
	[[ ${lines[1]} == "hint: "* ]]
}
