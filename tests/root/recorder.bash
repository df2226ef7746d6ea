# For tests of sprof record itself: targets and recorders in the background, and their results.
load ../kernel

setup() {
	needs_bpf
	pids=()
}

teardown() {
	[ -n "${pids[*]-}" ] || return 0
	kill -9 "${pids[@]}" 2>/dev/null || true
	wait "${pids[@]}" || true
}

# Starts a process in the background; the teardown ends it. TARGET ARGUMENTS...
start() {
	"$@" >/dev/null 2>&1 3>&- &
	pids+=($!)
}

# Starts a target and gives it time to get to work.
work() {
	start "$TARGETS/$1" "${@:2}"
	sleep 0.3
}

# Starts a recorder in the background and returns when it is ready. OPTIONS...
record() {
	env --default-signal=HUP "$SPROF" record -q -o "$data" "$@" 3>&- & # a nohup around the tests is not for it
	recorder=$!
	pids+=($recorder)
	while [ ! -e "$data" ]; do
		kill -0 $recorder || {
			cat "$BATS_TEST_TMPDIR/said" 2>/dev/null # where a test keeps what it says
			return 1
		}
		sleep 0.05
	done
}

# [jq expression]
told() {
	"$SPROF" info --json "$data" 2>/dev/null | jq -r "$1"
}

# Prints the ids of the BPF programs that a process holds. PID
programs_of() {
	sed -n 's/^prog_id:[[:space:]]*//p' /proc/"$1"/fdinfo/* 2>/dev/null
}

# Prints how many of these BPF programs still exist. NUMBER...
programs_left() {
	local id left=0
	for id; do
		! PATH=$PATH:/usr/sbin bpftool prog show id "$id" >/dev/null 2>&1 || left=$((left + 1))
	done
	echo $left
}

# Links to a target, so that the kernel and the profile see another name.
named() { # NAME TARGET
	ln -sf "$TARGETS/$2" "$BATS_TEST_TMPDIR/$1"
	echo "$BATS_TEST_TMPDIR/$1"
}
