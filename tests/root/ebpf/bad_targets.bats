# The target or the place of the recording is unusable: sprof prints an error of one line and a
# hint, and exits with the right status.
bats_require_minimum_version 1.5.0
load ../kernel

setup() {
	needs_bpf
}

# Does not use run, which warns of status 127.
record() {
	status=0 stderr=$("$SPROF" record "$@" 2>&1 >/dev/null) || status=$?
	mapfile -t stderr_lines <<<"$stderr"
	echo "sprof record $*: status $status, '$stderr'"
}

fails_with() { # status, start of the error
	[ "$status" -eq "$1" ]
	[[ ${stderr_lines[0]} == "sprof: cannot $2"* ]]
	[ "${#stderr_lines[@]}" -eq 2 ]
	[[ ${stderr_lines[1]} == "hint: "* ]]
	[ ! -e "$data" ]
}

# Root is not told to become root. CAPABILITY
is_remedy_of_root() {
	[[ ${stderr_lines[1]} == "hint: "*"in a container, start that with --cap-add $1"* ]]
	[[ ${stderr_lines[1]} != *sudo* ]]
}

@test "a process that does not exist" {
	sleep 0 3>&- &
	wait $!
	record -o "$data" -p $!
	fails_with 1 "attach to process $!: No such process"
}

@test "one of two processes does not exist" {
	sleep 0 3>&- &
	wait $!
	record -o "$data" -p $$,$!
	fails_with 1 "attach to process $!: No such process"
}

@test "a process that ends while it is attached to" {
	"$TARGETS/shares" 300 >"$truth" 3>&- &
	record -o "$data" -F 999 -p $!
	[ "$status" -eq 0 ]
	[[ $stderr != *cannot* ]]
	fold
	grep -q ';main;part_50' "$folded"
}

# bats test_tags=full
@test "processes that exit at once, again and again" {
	local pid
	for _ in $(seq 30); do
		"$TARGETS/exits_at_once" 3>&- &
		pid=$!
		record -q -o "$data" -p $pid -d 50ms
		[ "$status" -le 1 ]
		[ "$status" -eq 0 ] || [[ ${stderr_lines[0]} == "sprof: cannot attach to process $pid: No such process" ]]
		wait $pid || true
	done
}

# bats test_tags=full
@test "a process of another user, with BPF rights only" {
	# A copy that this user can read: the tree may lie in root's home.
	cp "$TARGETS/shares" "$BATS_TEST_TMPDIR/shares"
	"$BATS_TEST_TMPDIR/shares" 2000 >"$truth" 3>&- &
	local pid=$!
	chmod 755 "$BATS_TEST_TMPDIR" "$BATS_RUN_TMPDIR"
	mkdir -m 777 "$BATS_TEST_TMPDIR/out"
	data=$BATS_TEST_TMPDIR/out/data
	run --separate-stderr setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=+bpf,+perfmon \
		--ambient-caps=+bpf,+perfmon "$SPROF" record -o "$data" -F 999 -d 1s --all-users -p $pid
	echo "status $status, '$stderr'"
	wait $pid
	# sprof either reports that it lacks the right, or works.
	if [ "$status" -ne 0 ]; then
		fails_with 1 "attach to process $pid: "
	else
		fold
		truth_holds
	fi
}

@test "a program that does not exist" {
	record -o "$data" -- /no/such/program
	fails_with 127 "run '/no/such/program': No such file or directory"
}

@test "a program that cannot be run" {
	record -o "$data" -- /etc/passwd
	fails_with 126 "run '/etc/passwd': Permission denied"
}

@test "a folder that does not exist" {
	data=/no/such/folder/data
	record -o "$data" -- true
	fails_with 125 "write '/no/such/folder/data': No such file or directory"
}

@test "a folder in place of the recording" {
	record -o "$BATS_TEST_TMPDIR" -- true
	fails_with 125 "write '$BATS_TEST_TMPDIR': Is a directory"
}

@test "a device in place of the recording" {
	record -o /dev/full -- true
	fails_with 125 "write '/dev/full': "
}

@test "a symbolic link in place of the recording is not followed" {
	echo precious >"$BATS_TEST_TMPDIR/precious"
	ln -s precious "$BATS_TEST_TMPDIR/link"
	record -o "$BATS_TEST_TMPDIR/link" -- true
	fails_with 125 "write '$BATS_TEST_TMPDIR/link': "
	[ "$(cat "$BATS_TEST_TMPDIR/precious")" = precious ]
}

@test "the program's own status comes through, also when it dies of a signal" {
	record -q -o "$data" -- sh -c 'exit 3'
	[ "$status" -eq 3 ]
	record -q -o "$data" -- sh -c 'kill -TERM $$'
	[ "$status" -eq 143 ]
}

@test "without the right to use BPF, root too gets the reason and the remedy" {
	run --separate-stderr setpriv --bounding-set=-bpf,-sys_admin --inh-caps=-bpf,-sys_admin "$SPROF" record --source ebpf -o "$data" -- true
	fails_with 125 "sample with ebpf: no BPF rights"
	is_remedy_of_root BPF
}

# bats test_tags=full
@test "without the right to place probes, root gets the reason and the remedy" {
	run --separate-stderr setpriv --bounding-set=-sys_admin --inh-caps=-sys_admin "$SPROF" record --calls main -o "$data" -- "$TARGETS/shares" 100
	echo "$stderr"
	fails_with 125 "count calls: only root may put a probe into a file (CAP_SYS_ADMIN)"
	is_remedy_of_root SYS_ADMIN
}

# bats test_tags=full
@test "without the right to sample whole CPUs, root gets the reason and the remedy" {
	(($(cat /proc/sys/kernel/perf_event_paranoid) > 0)) || skip "kernel.perf_event_paranoid is 0 or less"
	run --separate-stderr setpriv --bounding-set=-perfmon,-sys_admin --inh-caps=-perfmon,-sys_admin "$SPROF" record --source perf -a -d 1s -o "$data"
	echo "$stderr"
	[ "$status" -eq 1 ]
	[[ $stderr == *"sprof: cannot open perf events on whole CPUs: "*$'\n'"hint: root lacks CAP_PERFMON here: in a container, start that with --cap-add PERFMON" ]]
}

@test "a recording is for its owner's eyes" {
	record -q -o "$data" -- true
	[ "$(stat -c %a "$data")" = 600 ]
}
