# Unit tests that take long: they skip themselves unless SPROF_TEST_FULL is set.

# bats test_tags=full
@test "rules derived from the code of large libraries say what their CFI says" {
	SPROF_TEST_FULL=1 "$BUILD"/tests/unit/sampler/unwind/test_rules_against_cfi
}

# bats test_tags=full
@test "position-independent Go programs that are stripped have their names and lines" {
	SPROF_TEST_FULL=1 "$BUILD"/tests/unit/symbolizer/test_go_symbols
}
