/*
 * Tables are built in the background: each request is answered, and runtime code does not wait for
 * files.
 */
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <glob.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/portable/walk.h"
#include "sampler/walk/table_builder.h"
#include "sampler/unwind/unwind_table.h"

enum { FILE_INDEX = 7, CODE_INDEX = 9 };

/* push rbx; sub rsp, 0x88; nop; add rsp, 0x88; pop rbx; ret */
static const uint8_t function[] = { 0x53, 0x48, 0x81, 0xec, 0x88, 0, 0, 0,    0x90,
				    0x48, 0x81, 0xc4, 0x88, 0,	  0, 0, 0x5b, 0xc3 };

/* The builder frees it. */
static uint8_t *code_of_a_page(void)
{
	uint8_t *code = calloc(1, 4096);

	memcpy(code, function, sizeof(function));
	return code;
}

static uint32_t take(struct table_builder *builder, struct unwind_table **ret_table)
{
	struct pollfd ready = { table_builder_event_fd(builder), POLLIN, 0 };
	struct built_table built;

	while (!table_builder_take(builder, &built))
		assert_int_equal(poll(&ready, 1, 60000), 1);
	*ret_table = built.table;
	free(built.claim.numbers);
	return built.index;
}

/* A library whose table takes long: LLVM's, installed with the compiler of the BPF program. */
static int open_large_file(void)
{
	glob_t found;
	int fd = -1;

	if (!glob("/usr/lib/{llvm-*/lib,*-linux-gnu}/libLLVM-*.so.1", GLOB_BRACE, NULL, &found))
		fd = open(found.gl_pathv[0], O_RDONLY | O_CLOEXEC);
	globfree(&found);
	return fd;
}

static void code_does_not_wait_for_a_large_file(void **state)
{
	struct table_builder *builder;
	struct unwind_table *table;
	struct walk_rule *rules;
	int fd = open_large_file();

	(void)state;
	if (fd < 0) {
		print_message("no libLLVM of Debian's is installed\n");
		skip();
	}
	rules = calloc(WALK_NR_RULES, sizeof(*rules));
	builder = table_builder_new(rules);
	table_builder_request(builder, FILE_INDEX, 0, fd);
	usleep(10000); /* until the thread works on it */
	table_builder_request_code(builder, CODE_INDEX, 0, code_of_a_page(), 4096);
	assert_int_equal(take(builder, &table), CODE_INDEX);
	assert_non_null(table);
	/* Rules are published before the table is handed out. */
	assert_int_equal(rules[unwind_table_find(table, 8)].cfa, WALK_CFA_SP);
	assert_int_equal(rules[unwind_table_find(table, 8)].cfa_off, 0x88 + 16);
	unwind_table_free(table);
	assert_int_equal(table_builder_nr_pending(builder), 1);
	assert_int_equal(take(builder, &table), FILE_INDEX);
	assert_non_null(table);
	assert_in_range(table->nr_fdes, 10000, UINT32_MAX);
	unwind_table_free(table);
	close(fd);
	table_builder_free(builder);
	free(rules);
}

static void what_was_not_built_is_freed(void **state)
{
	struct walk_rule *rules = calloc(WALK_NR_RULES, sizeof(*rules));
	struct table_builder *builder = table_builder_new(rules);
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	(void)state;
	for (uint32_t i = 0; i < 50; i++) {
		table_builder_request(builder, i, i % 3, fd);
		table_builder_request_code(builder, 100 + i, i % 3, code_of_a_page(), 4096);
	}
	table_builder_free(builder);
	close(fd);
	free(rules);
}

/* The files of one user, 200, and then one of another: it comes among the first. */
static void users_take_turns(void **state)
{
	struct walk_rule *rules = calloc(WALK_NR_RULES, sizeof(*rules));
	struct table_builder *builder = table_builder_new(rules);
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct unwind_table *table;
	uint32_t index = 0, nr = 0;

	(void)state;
	for (uint32_t i = 0; i < 200; i++)
		table_builder_request(builder, i, 1000, fd);
	table_builder_request(builder, 999, 1001, fd);
	for (; index != 999; nr++) {
		index = take(builder, &table);
		unwind_table_free(table);
	}
	assert_in_range(nr, 1, 100); /* the thread may have built some before it was asked */
	table_builder_free(builder);
	close(fd);
	free(rules);
}

static bool is_last(void *context, uint32_t index)
{
	return index == *(uint32_t *)context;
}

static void what_is_not_wanted_any_more_is_answered_without_a_table(void **state)
{
	struct walk_rule *rules = calloc(WALK_NR_RULES, sizeof(*rules));
	struct table_builder *builder = table_builder_new(rules);
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	uint32_t last = 199, nr_empty = 0, nr_seen = 0;

	(void)state;
	for (uint32_t i = 0; i <= last; i++)
		table_builder_request(builder, i, 1000, fd);
	table_builder_drop(builder, is_last, &last);
	while (table_builder_nr_pending(builder)) {
		struct unwind_table *table;
		uint32_t index = take(builder, &table);

		assert_true(index != last || table);
		nr_empty += !table;
		nr_seen++;
		unwind_table_free(table);
	}
	assert_int_equal(nr_seen, last + 1);
	assert_in_range(nr_empty, 1, last);
	table_builder_free(builder);
	close(fd);
	free(rules);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(code_does_not_wait_for_a_large_file),
		cmocka_unit_test(what_was_not_built_is_freed),
		cmocka_unit_test(users_take_turns),
		cmocka_unit_test(what_is_not_wanted_any_more_is_answered_without_a_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
