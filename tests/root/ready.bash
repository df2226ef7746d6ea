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
