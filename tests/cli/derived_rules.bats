# Derived unwind rules against the CFI of large libraries: 7 million places.

# bats test_tags=full
@test "code of large libraries says what their CFI says" {
	SPROF_TEST_FULL=1 "$BUILD"/tests/unit/sampler/unwind/test_rules_against_cfi
}
