/*
 * The field numbers of OpenTelemetry's profiles, opentelemetry/proto/profiles/v1development of
 * opentelemetry-proto 1.11. The schema is not stable: 1.7, 1.8 and 1.9 changed numbers. Everything
 * that knows them is here.
 *
 * Messages refer to each other by index in the tables of the dictionary, where index 0 is an empty
 * entry that stands for "none".
 */
#ifndef SPROF_OTLP_FIELDS_H
#define SPROF_OTLP_FIELDS_H

#define OTLP_PROTO_VERSION "1.11"

enum otlp_profiles_data { OTLP_RESOURCE_PROFILES = 1, OTLP_DICTIONARY = 2 };
enum otlp_resource_profiles { OTLP_RESOURCE = 1, OTLP_SCOPE_PROFILES = 2 };
enum otlp_resource_fields { OTLP_RESOURCE_ATTRIBUTES = 1 };
enum otlp_scope_profiles { OTLP_SCOPE = 1, OTLP_PROFILES = 2 };
enum otlp_scope { OTLP_SCOPE_NAME = 1, OTLP_SCOPE_VERSION = 2 };

enum otlp_dictionary {
	OTLP_MAPPING_TABLE = 1,
	OTLP_LOCATION_TABLE = 2,
	OTLP_FUNCTION_TABLE = 3,
	OTLP_LINK_TABLE = 4,
	OTLP_STRING_TABLE = 5,
	OTLP_ATTRIBUTE_TABLE = 6,
	OTLP_STACK_TABLE = 7,
};

enum otlp_profile {
	OTLP_SAMPLE_TYPE = 1,
	OTLP_SAMPLES = 2,
	OTLP_TIME_UNIX_NANO = 3, /* fixed64 */
	OTLP_DURATION_NANO = 4,
	OTLP_PERIOD_TYPE = 5,
	OTLP_PERIOD = 6,
};

enum otlp_value_type { OTLP_VALUE_TYPE = 1, OTLP_VALUE_UNIT = 2 };
enum otlp_sample { OTLP_SAMPLE_STACK = 1, OTLP_SAMPLE_ATTRIBUTES = 2, OTLP_SAMPLE_VALUES = 4 };
enum otlp_stack { OTLP_STACK_LOCATIONS = 1 /* leaf first */ };

enum otlp_mapping {
	OTLP_MAPPING_START = 1,
	OTLP_MAPPING_LIMIT = 2,
	OTLP_MAPPING_OFFSET = 3,
	OTLP_MAPPING_FILENAME = 4,
	OTLP_MAPPING_ATTRIBUTES = 5,
};

enum otlp_location {
	OTLP_LOCATION_MAPPING = 1,
	OTLP_LOCATION_ADDRESS = 2,
	OTLP_LOCATION_LINES = 3, /* innermost function first */
	OTLP_LOCATION_ATTRIBUTES = 4,
};

enum otlp_line { OTLP_LINE_FUNCTION = 1, OTLP_LINE_LINE = 2 };

enum otlp_function {
	OTLP_FUNCTION_NAME = 1,
	OTLP_FUNCTION_SYSTEM_NAME = 2,
	OTLP_FUNCTION_FILENAME = 3,
	OTLP_FUNCTION_START_LINE = 4,
};

/* An attribute of the dictionary; attributes of a resource have their key as text. */
enum otlp_attribute_fields { OTLP_ATTRIBUTE_KEY = 1, OTLP_ATTRIBUTE_VALUE = 2 };
enum otlp_any_value { OTLP_VALUE_STRING = 1, OTLP_VALUE_INT = 3 };

/* Answers of a receiver: ExportProfilesServiceResponse, and google.rpc.Status of a refusal. */
enum otlp_response { OTLP_PARTIAL_SUCCESS = 1 };
enum otlp_partial_success { OTLP_REJECTED_PROFILES = 1, OTLP_ERROR_MESSAGE = 2 };
enum otlp_status { OTLP_STATUS_CODE = 1, OTLP_STATUS_MESSAGE = 2 };

#endif
