# For tests of which processes belong to a target: those that it has started before the recording
# began, the members of a cgroup, the processes of a user. The file that loads this one sets
# source=NAME.
load ../kernel

setup() {
	data=$BATS_TEST_TMPDIR/data truth=$BATS_TEST_TMPDIR/truth folded=$BATS_TEST_TMPDIR/folded
	pids=() groups=() messages=$BATS_TEST_TMPDIR/messages
	run "$SPROF" record -q -o "$data" --source $source -- true
	[[ $output != *"sample with $source"* ]] || skip "${lines[0]}"
	[ "$source" != timer ] || needs_attach
}

teardown() {
	[ -z "${pids[*]-}" ] || kill -9 "${pids[@]}" 2>/dev/null || true
	[ -z "${pids[*]-}" ] || wait "${pids[@]}" 2>/dev/null || true
	cd "$BATS_TEST_DIRNAME/../../.."
	[ -z "${place-}" ] || rm -rf "$place"
	for folder in "${groups[@]}"; do
		# A process that was killed leaves its cgroup a moment later.
		for _ in $(seq 50); do
			rmdir "$folder" 2>/dev/null && break
			sleep 0.1
		done
	done
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
	# On a busy machine there are few samples, and one of them may be in a system call.
	truth_holds -v broken=20
	grep -q "^sprof: process $target has started 3 processes" "$messages"
}

# --no-children: neither those that there are nor those that begin later.
without_children() {
	target "$TARGETS/prefork" 4000
	sample -d 1500ms -p $target --no-children
	wait $target
	[ "$(samples_of prefork)" -ge 1 ]
	[ "$(samples 'worker_')" = 0 ]
	target bash -c 'for i in $(seq 40); do for ((j = 0; j < 20000; j++)); do :; done; "$0" 40; done' "$TARGETS/shares"
	sample -d 1500ms -p $target --no-children
	[ "$(samples_of bash)" -ge 1 ]
	[ "$(samples_of shares)" = 0 ]
	sample --no-children -- bash -c 'for ((j = 0; j < 200000; j++)); do :; done; "$0" 300; :' "$TARGETS/shares"
	[ "$(samples_of bash)" -ge 1 ]
	[ "$(samples_of shares)" = 0 ]
}

# A program that has itself recorded is the parent of its recorder, which leaves itself out, with its own children.
started_by_target() {
	local data=$BATS_TEST_TMPDIR/own.data log=$BATS_TEST_TMPDIR/own.log
	bash -c '"$@" & while kill -0 $! 2>/dev/null; do for ((j = 0; j < 5000; j++)); do :; done; done' bash \
		bash -c 'exec "$0" record -s "$1" -F 499 -d 2s -o "$2" -p $PPID 2>"$3"' "$SPROF" "$source" "$data" "$log"
	cat "$log"
	! grep -q 'warning\|has started' "$log" || false
	[ "$("$SPROF" fold "$data" | sed 's/;.*//' | sort -u)" = bash ]
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

# The samples of these programs are in that row of a report, with few of others: the shell that
# started them may have had some. WHAT ROW NAME...
belongs() {
	local name sum=0
	for name in "${@:3}"; do sum=$((sum + $(samples_of $name))); done
	"$SPROF" report --json --by $1 "$data" 2>/dev/null | jq -e --arg row "$2" --argjson sum $sum \
		'[.rows[] | select(.function == $row)] | length == 1 and .[0].self >= $sum and .[0].self <= 1.1 * $sum + 5'
}

# Makes a cgroup that ends with the test, and one below it that is called like a container's:
# $groups.
make_cgroups() {
	local mount
	needs_root "make a cgroup"
	mount=$(awk '/ - cgroup2 / { print $5; exit }' /proc/self/mountinfo)
	[ -n "$mount" ] || skip "no cgroup2 is mounted"
	mkdir "$mount/sprof-$$" 2>/dev/null || skip "cgroup2 cannot be written to here"
	number=$(printf '%032d%032d' $$ $$) # of a container
	groups=("$mount/sprof-$$/docker-$number.scope" "$mount/sprof-$$")
	mkdir "${groups[0]}"
}

# Starts a program under another name in a cgroup. FOLDER NAME COMMAND ARGUMENTS...
in_cgroup() {
	ln -s "$3" "$BATS_TEST_TMPDIR/$2"
	target sh -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$1" "$BATS_TEST_TMPDIR/$2" "${@:4}"
}

# --cgroup: the processes in it and below it, those that enter later, and no others.
of_cgroup() {
	make_cgroups
	in_cgroup "${groups[1]}" member "$TARGETS/shares" 60000
	in_cgroup "${groups[0]}" deeper "$TARGETS/shares" 60000
	ln -s "$TARGETS/shares" "$BATS_TEST_TMPDIR/outsider"
	target "$BATS_TEST_TMPDIR/outsider" 60000
	ln -s "$TARGETS/shares" "$BATS_TEST_TMPDIR/later"
	(
		sleep 1
		echo $BASHPID >"${groups[1]}/cgroup.procs"
		exec "$BATS_TEST_TMPDIR/later" 60000
	) >/dev/null 3>&- &
	pids+=($!)
	sample -d 4s --cgroup "/sprof-$$"
	[ "$(samples_of member)" -ge 5 ]
	[ "$(samples_of deeper)" -ge 5 ]
	[ "$(samples_of later)" -ge 5 ]
	[ "$(samples_of outsider)" = 0 ]
	belongs cgroup "/sprof-$$" member later
	belongs cgroup "/sprof-$$/docker-$number.scope" deeper
	belongs container "docker ${number:0:12}" deeper
	belongs container "[no container]" member later
	belongs user root member later deeper
	sample -d 700ms --cgroup "${groups[0]}"
	[ "$(samples_of deeper)" -ge 5 ]
	[ "$(samples_of member)" = 0 ]
}

# A recording ends with its cgroup; a folder that is no cgroup of version 2 is refused.
end_of_cgroup() {
	make_cgroups
	in_cgroup "${groups[1]}" member "$TARGETS/shares" 1000
	(
		while kill -0 $target 2>/dev/null; do sleep 0.1; done
		until rmdir "${groups[@]}" 2>/dev/null; do sleep 0.1; done
	) 3>&- &
	pids+=($!)
	timeout 60 "$SPROF" record -q -o "$data" --source $source --cgroup "${groups[1]}" 3>&- &
	local recorder=$!
	pids+=($recorder)
	wait $target
	wait $recorder
	groups=()
	run "$SPROF" record -o "$data.none" --source $source --cgroup /tmp
	echo "$output"
	[ "$status" -eq 1 ]
	[ "${lines[0]}" = "sprof: cannot sample cgroup '/tmp': No such file or directory" ]
	run "$SPROF" record -o "$data.none" --source $source --cgroup /sys/fs/cgroup/../../../tmp
	[ "$status" -eq 1 ]
	[ "${lines[0]}" = "sprof: cannot sample cgroup '/sys/fs/cgroup/../../../tmp': it is no cgroup of version 2" ]
}

# -u: the processes of a user, those that come later, and no others.
of_user() {
	local user=61234
	needs_root "run a program as another user"
	place=$(mktemp -d /tmp/sprof-tree.XXXXXX)
	chmod 755 "$place"
	for name in mine later others; do cp "$TARGETS/shares" "$place/$name"; done
	target setpriv --reuid $user --regid $user --clear-groups "$place/mine" 60000
	target "$place/others" 60000
	(
		sleep 1
		exec setpriv --reuid $user --regid $user --clear-groups "$place/later" 60000
	) >/dev/null 3>&- &
	pids+=($!)
	# Looking for new processes takes at most a fiftieth of the time.
	sample -d 7s -u $user
	[ "$(samples_of mine)" -ge 5 ]
	[ "$(samples_of later)" -ge 5 ]
	[ "$(samples_of others)" = 0 ]
	belongs user "user $user" mine later
	run "$SPROF" record -o "$data.none" --source $source -u no-such-user
	[ "$status" -eq 2 ]
	[ "${lines[0]}" = "sprof record: there is no user 'no-such-user'" ]
}

# PostgreSQL as anybody runs it: the number of the server's first process stands for the process of
# each connection.
of_postgres() {
	local as=() backend
	for program in initdb postgres psql; do
		command -v $program >/dev/null || skip "no PostgreSQL: $program is not there"
	done
	[ "$(id -u)" != 0 ] || as=(setpriv --reuid 65534 --regid 65534 --clear-groups env HOME=/)
	place=$(mktemp -d /tmp/sprof-tree.XXXXXX)
	[ "$(id -u)" != 0 ] || chown 65534:65534 "$place"
	cd "$place"
	"${as[@]}" initdb -D "$place/db" -A trust -U postgres --no-sync >"$BATS_TEST_TMPDIR/initdb" 2>&1 ||
		skip "initdb: $(tail -1 "$BATS_TEST_TMPDIR/initdb")"
	target "${as[@]}" postgres -D "$place/db" -k "$place" -c listen_addresses='' -c fsync=off 2>/dev/null
	for _ in $(seq 100); do [ ! -S "$place/.s.PGSQL.5432" ] || break; sleep 0.1; done
	"${as[@]}" psql -h "$place" -U postgres -qtAc 'select pg_backend_pid()' \
		-c 'select count(*) from generate_series(1, 100000000) n where n % 7 = 3' >"$place/out" 2>&1 3>&- &
	pids+=($!)
	for _ in $(seq 100); do [ ! -s "$place/out" ] || break; sleep 0.1; done
	backend=$(head -1 "$place/out")
	[ "$(ps -o ppid= -p "$backend" | tr -d ' ')" = "$target" ]
	sample -d 2s -p "$target"
	cd "$BATS_TEST_DIRNAME/../../.."
	"$SPROF" report --json --by process "$data" 2>/dev/null | jq -e --arg row "postgres (pid $backend)" \
		'[.rows[] | select(.function == $row)] | length == 1 and .[0].self >= 20'
	pkill -9 -P "$target" || true
}
