# Overlay file systems: those of users, whose FUSE servers could hold up the recorder, and those of root.
bats_require_minimum_version 1.5.0
cd "$BATS_TEST_DIRNAME/../../.." || exit 1
source tests/rights.bash

setup() {
	needs_root "mount file systems, and to record processes of another user"
	data=$BATS_TEST_TMPDIR/data target=
	run "$SPROF" record -q -o "$data" --source ebpf -- true
	[[ $output != *"sample with ebpf"* ]] || skip "${lines[0]}"
}

teardown() {
	[ -n "${target-}" ] || return 0
	kill -9 "$target" 2>/dev/null || true
	wait "$target" 2>/dev/null || true
}

# Starts what prints "ready" in the background: $target. COMMAND...
start() {
	"$@" >"$BATS_TEST_TMPDIR/said" 2>&1 3>&- &
	target=$!
	for _ in $(seq 250); do
		! grep -q '^ready' "$BATS_TEST_TMPDIR/said" || return 0
		kill -0 $target 2>/dev/null || break
		sleep 0.02
	done
	local status=0
	kill -9 $target 2>/dev/null || true
	wait $target || status=$?
	target=
	cat "$BATS_TEST_TMPDIR/said"
	[ $status -eq 77 ] || return 1
	skip "$(head -1 "$BATS_TEST_TMPDIR/said")"
}

# Starts the attack as an ordinary user, through a device that all may open, as most distributions have it.
attack() {
	local place=$BATS_TEST_TMPDIR/place
	chmod 755 "$BATS_RUN_TMPDIR" "$BATS_TEST_TMPDIR"
	mkdir -p -m 755 "$place"
	cp "$TARGETS/served_overlay" "$BATS_TEST_TMPDIR/program"
	[ -e "$BATS_TEST_TMPDIR/fuse" ] || mknod "$BATS_TEST_TMPDIR/fuse" c 10 229 || skip "cannot make a device node"
	chmod 666 "$BATS_TEST_TMPDIR/fuse"
	start setpriv --reuid=65534 --regid=65534 --clear-groups \
		"$BATS_TEST_TMPDIR/program" "$BATS_TEST_TMPDIR/fuse" "$place"
}

@test "an overlay that a user has mounted over a FUSE server holds up no recorder of root's" {
	local source from took
	for source in ebpf perf; do
		attack
		from=$EPOCHREALTIME
		run --separate-stderr timeout -s KILL 30 "$SPROF" record -o "$data" --source $source -F 999 -d 1s -p "$target"
		took=$(((${EPOCHREALTIME/./} - ${from/./}) / 1000))
		echo "$source: $took ms; $output $stderr"
		# The server still runs, so nothing has waited for its end.
		kill -0 "$target"
		kill -9 "$target"
		wait "$target" || true
		target=
		[ "$status" -eq 0 ]
		[[ $stderr == *"files on overlay file systems that users have mounted are not opened (refused "* ]]
		[ "$("$SPROF" info --json "$data" | jq '.samples > 5 and .finished')" = true ]
	done
}

@test "programs on overlays that root has mounted keep their names" {
	local place=$BATS_TEST_TMPDIR/place
	mkdir "$place"
	start unshare -m sh -c 'mount -t tmpfs none "$0" && cd "$0" && mkdir upper work lower all && cp "$1" lower/program &&
		mount -t overlay -o lowerdir=lower,upperdir=upper,workdir=work overlay all || exit 77
		echo ready; exec "$0/all/program" 60000' "$place" "$TARGETS/shares"
	run --separate-stderr timeout -s KILL 30 "$SPROF" record -o "$data" --source ebpf -F 999 -d 1s -p "$target"
	echo "$output $stderr"
	[ "$status" -eq 0 ]
	[[ $stderr != *"are not opened"* ]]
	"$SPROF" fold "$data" | grep -E ';main;'
}
