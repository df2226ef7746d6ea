# The other tests of the fake GPU again, in the realistic model of CUPTI (tests/gpu/fake_cupti.c): records come late, are
# withheld and cut off, times are interpolated, versions have the errors that their release notes and users tell of.
# bats file_tags=full, long

in_realistic_model() { # FILE [FILTER]
	FAKE_REALISTIC=1 run timeout 280 bats --tap ${2:+-f "$2"} "$BATS_TEST_DIRNAME/$1.bats"
	grep -v '^ok' <<<"$output"
	[ "$status" -eq 0 ]
	grep -q '^ok' <<<"$output"
}

@test "what the agent collects is the same in the realistic model" {
	in_realistic_model agent
}

@test "failures are reported in the realistic model" {
	in_realistic_model agent_failures
}

@test "running programs are attached to in the realistic model" {
	in_realistic_model attach
}

@test "recordings are the same in the realistic model" {
	in_realistic_model record
}

@test "reports are the same in the realistic model" {
	in_realistic_model report
}

@test "timelines are the same in the realistic model" {
	in_realistic_model timeline
}

@test "torch traces are the same in the realistic model" {
	in_realistic_model torch_trace
}

@test "kinds are chosen in the realistic model" {
	in_realistic_model kinds
}

@test "operations of libraries are counted in the realistic model" {
	in_realistic_model flops
}

@test "costs are limited in the realistic model" {
	in_realistic_model governor
}

@test "ranges are the same in the realistic model" {
	in_realistic_model nvtx
}

@test "ranks are compared in the realistic model" {
	in_realistic_model ranks
}

@test "competing profilers get CUPTI in the realistic model" {
	in_realistic_model competing_profiler
}

@test "samples inside kernels are the same in the realistic model" {
	in_realistic_model pc_sampling
}

@test "programs with a libcupti of their own work in the realistic model" {
	in_realistic_model own_cupti
}

@test "launching threads cause no data race in the realistic model" {
	in_realistic_model races
}

# Not here: check.bats (files and exit codes of the checks), judges.bats (in both models by itself), and dist.bats and
# real_*.bats, which do not use the fake.
@test "each file of tests over the fake GPU is run in the realistic model" {
	local file name
	for file in "$BATS_TEST_DIRNAME"/*.bats; do
		name=$(basename "$file" .bats)
		case $name in check | judges | dist | real_* | realistic) continue ;; esac
		grep -q "in_realistic_model $name\$" "$BATS_TEST_FILENAME" || { echo "$name is not"; return 1; }
	done
}
