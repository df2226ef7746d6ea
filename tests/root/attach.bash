# For tests that stop other programs and put code into them. STRESS=1 repeats everything often
# enough to be convincing, which takes hours; with STRESS_SECONDS=N each program runs for at most N
# seconds. Without STRESS each test is short.
cd "$BATS_TEST_DIRNAME/../../.." || exit 1
source tests/rights.bash
DRIVERS=$BUILD/tests/drivers

setup() {
	needs_attach
	[ -z "${root_for-}" ] || needs_root "$root_for" # set by a file if all of its tests need root
	[ -z "${without_filter-}" ] || needs_no_filter # likewise
	export END_FILE=$BATS_TEST_TMPDIR/end # targets that support it end when it appears
	export READY_FILE=$BATS_TEST_TMPDIR/ready # slow starters create it when they are ready
	pids=() target='' times=${STRESS:+20}
	times=${times:-1}
	life=$((60000 * times * times)) # of a target, in ms
}

# Prints the number of repetitions: FEW, or MANY under STRESS.
often() { # FEW MANY
	[ -n "${STRESS-}" ] && echo "$2" || echo "$1"
}

teardown() {
	[ -n "${pids[*]-}" ] || return 0
	kill -9 "${pids[@]}" 2>/dev/null || true
	wait "${pids[@]}" 2>/dev/null || true
}

# Starts a program to attach to, and gives it time to get to work; its output is in $said.
target() { # COMMAND...
	said=$BATS_TEST_TMPDIR/said
	rm -f "$END_FILE" "$READY_FILE"
	"$@" >"$said" 2>&1 3>&- &
	target=$!
	pids+=($target)
	sleep 0.3
	for _ in $([[ "$*" != *READY_FILE* ]] || seq 200); do
		[ ! -e "$READY_FILE" ] || break
		sleep 0.05
	done
	# On a busy machine it may still be starting; and a program that starts threads blocks its
	# signals now and then. The reference is therefore a state that is the same twice, with no
	# signal blocked, unless one stays blocked.
	local last='' tries
	before=''
	for tries in $(seq 50); do
		last=$before
		before=$(footprint)
		[ "$before" != "$last" ] || { [ "$tries" -lt 8 ] && grep -q '^SigBlk:.*[1-9a-f]' <<<"$before"; } || break
		sleep 0.05
	done
}

# What must be the same afterwards: its descriptors, timers, handled signals, and our mappings in
# it.
footprint() {
	local fd
	for fd in /proc/$target/fd/*; do readlink "$fd" || true; done | grep -E 'memfd|socket:|pipe:|anon_inode' |
		sed 's/\[[0-9]*\]//' | sort | uniq -c
	cat /proc/$target/timers 2>/dev/null || true
	grep -E '^(SigBlk|SigIgn|SigCgt|TracerPid)' /proc/$target/status
	grep -E '^[0-9a-f]*5f0f000-|/[^/]*sprof[^/]*$' /proc/$target/maps || true # a checkout may be in a folder named sprof
}

# What must not grow: its memory in KiB, its mappings, its descriptors.
sizes() {
	awk '/^VmRSS/ { print $2 }' /proc/$target/status
	wc -l </proc/$target/maps
	find /proc/$target/fd -mindepth 1 2>/dev/null | wc -l
}

# A leak of one page in each of the cycles of STRESS would exceed this; the variation of a working
# program is smaller.
nothing_grew() { # SIZES-BEFORE
	local was now tries
	read -r -d '' -a was <<<"$1" || true
	for tries in $(seq 20); do
		read -r -d '' -a now < <(sizes) || true
		[ $((now[0] - was[0])) -lt 16384 ] && [ $((now[1] - was[1])) -lt 40 ] && [ $((now[2] - was[2])) -lt 16 ] && break
		sleep 0.05
	done
	[ -z "${STRESS-}" ] || echo "# $BATS_TEST_DESCRIPTION: memory ${was[0]} -> ${now[0]} KiB," \
		"mappings ${was[1]} -> ${now[1]}, descriptors ${was[2]} -> ${now[2]}" >&3
	[ "$tries" -lt 20 ]
}

# Checks several times, because the program itself may be in the middle of a change.
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

# The target ends, by itself or on request, and reports that nothing was wrong.
ends_well() {
	local status=0
	: >"$END_FILE"
	wait "$target" || status=$?
	cat "$said"
	[ "$status" = 0 ]
}

# A driver's figures, which also go to the test's output.
drive() { # DRIVER ARGUMENTS...
	local status=0 limit before
	limit=$(often 110 "${STRESS_SECONDS:-36000}")
	before=$(sizes)
	timeout -k 30 "$limit" "$DRIVERS/$1" "${@:2}" >"$BATS_TEST_TMPDIR/figures" 2>&1 || status=$?
	sed "s/^/# $BATS_TEST_DESCRIPTION: /" "$BATS_TEST_TMPDIR/figures" | grep -E "$(often ' us ' ' us |: (cycle|handlers)')" >&3 || true
	cat "$BATS_TEST_TMPDIR/figures"
	# When asked to end, it prints how far it came.
	[ $status != 124 ] || [ -z "${STRESS_SECONDS-}" ] || ! grep -q 'ok' "$BATS_TEST_TMPDIR/figures" || status=0
	[ $status != 0 ] || nothing_grew "$before"
	return $status
}

refused() { # reason
	run "$DRIVERS/inject" "$target" 1
	echo "$output"
	[ "$status" -eq 2 ]
	[[ ${lines[0]} == "refused: $1"* ]]
	[[ ${lines[1]} == "hint: "* ]]
}
