# For tests of stopping other programs and putting code into them. STRESS=1 does it as often as it takes to believe
# it, which is hours; with STRESS_SECONDS=N each program has no longer than that. Without, each test is short.
cd "$BATS_TEST_DIRNAME/../../.." || exit 1
source tests/rights.bash
DRIVERS=$BUILD/tests/drivers

setup() {
	needs_attach
	[ -z "${root_for-}" ] || needs_root "$root_for" # of a file all of whose tests do
	export END_FILE=$BATS_TEST_TMPDIR/end # targets that know it end when it is there
	export READY_FILE=$BATS_TEST_TMPDIR/ready # and those that take long to start make this one
	pids=() target='' times=${STRESS:+20}
	times=${times:-1}
	life=$((60000 * times * times)) # of a target, ms
}

# As often as this: a few times, or what STRESS asks for.
often() { # FEW MANY
	[ -n "${STRESS-}" ] && echo "$2" || echo "$1"
}

teardown() {
	[ -n "${pids[*]-}" ] || return 0
	kill -9 "${pids[@]}" 2>/dev/null || true
	wait "${pids[@]}" 2>/dev/null || true
}

# Starts a program that is to be attached to, and gives it time to be at work; what it prints is in $said.
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
	# On a busy machine it may still be on its way here; and a program that starts threads blocks its signals now and
	# then. The picture to compare with is one that is the same twice, with no signal blocked, unless one is for good.
	local last='' tries
	before=''
	for tries in $(seq 50); do
		last=$before
		before=$(footprint)
		[ "$before" != "$last" ] || { [ "$tries" -lt 8 ] && grep -q '^SigBlk:.*[1-9a-f]' <<<"$before"; } || break
		sleep 0.05
	done
}

# What must be the same afterwards: its descriptors, its timers, the signals it handles, and our mappings in it.
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

# A leak of one page in each of STRESS's cycles would be more than this; a program that works varies by less.
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
	local status=0 limit before
	limit=$(often 110 "${STRESS_SECONDS:-36000}")
	before=$(sizes)
	timeout -k 30 "$limit" "$DRIVERS/$1" "${@:2}" >"$BATS_TEST_TMPDIR/figures" 2>&1 || status=$?
	sed "s/^/# $BATS_TEST_DESCRIPTION: /" "$BATS_TEST_TMPDIR/figures" | grep -E "$(often ' us ' ' us |: (cycle|handlers)')" >&3 || true
	cat "$BATS_TEST_TMPDIR/figures"
	# Asked to end, it says how far it came.
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
