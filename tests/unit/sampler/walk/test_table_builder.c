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
	uint32_t index;

	while (!table_builder_take(builder, &index, ret_table))
		assert_int_equal(poll(&ready, 1, 60000), 1);
	return index;
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
	builder = table_builder_new(rules, WALK_NR_RULES);
	table_builder_request(builder, FILE_INDEX, fd);
	usleep(10000); /* until the thread works on it */
	table_builder_request_code(builder, CODE_INDEX, code_of_a_page(), 4096);
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
	struct table_builder *builder = table_builder_new(rules, WALK_NR_RULES);
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	(void)state;
	for (uint32_t i = 0; i < 50; i++) {
		table_builder_request(builder, i, fd);
		table_builder_request_code(builder, 100 + i, code_of_a_page(), 4096);
	}
	table_builder_free(builder);
	close(fd);
	free(rules);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(code_does_not_wait_for_a_large_file),
		cmocka_unit_test(what_was_not_built_is_freed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
