# One user's files, as many and as odd as they may be, do not take the tables of a recording of the whole system from
# other users' programs; and what no process maps any more is given back.
# bats file_tags=long
bats_require_minimum_version 1.5.0
load ../recorder

setup() {
	needs_bpf
	pids=()
	place=$(mktemp -d /tmp/sprof-limits.XXXXXX)
	chmod 755 "$place"
	cp "$TARGETS/hostile_files" "$place/"
	# Distinct files, which no earlier sample has brought into a table.
	cp "$TARGETS/deep32_nofp" "$place/victim"
	mkdir -m 777 "$place/out"
}

teardown() {
	if [ -n "${pids[*]-}" ]; then
		kill -9 "${pids[@]}" 2>/dev/null || true
		wait "${pids[@]}" || true
	fi
	rm -rf "$place"
}

# Runs the hostile program as the user nobody, in the background. ARGUMENTS...
attack() {
	setpriv --reuid 65534 --regid 65534 --clear-groups "$place/hostile_files" "$@" >"$place/said" 3>&- &
	attacker=$!
	pids+=($attacker)
}

is_ready() {
	grep -q ready "$place/said"
}

# Records the whole system in the background until the victim has run. OPTIONS...
record_system() {
	"$SPROF" record -o "$data" -a -F 199 --gpu=off "$@" 2>"$place/stderr" 3>&- &
	recorder=$!
	pids+=($recorder)
	wait_until test -e "$data"
}

stop_recorder() {
	kill -INT $recorder
	SECONDS=0
	wait $recorder
	echo "stopped after $SECONDS s"
	cat "$place/stderr"
}

# [MS] The program of another user has its stacks, from main to the leaf. It is new, so on a loaded machine its rows may come
# late, and a few stacks are cut; where its file or its rules find no room, all are.
victim_is_complete() {
	"$place/victim" "${1:-4000}" >"$truth"
	stop_recorder
	"$SPROF" fold --comm=victim "$data" >"$folded"
	local whole all
	whole=$(samples '__libc_start_main;.*;main;f1;.*;f30;leaf_[46]0') all=$(samples 'leaf_|unknown|incomplete|rule')
	echo "victim: $whole of $all stacks are whole"
	[ "$whole" -gt 30 ]
	[ $((whole * 2)) -ge "$all" ]
}

# Waits until the recorder has done what was new: it takes less than a fifth of a CPU, or 20 s are over.
wait_until_at_rest() {
	local before now
	before=$(awk '{ print $14 + $15 }' /proc/$recorder/stat)
	for _ in $(seq 40); do
		sleep 0.5
		now=$(awk '{ print $14 + $15 }' /proc/$recorder/stat)
		((now - before >= 10)) || break
		before=$now
	done
}

# What the recorder holds: the number of descriptors and the memory in KiB.
held() {
	echo "$(ls "/proc/$recorder/fd" | wc -l) $(awk '/^VmRSS/ { print $2 }' "/proc/$recorder/status")"
}

# Sets $fds and $kib, as soon as the descriptors are as the test wants them, or after TRIES / 10 s.
wait_until_held() { # -ge|-lt DESCRIPTORS TRIES
	for _ in $(seq "$3"); do
		read -r fds kib < <(held)
		! [ "$fds" "$1" "$2" ] || break
		sleep 0.1
	done
}

# bats test_tags=full
@test "17000 mapped files of one user leave room for those of others" {
	record_system
	attack many 17000 60000
	wait_until is_ready
	wait_until_at_rest
	victim_is_complete
	grep -q 'warning: user 65534 maps more than 8191 files' "$place/stderr"
	[ "$(told '.limits[] | select(.limit == 2).times')" -gt 1000 ]
	# The code of files beyond the limits of a user, or of mappings beyond those of a process, says so.
	"$SPROF" fold --comm=hostile_files "$data" >"$folded"
	grep -qE 'over a limit|\[unknown\]' "$folded"
}

# bats test_tags=full
@test "files with 80000 distinct unwind rules leave rules for others" {
	record_system
	attack rules 4 60000
	wait_until is_ready
	sleep 2
	victim_is_complete
	grep -q "warning: '/memfd:hostile' has more than 8192 distinct unwind rules" "$place/stderr"
	"$SPROF" info "$data" | grep -q 'more than 8192 distinct unwind rules'
	"$SPROF" fold --comm=hostile_files "$data" >"$folded"
	grep -qE 'over a limit|\[unknown\]' "$folded"
}

# bats test_tags=full
@test "files that are mapped and unmapped again fill nothing" {
	record_system
	attack churn 60000
	sleep 6
	held >"$place/held"
	victim_is_complete 10000 # its rows come after those of a second or more of the attack
	read -r fds kib <"$place/held"
	echo "$fds descriptors, $kib KiB"
	[ "$fds" -lt 2000 ]
}

# bats test_tags=full
@test "a file that no process maps any more is closed" {
	record_system
	attack many 3000 60000
	wait_until is_ready
	wait_until_held -ge 1500 100
	echo "$fds descriptors while they are mapped"
	[ "$fds" -ge 1500 ]
	kill -9 $attacker
	wait $attacker || true
	wait_until_held -lt 1000 150
	echo "$fds descriptors, $kib KiB"
	[ "$fds" -lt 1000 ]
	stop_recorder
}

# A host that builds: programs that are new, run for a moment, and are deleted.
# bats test_tags=full,stress
@test "thousands of programs that are run and deleted leave memory and descriptors flat" {
	local first last seconds=20
	[ -z "${STRESS:-}" ] || seconds=${STRESS_SECONDS:-300}
	record_system
	attack build 100000000 "$place/out"
	sleep $((seconds / 4))
	first=$(held)
	sleep $((seconds * 3 / 4))
	last=$(held)
	echo "descriptors and KiB: $first after a quarter, $last at the end"
	kill -9 $attacker
	victim_is_complete
	read -r fds_first kib_first <<<"$first"
	read -r fds_last kib_last <<<"$last"
	# At most 256 deleted files are kept for their names.
	[ "$fds_last" -lt $((fds_first + 400)) ]
	[ "$kib_last" -lt $((kib_first * 3 / 2 + 20000)) ]
	! grep -q 'mapped files' "$place/stderr" || false
}
