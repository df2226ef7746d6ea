# Files of FUSE servers and of overlay file systems: those of users could hold up the recorder, those of root may not be
# taken for them.
bats_require_minimum_version 1.5.0
cd "$BATS_TEST_DIRNAME/../../.." || exit 1
source tests/rights.bash
source tests/root/ready.bash

setup() {
	needs_root "mount file systems, and to record processes of another user"
	data=$BATS_TEST_TMPDIR/data target= inside=()
	run "$SPROF" record -q -o "$data" --source ebpf -- true
	[[ $output != *"sample with ebpf"* ]] || skip "${lines[0]}"
}

teardown() {
	[ -n "${target-}" ] || return 0
	kill -9 "$target" 2>/dev/null || true
	wait "$target" 2>/dev/null || true
}

# Makes what an attack by an ordinary user takes: a folder to mount at, a copy of the program that he can run, and a
# device that all may open, as most distributions have it. Sets `attack`, the command. PROGRAM
prepare() {
	local place=$BATS_TEST_TMPDIR/place
	chmod 755 "$BATS_RUN_TMPDIR" "$BATS_TEST_TMPDIR"
	mkdir -p -m 755 "$place"
	cp "$TARGETS/$1" "$BATS_TEST_TMPDIR/program"
	[ -e "$BATS_TEST_TMPDIR/fuse" ] || mknod "$BATS_TEST_TMPDIR/fuse" c 10 229 || skip "cannot make a device node"
	chmod 666 "$BATS_TEST_TMPDIR/fuse"
	attack=(setpriv --reuid=65534 --regid=65534 --clear-groups
		"$BATS_TEST_TMPDIR/program" "$BATS_TEST_TMPDIR/fuse" "$place")
}

# Records, and sets `took`, in ms. OPTIONS...
record_for_a_second() {
	local from=$EPOCHREALTIME
	run --separate-stderr timeout -s KILL 30 "${inside[@]}" "$SPROF" record -o "$data" -F 999 -d 1s "$@"
	took=$(((${EPOCHREALTIME/./} - ${from/./}) / 1000))
	echo "$took ms; $output $stderr"
}

# bats test_tags=full
@test "an overlay that a user has mounted over a FUSE server holds up no recorder of root's" {
	local source
	prepare served_code
	for source in ebpf perf; do
		start_ready "${attack[@]}"
		record_for_a_second --source $source -p "$target"
		# The server still runs, so nothing has waited for its end.
		kill -0 "$target"
		kill -9 "$target"
		wait "$target" || true
		target=
		[ "$status" -eq 0 ]
		[[ $stderr == *"files on FUSE and overlay file systems that users have mounted are not opened (refused "* ]]
		[ "$("$SPROF" info --json "$data" | jq '.samples > 5 and .finished')" = true ]
	done
}

# What fusermount(1) mounts for a user with the option allow_other, which an administrator may permit; seen from the mount
# namespace in which it is, and from another.
# bats test_tags=full
@test "a file of a FUSE server that a user has mounted holds up no recorder of root's" {
	local source space
	needs_unshare -m
	mkdir -p "$BATS_TEST_TMPDIR/place"
	for source in ebpf perf; do
		unshare -m sleep 30 3>&- &
		space=$!
		while [ "$(cat /proc/$space/comm)" != sleep ]; do sleep 0.02; done
		start_ready nsenter -t $space -m "$TARGETS/served_code" /dev/fuse "$BATS_TEST_TMPDIR/place" 65534
		[ $source = perf ] || inside=(nsenter -t $space -m)
		record_for_a_second --source $source -p "$target"
		inside=()
		[ "$status" -eq 0 ]
		kill -0 "$target"
		kill -9 "$target" $space
		wait "$target" $space || true
		target=
		[[ $stderr == *"files on FUSE and overlay file systems that users have mounted are not opened (refused "* ]]
		[ "$("$SPROF" info --json "$data" | jq '.samples > 5 and .finished')" = true ]
	done
}

# bats test_tags=full
@test "a file of a FUSE server in place of GPU data holds up no recorder of root's" {
	prepare served_region
	export SAID=$BATS_TEST_TMPDIR/said
	record_for_a_second --source ebpf --gpu on -- sh -c '"$0" "$@" >"$SAID" 2>&1 & sleep 2' "${attack[@]}"
	# The program ends when its server does.
	pkill -9 -f "^$BATS_TEST_TMPDIR/program" || true
	grep -q "handed over" "$SAID" || skip "$(head -1 "$SAID")"
	# Had the recorder closed the file, it would have waited for the server's end, 12 seconds after the start.
	[ "$took" -lt 8000 ]
	[ "$status" -eq 0 ]
	[[ $stderr == *"process "*" could not hand over its GPU data: Operation not permitted"* ]]
	[ "$("$SPROF" info --json "$data" | jq '.finished')" = true ]
}

# bats test_tags=full
@test "programs on overlays that root has mounted keep their names" {
	local place=$BATS_TEST_TMPDIR/place
	mkdir "$place"
	start_ready unshare -m sh -c 'mount -t tmpfs none "$0" && cd "$0" && mkdir upper work lower all && cp "$1" lower/program &&
		mount -t overlay -o lowerdir=lower,upperdir=upper,workdir=work overlay all || exit 77
		echo ready; exec "$0/all/program" 60000' "$place" "$TARGETS/shares"
	record_for_a_second --source ebpf -p "$target"
	[ "$status" -eq 0 ]
	[[ $stderr != *"are not opened"* ]]
	"$SPROF" fold "$data" | grep -E ';main;'
}
