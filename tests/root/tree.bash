# For tests of which processes belong to a target: those that it has started before the recording
# began, the members of a cgroup, the processes of a user. The file that loads this one sets
# source=NAME.
load ../kernel

setup() {
	data=$BATS_TEST_TMPDIR/data truth=$BATS_TEST_TMPDIR/truth folded=$BATS_TEST_TMPDIR/folded
	pids=() group='' messages=$BATS_TEST_TMPDIR/messages
	run "$SPROF" record -q -o "$data" --source $source -- true
	[[ $output != *"sample with $source"* ]] || skip "${lines[0]}"
	[ "$source" != timer ] || needs_attach
}

teardown() {
	[ -z "${pids[*]-}" ] || kill -9 "${pids[@]}" 2>/dev/null || true
	[ -z "${pids[*]-}" ] || wait "${pids[@]}" || true
	[ -z "$group" ] || leave_cgroup
}

# Starts a program in the background; its output is the truth, $target its number. COMMAND...
target() {
	"$@" >"$truth" 3>&- &
	target=$!
	pids+=($target)
	sleep 0.3
}

# Records with these options; what sprof says is in $messages. OPTIONS...
sample() {
	"$SPROF" record -o "$data" --source $source -F 999 "$@" 2>"$messages" || { cat "$messages"; return 1; }
	cat "$messages"
	"$SPROF" fold "$data" >"$folded"
}

# Samples of the threads of that name.
samples_of() { # NAME
	awk -v name="$1" 'index($0, name ";") == 1 { n += $NF } END { print n + 0 }' "$folded"
}

# The processes that a master had started when it was attached to are sampled with it.
preforked() { # [PRINTED]
	target "$TARGETS/prefork" 6000
	sample -d 2500ms -p $target
	wait $target
	truth_holds
	grep -q "^sprof: process $target has started 3 processes" "$messages"
}

# --no-children: neither those that there are nor those that begin later.
without_children() {
	target "$TARGETS/prefork" 4000
	sample -d 1500ms -p $target --no-children
	wait $target
	[ "$(samples_of prefork)" -ge 3 ]
	[ "$(samples 'worker_')" = 0 ]
	target bash -c 'for i in $(seq 40); do for ((j = 0; j < 20000; j++)); do :; done; "$0" 40; done' "$TARGETS/shares"
	sample -d 1500ms -p $target --no-children
	[ "$(samples_of bash)" -ge 3 ]
	[ "$(samples_of shares)" = 0 ]
	sample --no-children -- bash -c 'for ((j = 0; j < 200000; j++)); do :; done; "$0" 300; :' "$TARGETS/shares"
	[ "$(samples_of bash)" -ge 3 ]
	[ "$(samples_of shares)" = 0 ]
}

# -p NAME means every process of that name; one that no process has is an error that lists like ones.
by_name() {
	local name=namesake$$
	cp "$TARGETS/shares" "$BATS_TEST_TMPDIR/$name"
	target "$BATS_TEST_TMPDIR/$name" 4000
	target "$BATS_TEST_TMPDIR/$name" 4000
	sample -d 1500ms -p $name
	grep -qx "sprof: called '$name': processes ${pids[0]}, ${pids[1]}" "$messages"
	[ "$("$SPROF" fold --pid ${pids[0]} "$data" | wc -l)" -ge 1 ]
	[ "$("$SPROF" fold --pid ${pids[1]} "$data" | wc -l)" -ge 1 ]
	run "$SPROF" record -o "$data.none" --source $source -p ${name}x
	echo "$output"
	[ "$status" -eq 1 ]
	[ "${lines[0]}" = "sprof: cannot find a process called '${name}x': none is seen from here" ]
	[ "${lines[1]}" = "hint: these names are like it: $name" ]
	[ ! -e "$data.none" ]
}
