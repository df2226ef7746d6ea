# The recorder or its disk fails suddenly: what remains of the recording is readable.
bats_require_minimum_version 1.5.0
load ../recorder

teardown() {
	[ -z "${target-}" ] || kill "$target" 2>/dev/null || true
	[ ! -d "$BATS_TEST_TMPDIR/disk" ] || umount "$BATS_TEST_TMPDIR/disk" 2>/dev/null || true
}

# bats test_tags=full
@test "kill -9 of the recorder loses at most the last second, and the target lives on" {
	"$TARGETS/shares" 10000 >"$truth" 3>&- &
	target=$!
	sleep 0.3
	"$SPROF" record -q -o "$data" -F 499 -p $target 3>&- &
	local recorder=$!
	while [ ! -e "$data" ]; do sleep 0.05; done
	local from=$EPOCHREALTIME
	sleep 3.5
	kill -9 $recorder
	local to=$EPOCHREALTIME
	wait $recorder || true
	kill -0 $target
	[ "$(told .finished)" = false ]
	[ "$(told .note)" = "the recorder was killed, or is still running" ]
	[ "$(told .samples)" -ge 100 ]
	# Up to the last sample, with half a second more for a machine on which target and recorder
	# must wait.
	[ "$(told ".duration_s >= $to - $from - 1.5")" = true ]
}

# bats test_tags=full
@test "a recording of a killed recorder gets its names when it is read" {
	"$TARGETS/shares" 6000 >"$truth" 3>&- &
	target=$!
	sleep 0.3
	"$SPROF" record -q -o "$data" -F 499 -p $target 3>&- &
	local recorder=$!
	while [ ! -e "$data" ]; do sleep 0.05; done
	sleep 2.5
	kill -9 $recorder
	wait $recorder || true
	[ "$(told .named_frames)" = 0 ] # else this tests nothing
	run --separate-stderr "$SPROF" fold "$data"
	[ "$status" -eq 0 ]
	[[ ${stderr_lines[0]} == "sprof: warning: '$data' is UNFINISHED: the recorder was killed"* ]]
	grep -q ';main;' <<<"$output"
}

# bats test_tags=full
@test "a full disk leaves a recording that says it is unfinished" {
	mkdir "$BATS_TEST_TMPDIR/disk"
	mount -t tmpfs -o size=256k tmpfs "$BATS_TEST_TMPDIR/disk" || skip "cannot mount a tmpfs"
	data=$BATS_TEST_TMPDIR/disk/data
	run --separate-stderr "$SPROF" record -o "$data" -F 4999 -- "$TARGETS/unique" 6000
	[ "$status" -eq 125 ]
	[[ $stderr == *"sprof: cannot write '$data': No space left on device"* ]]
	[ "$(told .finished)" = false ]
	[ "$(told .samples)" -gt 0 ]
	# What is said at the end is what is in the file.
	[[ $stderr == *"sprof: $(told .samples) samples in "*" s, $(told .lost) lost"* ]]
	[ "$(told .lost)" -gt 0 ]
	[[ $(told .note) == "it could not be written: No space left on device" ]]
}

# bats test_tags=full
@test "a limit on the size of files ends a recording as a full disk does" {
	run --separate-stderr bash -c 'ulimit -f 256; exec "$@"' bash "$SPROF" record -o "$data" -F 4999 -- "$TARGETS/unique" 6000
	echo "$stderr"
	[ "$status" -eq 125 ]
	[[ $stderr == *"sprof: cannot write '$data': File too large"* ]]
	[ "$(told .finished)" = false ]
	[ "$(told .samples)" -gt 0 ]
	[ "$(told .lost)" -gt 0 ]
	[[ $(told .note) == "it could not be written: File too large" ]]
}

@test "a program that sprof starts still gets the signal of a file that grows too large" {
	run "$SPROF" record -q -o "$data" -F 99 -- bash -c "ulimit -f 4; exec head -c 100000 /dev/zero >$BATS_TEST_TMPDIR/large"
	[ "$status" -eq $((128 + $(kill -l XFSZ))) ]
}

@test "a recording is private, and the one before it is kept" {
	"$SPROF" record -q -o "$data" -F 99 -- true
	"$SPROF" record -q -o "$data" -F 99 -- false || true
	[ "$(stat -c %a "$data" "$data.old" | uniq)" = 600 ]
	[ "$(told .command)" = false ]
}

# bats test_tags=full
@test "a dumb terminal gets no escapes" {
	command -v script >/dev/null || skip "script is not installed"
	local line="$SPROF record -o $data -F 99 -- $TARGETS/shares 900"
	TERM=dumb script -qec "$line" /dev/null >"$BATS_TEST_TMPDIR/dumb"
	grep -q 'samples in' "$BATS_TEST_TMPDIR/dumb"
	[ "$(grep -c $'\e' "$BATS_TEST_TMPDIR/dumb")" = 0 ]
	# The same on a terminal that is not dumb shows how far it has come.
	TERM=xterm script -qec "$line" /dev/null | grep -q $'\e\[K'
}
