# sprof record --source timer: programs that the targets start without the library, and what sprof
# reports of those that it cannot sample.
load ../attach

prepare() {
	data=$BATS_TEST_TMPDIR/data
}

# Counts the samples in processes of this name.
samples_of() {
	"$SPROF" fold "$data" | awk -v name="$1" 'index($0, name ";") == 1 { n += $NF } END { print n + 0 }'
}

# bats test_tags=full
@test "follow: children of a process that was attached to, and nothing stays in them" {
	prepare
	target bash -c 'sleep 60 & echo $!; while [ ! -e "$END_FILE" ]; do "$0" 150; done >/dev/null; kill %1' \
		"$TARGETS/shares"
	old=$(head -1 "$said")
	"$SPROF" record -v -o "$data" --source timer -F 999 -d 3s -p $target
	[ "$(samples_of shares)" -ge 5 ]
	for child in $old $(pgrep -P $target); do
		! grep -E '^[0-9a-f]*5f0f000-' /proc/$child/maps || false
		[ -z "$(cat /proc/$child/timers)" ]
	done
	ends_well
}

# bats test_tags=full
@test "follow: children that are over at once are said" {
	prepare
	target bash -c 'while [ ! -e "$END_FILE" ]; do (for ((i = 0; i < 300; i++)); do :; done); done'
	run "$SPROF" record -o "$data" --source timer -d 2s -p $target
	echo "$output"
	[ "$status" -eq 0 ]
	[[ $output == *"warning: "*" child processes were too short to be followed, "*" ms of CPU time"* ]]
	ends_well
}

# bats test_tags=full
@test "follow: a program without its environment is attached to" {
	prepare
	"$SPROF" record -o "$data" --source timer -F 999 -- env -i "$TARGETS/shares" 1000
	[ "$(samples_of shares)" -ge 50 ]
	"$SPROF" record -o "$data" --source timer -F 999 -- sh -c "$TARGETS/shares_static 1000; :"
	[ "$(samples_of shares_static)" -ge 50 ]
}

# bats test_tags=full
@test "follow: a program that can be reached in no way is named, with the reason" {
	prepare
	run "$SPROF" record -o "$data" --source timer -- env -i "$TARGETS/seccomped" timers 1 "$TARGETS/shares" 500
	echo "$output"
	[ "$status" -eq 0 ]
	[[ $output == *"warning: process "*" ('shares') was not sampled, "*" ms of CPU time: it was started without our LD_PRELOAD, and "*seccomp* ]]
	run "$SPROF" record -o "$data" --source timer -- env -i "$TARGETS/seccomped" timers 1 "$TARGETS/shares_static" 500
	[[ $output == *"('shares_static') was not sampled, "*": it is linked statically, and "*seccomp* ]]
}

# bats test_tags=full
@test "follow: a child that was forked behind libc's back" {
	command -v python3 >/dev/null || skip "no python3"
	prepare
	"$SPROF" record -o "$data" --source timer -F 999 -- python3 -c '
import ctypes, os, time
child = ctypes.CDLL(None).syscall(57)
if child:
	os.waitpid(child, 0)
	os._exit(0)
print(ctypes.CDLL(None).syscall(39), flush=True)
end = time.process_time() + 1
while time.process_time() < end:
	pass
os._exit(0)' >"$BATS_TEST_TMPDIR/child"
	"$SPROF" report --by process --csv "$data" | grep "(pid $(cat "$BATS_TEST_TMPDIR/child"))"
}
