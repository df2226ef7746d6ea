# For tests whose target prints "ready" when it is what they need.

# Starts such a program in the background and waits for the word: $target. Skips the test where the program may not do
# what it is for (exit status 77). COMMAND...
start_ready() {
	local said=$BATS_TEST_TMPDIR/said status=0
	: >"$said" # an earlier program's word must not be read before this one has begun to write
	"$@" >"$said" 2>&1 3>&- &
	target=$!
	for _ in $(seq 500); do
		! grep -q '^ready' "$said" || return 0
		kill -0 $target 2>/dev/null || break
		sleep 0.02
	done
	kill -9 $target 2>/dev/null || true
	wait $target || status=$?
	target=
	cat "$said"
	[ $status -eq 77 ] || return 1
	skip "$(head -1 "$said")"
}

# A recorder of `stuck asked`, whose segments are in the folder, ends in time beside its exec that never ends.
# RECORDER TARGET FOLDER LOG
ends_beside_endless_exec() {
	local from took
	until [ "$(ls "$3"/*.data 2>/dev/null | wc -l)" -ge 2 ]; do
		kill -0 "$1"
		sleep 0.05
	done
	kill -USR1 "$2"
	sleep 3
	from=$EPOCHREALTIME
	kill -INT "$1"
	wait "$1"
	took=$(((${EPOCHREALTIME/./} - ${from/./}) / 1000))
	echo "$took ms"
	cat "$4"
	[ "$took" -lt 8000 ] # else it waits until the file system ends, 20 s after the target began
}
