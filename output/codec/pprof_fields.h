/*
 * The field numbers of profile.proto (github.com/google/pprof/proto), for the writer and the
 * reader, and the conventions that both add to it:
 *
 * A mapping is a module. The mapping of an ELF file starts at 0, so the addresses of its locations
 * are file offsets. The kind of a function has no field: a frame of another kind than its module
 * lies in a mapping "[python]", "[gpu]", ..., which has no addresses. Runtime code is in
 * "[jit:PID]". A function "libx.so+0x12" is an unnamed address of libx.so.
 *
 * Samples have the labels "thread" (the name), "pid" and "tid". Comments of the form key=value hold
 * what the format has no field for.
 */
#ifndef SPROF_PPROF_FIELDS_H
#define SPROF_PPROF_FIELDS_H

enum pprof_profile {
	PPROF_SAMPLE_TYPE = 1,
	PPROF_SAMPLE = 2,
	PPROF_MAPPING = 3,
	PPROF_LOCATION = 4,
	PPROF_FUNCTION = 5,
	PPROF_STRING_TABLE = 6,
	PPROF_DROP_FRAMES = 7,
	PPROF_KEEP_FRAMES = 8,
	PPROF_TIME_NANOS = 9,
	PPROF_DURATION_NANOS = 10,
	PPROF_PERIOD_TYPE = 11,
	PPROF_PERIOD = 12,
	PPROF_COMMENT = 13,
	PPROF_DEFAULT_SAMPLE_TYPE = 14,
	PPROF_DOC_URL = 15,
};

enum pprof_value_type { PPROF_VALUE_TYPE_TYPE = 1, PPROF_VALUE_TYPE_UNIT = 2 };

enum pprof_sample { PPROF_SAMPLE_LOCATION_ID = 1, PPROF_SAMPLE_VALUE = 2, PPROF_SAMPLE_LABEL = 3 };

enum pprof_label {
	PPROF_LABEL_KEY = 1,
	PPROF_LABEL_STR = 2,
	PPROF_LABEL_NUM = 3,
	PPROF_LABEL_NUM_UNIT = 4
};

enum pprof_mapping {
	PPROF_MAPPING_ID = 1,
	PPROF_MAPPING_START = 2,
	PPROF_MAPPING_LIMIT = 3,
	PPROF_MAPPING_OFFSET = 4,
	PPROF_MAPPING_FILENAME = 5,
	PPROF_MAPPING_BUILD_ID = 6,
	PPROF_MAPPING_HAS_FUNCTIONS = 7,
	PPROF_MAPPING_HAS_FILENAMES = 8,
	PPROF_MAPPING_HAS_LINE_NUMBERS = 9,
	PPROF_MAPPING_HAS_INLINE_FRAMES = 10,
};

enum pprof_location {
	PPROF_LOCATION_ID = 1,
	PPROF_LOCATION_MAPPING_ID = 2,
	PPROF_LOCATION_ADDRESS = 3,
	PPROF_LOCATION_LINE = 4, /* innermost function first */
};

enum pprof_line { PPROF_LINE_FUNCTION_ID = 1, PPROF_LINE_LINE = 2 };

enum pprof_function {
	PPROF_FUNCTION_ID = 1,
	PPROF_FUNCTION_NAME = 2,
	PPROF_FUNCTION_SYSTEM_NAME = 3,
	PPROF_FUNCTION_FILENAME = 4,
	PPROF_FUNCTION_START_LINE = 5,
};

#endif
