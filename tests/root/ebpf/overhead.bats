# sprof record --max-overhead for CPU samples: what the recorder costs is measured, told, and kept
# within the limit by the rate. tests/unit/cli/service has the account; tests/gpu/governor.bats GPUs.
bats_require_minimum_version 1.5.0
load ../recorder

setup() {
	needs_bpf
	pids=() data=$BATS_TEST_TMPDIR/o.data
}

# bats test_tags=full
@test "the rate goes down to keep --max-overhead, is told, and weights stay right" {
	work shares 60000
	run --separate-stderr "$SPROF" record -p ${pids[0]} -F 9999 --max-overhead 0.1% -d 9s -o "$data"
	[ "$status" -eq 0 ]
	[[ $stderr == *"of a CPU (--max-overhead: 0.10%): "*" Hz instead of 9999"* ]]
	told .rates
	[ "$(told '.rates[0].reason')" = over-limit ]
	[ "$(told '.rates[0].frequency_hz < 9999 and .rates[0].cost > 0.001 and .rates[0].limit == 0.001')" = true ]
	"$SPROF" info "$data" | grep -q ' Hz: recording cost [0-9.]*% of a CPU, the limit is 0.10%'
	# The sum is the time that the target had, as if the rate had stayed.
	"$SPROF" export -f json "$data" | jq -r '.samples | [.time_ns, .weight] | transpose[] | "\(.[0]) \(.[1])"' |
		awk '{ sum += $2; kinds[$2] = 1 } END { for (k in kinds) n++; print sum / 1e9, "s,", n, "weights"; exit !(n >= 2 && sum < 9.9e9 && sum > 0.2e9) }'
}

# bats test_tags=full
@test "the own cost is a line of info, with what BPF programs took where that was counted" {
	work shares 20000
	"$SPROF" record -q -p ${pids[0]} -F 999 --max-overhead 50% -d 2s -o "$data"
	told .cost
	[ "$(told '.cost | .bpf_s > 0 and .cpu_s > 0 and .cpu_s < 1 and .memory_bytes > 1e6 and .duration_s > 1.9')" = true ]
	[ "$(told '.rates | length')" = 0 ]
	"$SPROF" info "$data" | grep -q '^cost        [0-9.]*% of a CPU by the recorder, [0-9.]*% by its BPF programs, at most [0-9.]* MiB'
	"$SPROF" record -q -p ${pids[0]} -F 99 -d 1s -o "$data"
	[ "$(told '.cost.bpf_s')" = null ]
}

# bats test_tags=full
@test "the program that is recorded is no cost of the recorder's" {
	"$SPROF" record -q -o "$data" -- "$TARGETS/shares" 2000 >/dev/null
	[ "$(told '.columns[0].sum > 1.5e9 and .cost.cpu_s < 1')" = true ]
}

@test "a source that cannot change its rate says so" {
	work shares 20000
	run --separate-stderr "$SPROF" record -s perf -p ${pids[0]} --max-overhead 1% -d 1s -o "$data"
	[ "$status" -eq 0 ]
	[[ $stderr == *"--max-overhead does not limit CPU samples: source perf cannot change its rate"* ]]
}
