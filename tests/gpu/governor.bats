# sprof record --max-overhead: what the library costs is measured and kept within the limit, and estimates say how far off
# they may be. Over the fake GPU; no privileges are needed.

load fake.bash

setup() {
	fake_setup
	cd "$BATS_TEST_TMPDIR"
}

record_limited() {
	LIMIT=100 record_gpu "$@"
	"$SPROF" report --gpu --json -n 0 g.data >r.json
}

counter_of() {
	jq --arg n "$1" '[.counters[] | select(.name == $n).value] | add // 0' r.json
}

@test "without a limit, and within it, everything is collected" {
	record_limited --max-overhead 50% -- "$WORK" launch:1000
	jq -e '[.rows[] | select(.name == "gemm_kernel").calls] == [1000] and .estimates == [] and .levels == []' r.json
	[ "$(counter_of windows)" -eq 0 ]
	record_limited -- "$WORK" launch:1000
	[ "$(counter_of 'ns of cost that were measured')" -eq 0 ]
}

# The account may be short by the price of the last window, which is higher where the machine is busy.
within_limit() { # parts per thousand
	local cost=$(counter_of 'ns of cost that were measured') time=$(counter_of 'ns of launching threads')
	echo "cost $cost of $time, windows $(counter_of windows)"
	jq -c '.levels, .estimates' r.json
	[ $((cost * 1000)) -le $((time * $1 * 5 / 4)) ]
}

# bats test_tags=full
@test "a program that only launches costs no more than the limit" {
	record_limited --max-overhead 2% -- "$WORK" spin:6000
	within_limit 20
	[ "$(counter_of windows)" -ge 4 ]
	jq -e '.levels | length >= 1 and .[0].level == "windows" and .[0].limit == 0.02 and .[0].cost > 0.02' r.json
	"$SPROF" report --gpu g.data >text
	grep -Eq '^from [0-9.]+ .* on: windows of collection' text
	"$SPROF" info g.data | grep -A1 '^GPU collection, limited by --max-overhead:' | grep -q 'the limit is 2'
}

# The program says how often it launched. Four standard errors are not reached by chance.
# bats test_tags=full
@test "estimates of a high rate of launches are off by no more than their error" {
	SPIN_COUNT=$PWD/count record_limited --max-overhead 2% -- "$WORK" rate:8000
	within_limit 20
	jq -e --argjson n "$(cat count)" '(.rows[] | select(.name == "gemm_kernel")) as $row |
		(.estimates[] | select(.name == "gemm_kernel")) as $e | ($e.all_calls - $n) as $wrong |
		([$n, $row.calls, $e.all_calls, $e.calls_error] | debug) as $shown |
		($e.calls_error // $n) as $error | # with few windows, as on a busy machine, nothing is claimed
		$row.calls < $n and $error <= $n and ($wrong | fabs) <= 4 * $error + $n / 100 and
		($e.all_ns - $e.all_calls * 1000 | fabs) <= $e.all_ns / 100' r.json
}

# Devices are watched until the first pause.
# bats test_tags=full
@test "busy and idle time are those before the first pause" {
	record_limited --max-overhead 1% -- "$WORK" spin:2000
	jq -e '.levels[0].time_ns as $t | .devices[0] | .busy_ns + .idle_ns == .wall_ns and .wall_ns < 1500000000' r.json
}

@test "a share that is none is refused" {
	for share in '' 1 1% % 0% 51% -1% 1%% nan% 1e9%; do
		run "$SPROF" record --max-overhead "$share" --freq 0 -- true
		[ "$status" -eq 2 ]
	done
}
