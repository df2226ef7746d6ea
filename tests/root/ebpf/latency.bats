# CPU samples divided by the number of threads that ran: sprof record --latency.
load ../kernel

setup() {
	needs_bpf
	cd "$BATS_TEST_TMPDIR"
}

# Prints the percentage of the column $1 that rows named $2 have; further arguments are of report.
share() {
	"$SPROF" report --json --column "$1" "${@:3}" data |
		jq --arg name "$2" '[.rows[] | select(.function == $name) | .total_percent] | add // 0'
}

# Is number $1 within $3 of $2?
within() {
	echo "$1, to be $2 +- $3"
	awk -v a="$1" -v b="$2" -v by="$3" 'BEGIN { d = a - b; if (d < 0) d = -d; exit d > by }'
}

needs_two_cpus() {
	[ "$(nproc)" -ge 2 ] || skip "needs two CPUs"
}

# Real-time priority keeps the threads on the CPUs of a busy machine, so that the truth is what it is meant to be.
record() {
	chrt -r 1 true 2>/dev/null || skip "needs CAP_SYS_NICE"
	chrt -r 1 timeout 60 "$SPROF" record -q --source ebpf --latency -F 999 -o data -- "$TARGETS/serial_parallel" "$@" >truth
	cat truth
}

@test "a serial and a parallel phase have their shares of the elapsed time" {
	needs_two_cpus
	local serial parallel all
	record 1500 1000 2
	serial=$(awk '$1 == "alone" { print $2 }' truth) parallel=$(awk '$1 == "together" { print $2 }' truth)
	all=$((serial + parallel))
	"$SPROF" report --column latency data | head -12
	within "$(share latency alone)" "$((1000 * serial / all))e-1" 2
	within "$(share latency together)" "$((1000 * parallel / all))e-1" 2
	within "$(share cpu alone)" "$((1000 * serial / (all + parallel)))e-1" 2
	# All of it is the time in which anything ran. On a busy machine the kernel keeps a twentieth from real-time threads.
	within "$("$SPROF" report --json --column latency data | jq '.ns / 1e6')" $((all * 39 / 40)) $((all / 40 + 120))
	within "$(share latency '1 thread' --by parallelism)" "$((1000 * serial / all))e-1" 5
	"$SPROF" report --json --column latency --label parallelism=1 data | jq -e '.rows[0].function | test("alone|work|now_us|clock_gettime")'
}

# bats test_tags=full
@test "with -a threads of all processes count" {
	needs_two_cpus
	chrt -r 1 true 2>/dev/null || skip "needs CAP_SYS_NICE"
	"$TARGETS/serial_parallel" 20000 10 2 >truth 3>&- &
	local first=$!
	nice -n -20 "$TARGETS/serial_parallel" 20000 10 2 >/dev/null 3>&- &
	local second=$!
	sleep 0.3
	# Without a priority of its own the recorder gets no CPU beside threads of nice -20, and a second takes ten.
	for what in "-a" "-p $first"; do
		chrt -r 1 timeout 60 "$SPROF" record -q --source ebpf --latency -d 1s -F 999 $what -o "data$what"
	done
	kill $first $second
	wait $first $second || true
	mv data-a data
	"$SPROF" report --column latency --by parallelism data | head -12
	[ "$(share latency '1 thread' --by parallelism | cut -d. -f1)" -lt 25 ]
	"$SPROF" info --json data | jq -e '.lost == 0'
	# The same processes one by one are serial, each.
	mv "data-p $first" data
	[ "$(share latency '1 thread' --by parallelism | cut -d. -f1)" -eq 100 ]
}

@test "what cannot tell what else runs says so" {
	run "$SPROF" record --source timer --latency -- true
	[ "$status" -eq 2 ]
	[[ $output == *"source timer does not know what else runs, only ebpf does"* ]]
	run "$SPROF" record --clock off --latency -- true
	[ "$status" -eq 2 ]
	run "$SPROF" report --column latency "$BATS_TEST_DIRNAME/../../golden/recordings/complete.data"
	[ "$status" -eq 1 ]
}
