/* output/push/grpc.c: what an answer of gRPC says, whatever bytes it has. */
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/buffer.h"
#include "output/codec/base64.h"
#include "output/codec/protobuf.h"
#include "output/push/grpc.h"

static struct grpc_trailers take(const char *line)
{
	struct grpc_trailers t = { .status = GRPC_NONE };

	grpc_take_header(&t, line, strlen(line));
	return t;
}

static void a_status_is_a_number_and_nothing_else(void **state)
{
	static const struct {
		const char *line;
		int status;
	} cases[] = {
		{ "grpc-status: 0\r\n", GRPC_OK },
		{ "Grpc-Status:14", GRPC_UNAVAILABLE },
		{ "grpc-status: 16 \r\n", GRPC_UNAUTHENTICATED },
		{ "grpc-status:", GRPC_STATUS_END },
		{ "grpc-status: 17\r\n", GRPC_STATUS_END },
		{ "grpc-status: -1\r\n", GRPC_STATUS_END },
		{ "grpc-status: 4294967296\r\n", GRPC_STATUS_END },
		{ "grpc-status: 99999999999999999999999999\r\n", GRPC_STATUS_END },
		{ "grpc-status: 0x0\r\n", GRPC_STATUS_END },
		{ "grpc-statu", GRPC_NONE },
		{ "grpc-status", GRPC_NONE },
		{ "grpc-status-x: 0\r\n", GRPC_NONE },
		{ "", GRPC_NONE },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		assert_int_equal(take(cases[i].line).status, cases[i].status);
	assert_string_equal(grpc_status_name(GRPC_STATUS_END), "an unknown status");
	assert_string_equal(grpc_status_name(GRPC_UNAVAILABLE), "UNAVAILABLE");
}

static void a_message_is_decoded_and_bounded(void **state)
{
	struct buffer line = { 0 };
	struct grpc_trailers t = take("grpc-message: a%20b%E2%82%Ac%1 %zz%\r\n");

	(void)state;
	assert_string_equal(buffer_cstring(&t.message), "a b\xe2\x82\xac%1 %zz%");
	buffer_add_string(&line, "grpc-message: ");
	for (int i = 0; i < 60000; i++)
		buffer_add_char(&line, 'x');
	grpc_take_header(&t, line.data, line.size);
	assert_int_equal(t.message.size, 4096);
	buffer_fini(&t.message);
	buffer_fini(&line);
}

/* The pause that the answer asks for, with these seconds and nanoseconds. */
static uint32_t pause_of(const char *type, uint64_t seconds, uint64_t nanos)
{
	struct buffer duration = { 0 }, info = { 0 }, any = { 0 }, status = { 0 }, line = { 0 };
	struct grpc_trailers t;

	protobuf_add_number(&duration, 1, seconds);
	protobuf_add_number(&duration, 2, nanos);
	protobuf_add_message(&info, 1, &duration);
	protobuf_add_bytes(&any, 1, type, strlen(type));
	protobuf_add_message(&any, 2, &info);
	protobuf_add_number(&status, 1, 8);
	protobuf_add_message(&status, 3, &any);
	buffer_add_string(&line, "grpc-status-details-bin: ");
	base64_add(&line, status.data, status.size);
	while (line.data[line.size - 1] == '=') /* senders leave it out */
		line.size--;
	t = take(buffer_cstring(&line));
	buffer_fini(&duration);
	buffer_fini(&info);
	buffer_fini(&any);
	buffer_fini(&status);
	buffer_fini(&line);
	return t.retry_after_s;
}

static void a_pause_is_rounded_up_and_bounded(void **state)
{
	static const char type[] = "type.googleapis.com/google.rpc.RetryInfo";

	(void)state;
	assert_int_equal(pause_of(type, 7, 0), 7);
	assert_int_equal(pause_of(type, 7, 1), 8);
	assert_int_equal(pause_of(type, 0, 0), 1);
	assert_int_equal(pause_of(type, UINT64_MAX, 0), 1);
	assert_int_equal(pause_of(type, 1ull << 62, 0), 86400);
	assert_int_equal(pause_of("type.googleapis.com/google.rpc.Other", 7, 0), 0);
	assert_int_equal(take("grpc-status-details-bin: ****").retry_after_s, 0);
	assert_int_equal(take("grpc-status-details-bin: CAgS").retry_after_s, 0);
}

static void an_answer_loses_its_five_bytes(void **state)
{
	static const struct {
		const char *bytes;
		size_t size;
		const char *message;
	} cases[] = {
		{ "\0\0\0\0\2abc", 8, "ab" },
		{ "\0\0\0\0\7abc", 8, "abc" },
		{ "\0\377\377\377\377a", 6, "a" },
		{ "\1\0\0\0\2ab", 7, "" },
		{ "\0\0\0\0", 4, "" },
		{ "", 0, "" },
		{ "\0\0\0\0\0", 5, "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct buffer b = { 0 };

		buffer_add(&b, cases[i].bytes, cases[i].size);
		grpc_unwrap(&b);
		assert_string_equal(buffer_cstring(&b), cases[i].message);
		buffer_fini(&b);
	}
}

static void a_message_gets_its_size(void **state)
{
	struct buffer b = { 0 };
	char *large = calloc(1, 0x10203);

	(void)state;
	grpc_add_message(&b, large, 0x10203);
	assert_int_equal(b.size, 0x10203 + 5);
	assert_memory_equal(b.data, "\1\0\1\2\3", 5);
	free(large);
	buffer_fini(&b);
}

static void base64_is_read_with_and_without_padding(void **state)
{
	static const struct {
		const char *text, *bytes; /* NULL: it is refused */
	} cases[] = {
		{ "", "" },	      { "Zg==", "f" },	 { "Zg", "f" },	       { "Zm8=", "fo" },
		{ "Zm8", "fo" },      { "Zm9v", "foo" }, { "Zm9vYg", "foob" }, { "Z", NULL },
		{ "Zm9vY", NULL },    { "====", NULL },	 { "Zg=", NULL },      { "Zm\n", NULL },
		{ "Zg==Zg==", NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct buffer b = { 0 };
		bool ok = base64_decode(&b, cases[i].text, strlen(cases[i].text));

		assert_int_equal(ok, cases[i].bytes != NULL);
		if (ok)
			assert_string_equal(buffer_cstring(&b), cases[i].bytes);
		buffer_fini(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_status_is_a_number_and_nothing_else),
		cmocka_unit_test(a_message_is_decoded_and_bounded),
		cmocka_unit_test(a_pause_is_rounded_up_and_bounded),
		cmocka_unit_test(an_answer_loses_its_five_bytes),
		cmocka_unit_test(a_message_gets_its_size),
		cmocka_unit_test(base64_is_read_with_and_without_padding),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
