/* Layouts by version, and the checks of what an interpreter says of itself. */
#include <string.h>

#include "tests/unit/unit.h"

#include "sampler/runtimes/python/layout_table.h"

/* The words of _Py_DebugOffsets in CPython 3.13.0 that are used. */
static void make_debug(uint64_t *debug)
{
	memset(debug, 0, PYTHON_DEBUG_WORDS * sizeof(*debug));
	memcpy(debug, "xdebugpy", 8);
	debug[1] = 0x030d00f0;
	debug[23] = 72;
	debug[24] = 152;
	debug[29] = 8;
	debug[31] = 56;
	debug[33] = 70;
	debug[35] = 112;
	debug[37] = 128;
	debug[38] = 136;
	debug[39] = 68;
	debug[43] = 200;
	/* the GIL: offsets in the thread, in its interpreter, and in the GIL itself */
	debug[22] = 16;
	debug[14] = 16;
	debug[15] = 7752;
	debug[17] = 7768;
	debug[18] = 7760;
}

static void debug_offsets_of_3_13_are_taken(void **state)
{
	uint64_t debug[PYTHON_DEBUG_WORDS];
	struct py_layout l;
	char why[200];

	(void)state;
	make_debug(debug);
	assert_int_equal(python_layout_fill(&l, 13, debug, why, sizeof(why)), 0);
	assert_int_equal(l.thread_frame, 72);
	assert_int_equal(l.frame_owner, 70);
	assert_int_equal(l.frame_size, 72);
	assert_int_equal(l.code_size, 144);
	assert_int_equal(l.object_type, 8);
	assert_int_equal(l.minor, 13);
}

static void codes_are_counted_where_the_interpreter_has_a_known_size(void **state)
{
	uint64_t debug[PYTHON_DEBUG_WORDS];
	struct py_layout l;
	char why[200];

	(void)state;
	make_debug(debug);
	assert_int_equal(python_layout_fill(&l, 13, debug, why, sizeof(why)), 0);
	assert_int_equal(l.interp_versions, 0);
	debug[6] = 194968;
	assert_int_equal(python_layout_fill(&l, 13, debug, why, sizeof(why)), 0);
	assert_int_equal(l.interp_versions, 17000);
	debug[2] = 1; /* free-threaded: other offsets */
	assert_int_equal(python_layout_fill(&l, 13, debug, why, sizeof(why)), 0);
	assert_int_equal(l.interp_versions, 0);
	debug[2] = 0;
	debug[22] = 65536; /* the thread's interpreter cannot be found */
	assert_int_equal(python_layout_fill(&l, 13, debug, why, sizeof(why)), 0);
	assert_int_equal(l.interp_versions, 0);
	make_debug(debug);
	debug[1] = 0x030e00f0;
	debug[6] = 194968; /* of another version */
	if (!python_layout_fill(&l, 14, debug, why, sizeof(why)))
		assert_int_equal(l.interp_versions, 0);
}

static void codes_of_3_14_are_counted_too(void **state)
{
	uint64_t debug[PYTHON_DEBUG_WORDS] = {
		[0] = 0x7970677562656478,
		[1] = 0x030e0af0,
		[6] = 225864,
		[15] = 16,
		[16] = 7752,
		[18] = 7768,
		[19] = 7760,
		[25] = 16,
		[26] = 72,
		[27] = 152,
		[32] = 8,
		[34] = 56,
		[36] = 74,
		[40] = 112,
		[42] = 128,
		[43] = 136,
		[44] = 68,
		[48] = 208,
	};
	struct py_layout l;
	char why[200];

	(void)state;
	assert_int_equal(python_layout_fill(&l, 14, debug, why, sizeof(why)), 0);
	assert_int_equal(l.interp_versions, 14256);
	debug[6] += 8;
	assert_int_equal(python_layout_fill(&l, 14, debug, why, sizeof(why)), 0);
	assert_int_equal(l.interp_versions, 0);
}

static void gil_is_found_or_not_believed(void **state)
{
	static const uint64_t none[PYTHON_DEBUG_WORDS];
	static const struct {
		unsigned int word;
		uint64_t value;
	} damages[] = { { 2, 1 },     { 15, 7753 }, { 15, 0 },	     { 17, 7776 },
			{ 18, 7752 }, { 14, 0 },    { 14, 1 << 20 }, { 22, 65536 + 16 } };
	uint64_t debug[PYTHON_DEBUG_WORDS];
	struct py_layout l;
	char why[200];

	(void)state;
	for (unsigned int minor = 8; minor < 13; minor++) {
		assert_int_equal(python_layout_fill(&l, minor, none, why, sizeof(why)), 0);
		assert_int_not_equal(l.gil_holder, 0);
		assert_int_equal(l.interp_gil != 0, minor == 12);
	}
	make_debug(debug);
	assert_int_equal(python_layout_fill(&l, 13, debug, why, sizeof(why)), 0);
	assert_int_equal(l.thread_interp, 16);
	assert_int_equal(l.interp_gil, 16);
	assert_int_equal(l.gil_holder, 8);
	for (size_t i = 0; i < sizeof(damages) / sizeof(*damages); i++) {
		make_debug(debug);
		debug[damages[i].word] = damages[i].value;
		assert_int_equal(python_layout_fill(&l, 13, debug, why, sizeof(why)), 0);
		assert_int_equal(l.gil_holder, 0);
	}
}

static void free_threaded_objects_have_a_longer_head(void **state)
{
	uint64_t debug[PYTHON_DEBUG_WORDS];
	struct py_layout l;
	char why[200];

	(void)state;
	make_debug(debug);
	debug[2] = 1;
	assert_int_equal(python_layout_fill(&l, 13, debug, why, sizeof(why)), 0);
	assert_int_equal(l.object_type, 24);
	assert_int_equal(l.string_header, 32);
	assert_int_equal(l.bytes_data, 48);
}

/* A thread of a free-threaded build may run a copy of a function's bytecode. */
static void copies_of_bytecode_are_found_from_3_14_on(void **state)
{
	static const uint64_t words[] = { [0] = 0x7970677562656478ull,
					  [1] = 0x030e07f0,
					  [25] = 16,
					  [26] = 72,
					  [27] = 152,
					  [32] = 8,
					  [34] = 56,
					  [36] = 78,
					  [38] = 72,
					  [40] = 128,
					  [42] = 144,
					  [43] = 152,
					  [44] = 84,
					  [48] = 232,
					  [49] = 224,
					  [PYTHON_DEBUG_WORDS - 1] = 0 };
	uint64_t debug[PYTHON_DEBUG_WORDS];
	struct py_layout l;
	char why[200];

	(void)state;
	memcpy(debug, words, sizeof(debug));
	assert_int_equal(python_layout_fill(&l, 14, debug, why, sizeof(why)), 0);
	assert_int_equal(l.code_copies, 0); /* with a GIL there are none */
	assert_int_equal(l.code_size, 160);
	debug[2] = 1;
	assert_int_equal(python_layout_fill(&l, 14, debug, why, sizeof(why)), 0);
	assert_int_equal(l.frame_copy, 72);
	assert_int_equal(l.code_copies, 224);
	assert_int_equal(l.code_size, 232);
	assert_int_equal(l.frame_size, 80);
	debug[49] = 0;
	assert_int_equal(python_layout_fill(&l, 14, debug, why, sizeof(why)), -1);
	debug[49] = 225;
	assert_int_equal(python_layout_fill(&l, 14, debug, why, sizeof(why)), -1);
}

static void every_check_refuses_by_name(void **state)
{
	static const struct {
		unsigned int word;
		uint64_t value;
		const char *why;
	} damages[] = {
		{ 0, 0, "_PyRuntime does not begin with _Py_DebugOffsets" },
		{ 1, 0x030e00f0, "_Py_DebugOffsets says another version" },
		{ 2, 2, "_Py_DebugOffsets says another version" },
		{ 23, 1ull << 32, "_Py_DebugOffsets has offsets that cannot be" },
		{ 33, 120, "_Py_DebugOffsets has offsets that cannot be" },
		{ 38, 65536 + 136, "_Py_DebugOffsets has offsets that cannot be" },
		{ 37, 129, "_Py_DebugOffsets has pointers that are not aligned" },
	};
	uint64_t debug[PYTHON_DEBUG_WORDS];
	struct py_layout l = { .minor = 99 };
	char why[200];

	(void)state;
	for (size_t i = 0; i < sizeof(damages) / sizeof(*damages); i++) {
		make_debug(debug);
		debug[damages[i].word] = damages[i].value;
		assert_int_equal(python_layout_fill(&l, 13, debug, why, sizeof(why)), -1);
		assert_string_equal(why, damages[i].why);
	}
	assert_int_equal(l.minor, 99);
}

static void old_versions_are_refused(void **state)
{
	static const uint64_t none[PYTHON_DEBUG_WORDS];
	struct py_layout l;
	char why[200];

	(void)state;
	assert_int_equal(python_layout_fill(&l, 7, none, why, sizeof(why)), -1);
	assert_string_equal(why, "CPython 3.7 is older than 3.8");
	for (unsigned int minor = 8; minor < 13; minor++)
		assert_int_equal(python_layout_fill(&l, minor, none, why, sizeof(why)), 0);
}

static void what_is_read_at_once_fits_its_buffer(void **state)
{
	static const uint64_t none[PYTHON_DEBUG_WORDS];
	struct py_layout l;
	char why[200];

	(void)state;
	for (unsigned int minor = 8; minor < 13; minor++) {
		assert_int_equal(python_layout_fill(&l, minor, none, why, sizeof(why)), 0);
		assert_true(l.frame_size < PY_WORDS * 8 && l.frame_size % 8 == 0);
		assert_true(l.code_size < PY_WORDS * 8);
		assert_true(l.frame_position < l.frame_size && l.frame_owner < l.frame_size);
		assert_true(l.code_filename < l.code_size && l.code_firstline < l.code_size);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(debug_offsets_of_3_13_are_taken),
		cmocka_unit_test(codes_are_counted_where_the_interpreter_has_a_known_size),
		cmocka_unit_test(codes_of_3_14_are_counted_too),
		cmocka_unit_test(gil_is_found_or_not_believed),
		cmocka_unit_test(free_threaded_objects_have_a_longer_head),
		cmocka_unit_test(copies_of_bytecode_are_found_from_3_14_on),
		cmocka_unit_test(every_check_refuses_by_name),
		cmocka_unit_test(old_versions_are_refused),
		cmocka_unit_test(what_is_read_at_once_fits_its_buffer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
