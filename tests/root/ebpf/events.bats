# Events beside the clock, each with a column of its own: sprof record -e.
load ../kernel

setup() {
	needs_bpf
	cd "$BATS_TEST_TMPDIR"
}

record() {
	timeout 60 "$SPROF" record -q --source ebpf -o data "$@"
}

# Prints how many events of column $1 function $2 and what it calls have.
weight() {
	"$SPROF" report --json --column "$1" data |
		jq --arg name "$2" '[.rows[] | select(.function == $name) | .total_events] | add // 0'
}

# Is number $1 within $3 percent of $2?
near() {
	echo "$1, to be $2 to $3 %"
	awk -v a="$1" -v b="$2" -v percent="$3" 'BEGIN { d = a - b; if (d < 0) d = -d; exit d * 100 > b * percent }'
}

# Tracepoints have their numbers in tracefs, which not every host mounts: in a namespace of mounts
# of its own, a test can.
with_tracefs() {
	if [ -e /sys/kernel/tracing/events ]; then
		"$@"
	else
		unshare -m sh -c 'mount -t tracefs nodev /sys/kernel/tracing && exec "$@"' sh "$@"
	fi
}

needs_tracefs() {
	with_tracefs test -e /sys/kernel/tracing/events/syscalls/sys_enter_getppid/id ||
		skip "tracefs cannot be mounted here, or lacks system calls"
}

# A fault in the kernel on the target's behalf, or another thread's, is not in these functions.
@test "with a period of 1 every page fault and context switch is where it happened" {
	record -c 1 -e page-faults,context-switches,minor-faults -- "$TARGETS/kernel_events" 500
	"$SPROF" report --column page-faults data | head -12
	near "$(weight page-faults few)" 1500 0.5
	near "$(weight page-faults many)" 3500 0.5
	near "$(weight minor-faults many)" 3500 0.5
	near "$(weight context-switches naps)" 500 5
	"$SPROF" fold --column page-faults data | awk '/;many;?/ { n += $NF } END { print n; exit n < 3480 || n > 3520 }'
	"$SPROF" report --column page-faults data | grep 'every one counted'
	# No clock was asked for, and the first event is what is shown.
	run "$SPROF" fold --column cpu data
	[ "$status" -eq 1 ]
	"$SPROF" report --json data | jq -e '.column == "page-faults" and .event == "page-faults"'
}

# The period also counts faults of other processes. Of so many samples the deviation is 3 to 5 %.
# As long as the recorder has no time for the tables of a program, its stacks are copied up to a limit.
@test "a stack that was met before the tables were made says so" {
	record -c 1 -e page-faults -- sh -c 'kill -STOP $PPID; "$0" 300; kill -CONT $PPID' "$TARGETS/kernel_events"
	"$SPROF" info --json data >info.json
	"$SPROF" fold --column page-faults data >folded
	"$SPROF" info data
	grep -E ';(few|many)' folded
	near "$(weight page-faults many)" 2100 1
	! grep -F '[unknown];' folded || false
	# Those of before are whole, and of the others each is counted.
	grep -qE ';main;(few|many)' folded
	local told
	told=$(awk '/\[incomplete: no unwind table yet\]/ { n += $NF } END { print n + 0 }' folded)
	[ "$told" -gt 100 ]
	jq -e --argjson told "$told" '[.incomplete_by_reason[] | select(.reason == "[incomplete: no unwind table yet]").samples] == [$told]' info.json
	"$SPROF" info data | grep -F '[incomplete: no unwind table yet]'
}

@test "a program that begins on a busy CPU has its callers" {
	taskset -c 0 timeout 60 "$SPROF" record -q --source ebpf -o data -c 1 -e page-faults -- taskset -c 0 "$TARGETS/kernel_events" 100
	"$SPROF" fold --column page-faults data | grep -E ';(few|many)'
	[ "$(weight page-faults many)" -ge 695 ]
	near "$(weight page-faults main)" 1005 2
}

@test "samples of an event weigh their period, beside the clock" {
	record -F 999 -e cpu-clock,page-faults@10 -- "$TARGETS/kernel_events" 2000
	near "$(weight page-faults few)" 6000 15
	near "$(weight page-faults many)" 14000 15
	"$SPROF" fold --column cpu data | grep -q ';many'
	"$SPROF" report --json data | jq -e '.column == "cpu"'
	# Collapsed stacks have the weight, too.
	"$SPROF" fold --column page-faults data | awk '{ n += $NF } END { exit n < 16000 }'
	"$SPROF" report --json --column page-faults data | jq -e '.samples < 4000 and .samples > 1000'
}

# Have page faults of two functions their shares, 3 to 7?
faults_by_frequency() {
	local few many
	record -F 999 -e page-faults -- "$TARGETS/kernel_events" 4000
	few=$(weight page-faults few) many=$(weight page-faults many)
	echo "few $few, many $many"
	[ $((few + many)) -gt 20000 ] && near $((1000 * few / (few + many))) 300 33
}

# The kernel guesses the next period at each of its ticks. Where the program is kept from its CPU meanwhile, it guesses
# wrongly, by factors of a hundred: then another recording is made.
# bats test_tags=full
@test "an event without a period is sampled by frequency" {
	local i
	for i in 1 2 3 4 5 6; do
		! faults_by_frequency || return 0
	done
	return 1
}

@test "every event of a tracepoint is where it happened, and one of a period stands for all" {
	needs_tracefs
	with_tracefs timeout 60 "$SPROF" record -q --source ebpf -o data \
		-e tracepoint:syscalls:sys_enter_getppid,syscalls:sys_enter_nanosleep -- "$TARGETS/kernel_events" 400
	[ "$(weight syscalls:sys_enter_getppid asks)" -eq 2000 ]
	[ "$(weight syscalls:sys_enter_getppid main)" -eq 2000 ]
	with_tracefs timeout 60 "$SPROF" record -q --source ebpf -o data -c 100 \
		-e syscalls:sys_enter_getppid -- "$TARGETS/kernel_events" 2000
	near "$(weight syscalls:sys_enter_getppid asks)" 10000 2.1
	"$SPROF" report --json data | jq -e '.samples <= 100 and .column == "syscalls:sys_enter_getppid"'
}

@test "a switch seen by two events has both columns, and one is told per other" {
	needs_tracefs
	with_tracefs timeout 60 "$SPROF" record -q --source ebpf -F 999 -o data \
		-e cpu-clock,page-faults@1,syscalls:sys_enter_getppid@1 -- "$TARGETS/kernel_events" 1000
	"$SPROF" report --column page-faults --per cpu data | head -14
	# A fault or a call about every 20 us, of which some hundred microseconds may be interrupts.
	"$SPROF" report --json --column page-faults --per cpu data | jq -e '
		[.rows[] | select(.function == "many")][0] | .per == "cpu" and .total_ratio > 10000 and .total_ratio < 60000'
	"$SPROF" report --json --column page-faults --per syscalls:sys_enter_getppid data | jq -e '
		[.rows[] | select(.function == "main")][0].total_ratio | . > 1.98 and . < 2.1'
	"$SPROF" report --json --column page-faults --per syscalls:sys_enter_getppid data | jq -e '
		[.rows[] | select(.function == "many")][0].total_ratio == null'
	"$SPROF" report --csv --column page-faults --per cpu data | head -1 | grep 'self_ratio,total_ratio'
}

@test "recordings with events are merged, compared, filtered and exported by name" {
	record -c 1 -e page-faults,context-switches -- "$TARGETS/kernel_events" 200
	mv data a
	record -c 1 -e context-switches,page-faults -- "$TARGETS/kernel_events" 100
	mv data b
	"$SPROF" merge a b -o data
	near "$(weight page-faults many)" 2100 1
	near "$(weight context-switches naps)" 300 6
	"$SPROF" diff --column page-faults --json a b | jq -e '.rows | length > 0'
	# --event keeps one event, whatever its number in the file.
	"$SPROF" report --event page-faults --json b | jq -e '.event == "page-faults" and .column == "page-faults"'
	near "$("$SPROF" fold --event page-faults b | awk '/;many/ { n += $NF } END { print n }')" 700 2
	"$SPROF" info b | grep '^page-faults '
	"$SPROF" info --json b | jq -e '[.columns[] | select(.unit == "count") | .name] | sort == ["context-switches", "page-faults"]'
	"$SPROF" export -f json b | jq -e '[.columns[].name] | sort == ["context-switches", "page-faults"]'
	"$SPROF" export -f pprof -o b.pb.gz b
	gzip -dc b.pb.gz | grep -a -q page-faults
	"$SPROF" flame -o b.html b
	"$SPROF" flame --butterfly page-faults,context-switches -o b.svg b
	run "$SPROF" report --column instructions b
	[ "$status" -eq 1 ]
	[[ $output == *"show column instructions of 'b': it holds no such event"* ]]
	run "$SPROF" report --event instructions b
	[ "$status" -eq 1 ]
}

@test "waits and events are recorded together" {
	record --clock wall -e cpu-clock,page-faults@1 -- "$TARGETS/kernel_events" 200
	near "$(weight page-faults many)" 1400 1
	"$SPROF" fold --column waiting data | grep -q ';naps'
}

# bats test_tags=full
@test "events of a running process and of its children are sampled" {
	"$TARGETS/kernel_events" 20000 >/dev/null 3>&- &
	local pid=$!
	sleep 0.2
	record -c 1 -e page-faults -d 1s -p $pid
	kill $pid
	wait $pid || true
	"$SPROF" report --json data | jq -e '.samples > 100 and .incomplete * 20 < .samples'
	[ "$(weight page-faults few)" -gt 100 ]
}

@test "hardware events that the host lacks are refused before the program starts" {
	run timeout 60 "$SPROF" record --source ebpf -e instructions,cycles -o data -- touch ran
	if [ "$status" -eq 0 ]; then
		"$SPROF" report --column instructions data | grep IPC
		skip "this host counts instructions"
	fi
	[ "$status" -eq 125 ]
	[[ $output == *"cannot count 'instructions': this host has no hardware counters"* ]]
	[[ $output == *"page-faults"* ]]
	[ ! -e ran ]
	for event in cycles@1000 r1a8 LLC-load-misses cache-misses:u; do
		run timeout 60 "$SPROF" record --source ebpf -e $event -o data -- touch ran
		[ "$status" -eq 125 ]
		[[ $output == *"this host has no hardware counters"* ]]
	done
	run timeout 60 "$SPROF" record --source ebpf -c 1000 -e cycles -o data -- touch ran
	[ "$status" -eq 125 ]
	[ ! -e ran ]
}

@test "events that there are not, or that cannot be sampled, are refused" {
	run timeout 60 "$SPROF" record --source ebpf -e page-fault -o data -- touch ran
	[ "$status" -eq 125 ]
	[[ $output == *"cannot count 'page-fault': there is no such event"* ]]
	run timeout 60 "$SPROF" record --source ebpf -e nopmu/x/ -o data -- touch ran
	[[ $output == *"this host has no PMU 'nopmu'"* ]]
	if [ -e /sys/bus/event_source/devices/msr/events/tsc ]; then
		run timeout 60 "$SPROF" record --source ebpf -c 1000 -e msr/tsc/ -o data -- touch ran
		[[ $output == *"count 'msr/tsc/': the kernel counts it but takes no samples of it"* ]]
		run timeout 60 "$SPROF" record --source ebpf -c 1000 -e tsc -o data -- touch ran
		[[ $output == *"count 'msr/tsc/': the kernel counts it but takes no samples of it"* ]]
	fi
	run timeout 60 "$SPROF" record --source ebpf -e ../x:y -o data -- touch ran
	[ "$status" -eq 125 ]
	if needs_tracefs; then
		run with_tracefs timeout 60 "$SPROF" record --source ebpf -e sched:no_such -o data -- touch ran
		[[ $output == *"this kernel has no such tracepoint"* ]]
	fi
	if [ ! -e /sys/kernel/tracing/events ] && [ ! -e /sys/kernel/debug/tracing/events ]; then
		run timeout 60 "$SPROF" record --source ebpf -e sched:sched_switch -o data -- touch ran
		[[ $output == *"tracefs, which has the numbers of tracepoints, is not mounted"* ]]
		[[ $output == *"mount -t tracefs"* ]]
	fi
	[ ! -e ran ]
}

@test "a user without rights is told what it takes" {
	local opened # that user may not be allowed to enter the folder
	exec {opened}<"$SPROF"
	run setpriv --reuid 65534 --regid 65534 --clear-groups timeout 60 "/proc/self/fd/$opened" record -e page-faults -o "$BATS_TEST_TMPDIR/data" -- true
	exec {opened}<&-
	[ "$status" -ne 0 ]
	[[ $output == *"cannot sample 'page-faults': only the source ebpf samples events beside the clock"* ]]
	[[ $output == *"cannot sample with ebpf: "* ]]
}

@test "events that are misspelt or contradict other options are refused" {
	run "$SPROF" record --source timer -e page-faults -- true
	[ "$status" -eq 2 ]
	[[ $output == *"source timer samples no events beside the clock, only ebpf does"* ]]
	run "$SPROF" record --source perf -e page-faults -- true
	[ "$status" -eq 2 ]
	local events
	for events in page-faults@0 page-faults@-1 page-faults@1x cpu-clock@3 cpu-clock,auto page-faults,page-faults \
		, page-faults, '' a:a,a:b,a:c,a:d,a:e,a:f,a:g,a:h,a:i "$(printf '%064d' 0)"; do
		echo "$events"
		run "$SPROF" record -e "$events" -o data -- touch ran
		[ "$status" -eq 2 ]
		[ ! -e ran ]
	done
	run "$SPROF" record -e page-faults --clock wall -- true
	[ "$status" -eq 2 ]
	[[ $output == *"--clock wall needs the clock: -e cpu-clock,page-faults"* ]]
	run "$SPROF" record -c 10 -- true
	[ "$status" -eq 2 ]
	[[ $output == *"-c needs -e EVENT, of events other than the clock"* ]]
	run "$SPROF" record -c 0 -e page-faults -- true
	[ "$status" -eq 2 ]
}
