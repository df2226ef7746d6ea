# Unit tests that take long: unless SPROF_TEST_FULL is set they skip themselves, or test less.

setup() {
	case $(nm -a "$SPROF" 2>/dev/null) in
	*__asan_init*) skip "takes too long with the sanitizers, which run the short form" ;;
	esac
}

# bats test_tags=full
@test "rules derived from the code of large libraries say what their CFI says" {
	SPROF_TEST_FULL=1 "$BUILD"/tests/unit/sampler/unwind/test_rules_against_cfi
}

# bats test_tags=full
@test "Go programs that are stripped, position-independent or not, have their names and lines" {
	SPROF_TEST_FULL=1 "$BUILD"/tests/unit/symbolizer/test_go_symbols
}

# 10 000, and 50 000 in make stress.
# bats test_tags=full,stress
@test "random schedules of GPU work are recorded as a simple model has them" {
	SPROF_TEST_FULL=1 "$BUILD"/tests/unit/gpu/test_gpu_schedules
}

# bats test_tags=full
@test "10 000 random profiles come back as they were from each format that is written and read" {
	SPROF_TEST_FULL=1 "$BUILD"/tests/unit/output/export/test_round_trip
}

# bats test_tags=full
@test "a chain of jumps that leads backwards is given up" {
	SPROF_TEST_FULL=1 "$BUILD"/tests/unit/sampler/unwind/test_derived_rules
}

# bats test_tags=full
@test "units of DWARF that are read in parallel agree with addr2line" {
	SPROF_TEST_FULL=1 "$BUILD"/tests/unit/symbolizer/dwarf/test_dwarf
}

# bats test_tags=full
@test "stacks of real programs are walked as libunwind does" {
	SPROF_TEST_FULL=1 "$BUILD"/tests/unit/sampler/walk/test_walk_oracle
}

# bats test_tags=full
@test "the longer a process has run, the later it is asked again what it publishes" {
	SPROF_TEST_FULL=1 "$BUILD"/tests/unit/sampler/sink/test_process_contexts
}
