# System calls that are counted and timed: sprof record --syscalls.
load ../kernel

setup() {
	needs_bpf
	cd "$BATS_TEST_TMPDIR"
}

@test "system calls have their true numbers and errors" {
	"$SPROF" record -q --source ebpf --syscalls -o data -- "$TARGETS/system_calls" 20000 >truth
	"$SPROF" report --syscalls --json data >calls.json
	"$SPROF" report --syscalls data
	calls_are_true
	jq -e '.rows[] | select(.call == "clock_nanosleep") | .p50_ns >= 4.6e6 and .total_ns >= 1e8 and .p99_ns <= .max_ns' calls.json
	jq -e 'all(.rows[]; .p50_ns <= .p99_ns and .p99_ns <= .max_ns and .total_ns >= .max_ns and .p50_ns * .calls / 2.5 <= .total_ns)' calls.json
	# Without a threshold no call is kept.
	run "$SPROF" fold --column long-calls data
	[ "$status" -eq 1 ]
}

@test "calls of numbers that do not exist leave room for others" {
	"$SPROF" record -q --source ebpf --syscalls -o data -- "$TARGETS/system_calls" 2000 none >truth
	"$SPROF" report --syscalls --json data >calls.json
	"$SPROF" report --syscalls data
	jq -e '[.rows[] | select(.call == "clock_nanosleep")] | length == 1 and .[0].calls == 20' calls.json
	jq -e '[.rows[] | select(.call == "no such system call")] | length == 1 and .[0].calls >= 4000 and
		.[0].calls == .[0].errors' calls.json
	"$SPROF" info --json data | jq -e '.lost == 0'
}

@test "calls over the threshold are kept with their stacks" {
	"$SPROF" record -q --source ebpf --clock wall --syscalls=3ms -o data -- "$TARGETS/system_calls" 2000 >truth
	"$SPROF" fold --time --column long-calls data | awk '
		{ all += $NF } /;main;naps;.*clock_nanosleep_\[w\] [0-9]+$/ { naps += $NF }
		END { printf "%.1f ms of %.1f ms\n", naps / 1e6, all / 1e6; exit naps < 1e8 || naps < 0.9 * all }'
	"$SPROF" report --json --column long-calls data | jq -e '.samples >= 20 and .rows[0].function == "clock_nanosleep"'
	"$SPROF" report --syscalls data | grep 'calls took as long as --syscalls asked for'
}

@test "calls that are too many to be kept are lost samples, and are counted all the same" {
	local from=$SECONDS
	"$SPROF" record -q --source ebpf --syscalls=1us -o data -- "$TARGETS/system_calls" 1000 long >truth
	"$SPROF" report --json --column long-calls data | jq -e --argjson s $((SECONDS - from)) '
		.samples > 100 and .samples <= 10000 * ($s + 2)'
	"$SPROF" info --json data | jq -e '.lost > 10000'
	"$SPROF" report --syscalls --json data | jq -e '.rows[] | select(.call == "read") | .calls > 100000'
}

@test "strace counts the same calls" {
	command -v strace >/dev/null || skip "there is no strace"
	strace -c -o strace.out "$TARGETS/system_calls" 3000 >/dev/null 2>&1 || skip "strace cannot trace here"
	"$SPROF" record -q --source ebpf --syscalls -o data -- "$TARGETS/system_calls" 3000 >truth
	"$SPROF" report --syscalls --json data | jq -r '.rows[] | "\(.call) \(.calls) \(.errors)"' >ours
	awk 'FNR == NR { calls[$1] = $2; errors[$1] = $3; next }
		$NF ~ /^(getppid|write|close|mmap|openat|clock_nanosleep|mprotect)$/ {
			failing = NF == 6 ? $5 : 0
			printf "%s: strace %d, %d; sprof %d, %d\n", $NF, $4, failing, calls[$NF], errors[$NF]
			nr++
			if (calls[$NF] - $4 > 1 || $4 - calls[$NF] > 1 || errors[$NF] != failing)
				failed = 1
		}
		END { exit failed || nr < 6 }' ours strace.out
}

@test "what cannot count system calls says so" {
	run "$SPROF" record --source timer --syscalls -- true
	[ "$status" -eq 2 ]
	[[ $output == *"source timer does not count system calls, only ebpf does"* ]]
	run "$SPROF" record --source ebpf --syscalls -o data -d 1s -u root
	[ "$status" -eq 1 ]
	[[ $output == *"ebpf counts system calls of processes and of the whole system, not of cgroups or users"* ]]
	run "$SPROF" record --syscalls=soon -- true
	[ "$status" -eq 2 ]
	"$SPROF" record -q --source ebpf -o data -- true
	run "$SPROF" report --syscalls data
	[ "$status" -eq 1 ]
	[[ $output == *"it holds no counts of system calls"*"sprof record --syscalls counts them"* ]]
}
