# For tests of screens: a terminal of a chosen size, which is tmux's, what stands on it, and keys.
# Each terminal is a tmux server with a socket of its own, because one that was told to end takes a while; the teardown of
# the test calls close_terminal.

needs_tmux() {
	command -v tmux >/dev/null || skip "tmux is not installed"
}

tmux_of_test() {
	tmux -L "sprof-$$-$BATS_TEST_NUMBER-${terminal-}" "$@" 3>&-
}

# Opens a terminal that runs a shell without any settings. COLUMNS ROWS
open_terminal() {
	terminal=$((${terminal-0} + 1))
	tmux_of_test -f /dev/null new-session -d -x "$1" -y "$2" -e LANG=C.UTF-8 -e LC_ALL=C.UTF-8 \
		-e HISTFILE= "bash --norc --noprofile"
	wait_for '^bash'
}

close_terminal() {
	tmux_of_test kill-server 2>/dev/null || true
}

# Prints what stands on the screen, one line of it each.
shown() {
	tmux_of_test capture-pane -p
}

# Types keys, by tmux's names for them.
keys() {
	tmux_of_test send-keys "$@"
}

# Types a command line and Enter.
type_line() {
	tmux_of_test send-keys -l "$1"
	tmux_of_test send-keys Enter
}

# Waits until a line of the screen matches, for at most 15 s. REGEX
wait_for() {
	local i
	for i in $(seq 150); do
		! shown | grep -Eq -- "$1" || return 0
		sleep 0.1
	done
	echo "this never came: $1; the screen has:"
	shown
	return 1
}

# Waits until no line of the screen matches. REGEX
wait_until_gone() {
	local i
	for i in $(seq 150); do
		shown | grep -Eq -- "$1" || return 0
		sleep 0.1
	done
	echo "this stays: $1; the screen has:"
	shown
	return 1
}
