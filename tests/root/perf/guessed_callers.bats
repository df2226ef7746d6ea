# Where no rule leads on, the recorder looks for the caller on the stack, marks what it found, and counts the stack as
# incomplete. The target's function `run` gives no rules: it has computed gotos, and here its .debug_frame is removed.
load ../kernel

setup() {
	needs_root
	command -v objcopy >/dev/null || skip "there is no objcopy"
	data=$BATS_TEST_TMPDIR/data folded=$BATS_TEST_TMPDIR/folded
	export XDG_CACHE_HOME=$BATS_TEST_TMPDIR
	objcopy -R .debug_frame "$TARGETS/computed_goto" "$BATS_TEST_TMPDIR/target"
}

needs_source() { # SOURCE
	local said
	said=$("$SPROF" record -q -s "$1" -o "$data" -- true 2>&1) || skip "${said%%$'\n'*}"
	rm "$data"
}

guesses_callers() { # SOURCE
	needs_source "$1"
	"$SPROF" record -s "$1" -o "$data" -F 999 -- "$BATS_TEST_TMPDIR/target"
	fold
	echo "$(samples ';main;\\[incomplete: guessed callers\\];run') guessed, $(samples ';main;run') not"
	[ "$(samples ';main;\\[incomplete: guessed callers\\];run')" -gt 30 ]
	[ "$(samples ';main;run')" = 0 ]
	# those before the tables were there
	[ "$(samples '\\[no unwind rule\\];run')" -lt "$(samples ';main;\\[incomplete')" ]
	"$SPROF" info --json "$data" | jq -e '.incomplete_by_reason[] | select(.reason == "[incomplete: guessed callers]") | .samples > 30'
	"$SPROF" info "$data" | grep -q '[0-9]  \[incomplete: guessed callers\]$'
	"$SPROF" report "$data" >"$BATS_TEST_TMPDIR/report"
	grep -q 'guessed callers' "$BATS_TEST_TMPDIR/report"
	"$SPROF" flame -o "$BATS_TEST_TMPDIR/flame.svg" "$data"
	grep -q 'incomplete: guessed callers' "$BATS_TEST_TMPDIR/flame.svg"
}

@test "perf guesses callers and says so" {
	guesses_callers perf
}

@test "timer guesses callers and says so" {
	guesses_callers timer
}

# bats test_tags=full
@test "stacks that rules lead through have no guesses" {
	local source
	needs_source perf
	for source in perf timer; do
		"$SPROF" record -s $source -o "$data" -F 999 -- "$TARGETS/deep32_nofp" 1000 >/dev/null
		fold
		[ "$(samples 'guessed')" = 0 ]
		[ "$(samples ';main;f')" -gt 50 ]
		rm "$data"
	done
}
