/*
 * Tables are built in the background: each request is answered, and runtime code does not wait for
 * files.
 */
#include "tests/unit/unit.h"
#include "tests/unit/child.h"

#include <fcntl.h>
#include <glob.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/base/log.h"
#include "core/portable/walk.h"
#include "core/sandbox/sandbox.h"
#include "sampler/target/mapped_file.h"
#include "sampler/walk/table_builder.h"
#include "sampler/unwind/table_cache.h"
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

static struct built_table take(struct table_builder *builder)
{
	struct pollfd ready = { table_builder_event_fd(builder), POLLIN, 0 };
	struct built_table built;

	while (!table_builder_take(builder, &built))
		assert_int_equal(poll(&ready, 1, 60000), 1);
	free(built.claim.numbers);
	return built;
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

static void request_at(struct table_builder *builder, char *path, int fd)
{
	const struct mapped_file file = { .index = FILE_INDEX, .path = path, .fd = fd };

	table_builder_request(builder, &file);
}

static void request(struct table_builder *builder, uint32_t index, uint32_t user, int fd)
{
	const struct mapped_file file = { .index = index, .user = user, .fd = fd };

	table_builder_request(builder, &file);
}

struct fixture {
	struct sandbox *sandbox;
	struct table_cache *cache;
	struct walk_rule *rules;
	struct table_builder *builder;
};

/* `folder`: of the cache; NULL: there is none. */
static void begin_in(struct fixture *f, bool confined, const char *folder)
{
	*f = (struct fixture){ .rules = calloc(WALK_NR_RULES, sizeof(*f->rules)) };
	if (confined)
		assert_int_equal(sandbox_new(&f->sandbox), 0);
	if (folder)
		f->cache = table_cache_new(open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC),
					   TABLE_CACHE_MAX);
	f->builder = table_builder_new(f->rules, f->sandbox, f->cache);
}

static void begin(struct fixture *f, bool confined)
{
	begin_in(f, confined, NULL);
}

static void end(struct fixture *f)
{
	table_builder_free(f->builder);
	sandbox_free(f->sandbox);
	table_cache_close(f->cache);
	free(f->rules);
}

static void expect_code(struct fixture *f, const struct built_table *built)
{
	const struct walk_rule *rule;

	assert_int_equal(built->index, CODE_INDEX);
	assert_non_null(built->table);
	assert_false(built->parser_failed);
	/* Rules are published before the table is handed out. */
	rule = &f->rules[unwind_table_find(built->table, 8)];
	assert_int_equal(rule->cfa, WALK_CFA_SP);
	assert_int_equal(rule->cfa_off, 0x88 + 16);
	unwind_table_free(built->table);
}

static void code_does_not_wait_for_a_large_file(void **state)
{
	struct built_table built;
	struct fixture f;
	int fd = open_large_file();

	if (fd < 0)
		skip();
	begin(&f, *state);
	request(f.builder, FILE_INDEX, 0, fd);
	usleep(10000); /* until the thread works on it */
	table_builder_request_code(f.builder, CODE_INDEX, 0, code_of_a_page(), 4096);
	built = take(f.builder);
	expect_code(&f, &built);
	assert_int_equal(table_builder_nr_pending(f.builder), 1);
	built = take(f.builder);
	assert_int_equal(built.index, FILE_INDEX);
	assert_non_null(built.table);
	assert_in_range(built.table->nr_fdes, 10000, UINT32_MAX);
	unwind_table_free(built.table);
	close(fd);
	end(&f);
}

static void what_was_not_built_is_freed(void **state)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct fixture f;

	begin(&f, *state);
	for (uint32_t i = 0; i < 50; i++) {
		request(f.builder, i, i % 3, fd);
		table_builder_request_code(f.builder, 100 + i, i % 3, code_of_a_page(), 4096);
	}
	table_builder_free(f.builder);
	f.builder = NULL;
	close(fd);
	end(&f);
}

/* Returns its process id. */
static pid_t signal_parser(int signal)
{
	pid_t starter = child_of(getpid()), parser = 0;

	assert_true(starter > 0);
	for (int i = 0; i < 60000 && !parser; i++) {
		parser = child_of(starter);
		usleep(1000);
	}
	assert_true(parser > 0);
	kill(parser, signal);
	return parser;
}

static void a_parser_that_dies_costs_only_its_own_file(void **state)
{
	struct built_table built;
	struct fixture f;
	int fd = open_large_file();

	(void)state;
	if (fd < 0) {
		print_message("no libLLVM of Debian's is installed\n");
		skip();
	}
	begin(&f, true);
	log_set_level(LOG_QUIET);
	request(f.builder, FILE_INDEX, 0, fd);
	signal_parser(SIGKILL);
	built = take(f.builder);
	assert_int_equal(built.index, FILE_INDEX);
	assert_null(built.table);
	assert_true(built.parser_failed);
	table_builder_request_code(f.builder, CODE_INDEX, 0, code_of_a_page(), 4096);
	built = take(f.builder);
	expect_code(&f, &built);
	request(f.builder, FILE_INDEX, 0, fd);
	built = take(f.builder);
	assert_non_null(built.table);
	assert_false(built.parser_failed);
	unwind_table_free(built.table);
	close(fd);
	end(&f);
}

static void damage(const char *folder)
{
	char command[200];

	snprintf(command, sizeof(command),
		 "for f in %s/*; do printf damaged | dd of=$f bs=1 seek=400 conv=notrunc "
		 "2>/dev/null; done",
		 folder);
	assert_int_equal(system(command), 0);
}

/* Builds the table of a program; `kill_parser`: the cache alone can give it. */
static struct built_table build_of(char *path, const char *folder, bool kill_parser)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct built_table built;
	struct fixture f;

	begin_in(&f, true, folder);
	if (kill_parser) {
		kill(child_of(getpid()), SIGKILL);
		usleep(50000);
	}
	request_at(f.builder, path, fd);
	built = take(f.builder);
	end(&f);
	close(fd);
	return built;
}

static struct built_table build_with_cache(const char *folder, bool kill_parser)
{
	char path[] = "/proc/self/exe";

	return build_of(path, folder, kill_parser);
}

static void a_table_that_was_kept_needs_no_parser(void **state)
{
	char folder[64] = "/tmp/table_builder.XXXXXX", command[80];
	struct built_table cold, warm;

	(void)state;
	assert_non_null(mkdtemp(folder));
	log_set_level(LOG_QUIET);
	warm = build_with_cache(folder, true);
	assert_true(warm.parser_failed); /* nothing is kept yet */
	cold = build_with_cache(folder, false);
	warm = build_with_cache(folder, true);
	assert_non_null(cold.table);
	assert_non_null(warm.table);
	assert_false(warm.parser_failed);
	assert_int_equal(cold.table->nr_rows, warm.table->nr_rows);
	unwind_table_free(warm.table);
	damage(folder);
	warm = build_with_cache(folder, false);
	assert_int_equal(cold.table->nr_rows, warm.table->nr_rows);
	unwind_table_free(warm.table);
	damage(folder);
	warm = build_with_cache(folder, true);
	assert_null(warm.table);
	unwind_table_free(cold.table);
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	assert_int_equal(system(command), 0);
}

static void run(const char *format, const char *place)
{
	char command[400];

	snprintf(command, sizeof(command), format, place, place, place, place);
	assert_int_equal(system(command), 0);
}

/* Is a table kept that counts now? */
static bool is_kept(char *path, const char *folder)
{
	struct built_table built = build_of(path, folder, true);

	assert_true(built.parser_failed == !built.table);
	unwind_table_free(built.table);
	return !built.parser_failed;
}

static void a_table_counts_until_a_debug_file_of_that_name_appears(void **state)
{
	char place[64] = "/tmp/table_builder.XXXXXX", folder[80], path[80];
	struct built_table built;

	(void)state;
	if (system("objcopy --version >/dev/null 2>&1")) {
		print_message("no objcopy is installed\n");
		skip();
	}
	assert_non_null(mkdtemp(place));
	snprintf(folder, sizeof(folder), "%s/cache", place);
	snprintf(path, sizeof(path), "%s/program", place);
	run("mkdir %s/cache && cp /proc/$PPID/exe %s/all && objcopy --only-keep-debug %s/all %s/d",
	    place);
	run("cd %s && objcopy -g --add-gnu-debuglink=d all program && mv d later", place);
	log_set_level(LOG_QUIET);
	assert_false(is_kept(path, folder));
	built = build_of(path, folder, false);
	assert_non_null(built.table);
	unwind_table_free(built.table);
	assert_true(is_kept(path, folder));
	run("mkdir %s/.debug && mv %s/later %s/.debug/d", place);
	assert_false(is_kept(path, folder));
	run("rm %s/.debug/d", place);
	assert_true(is_kept(path, folder));
	run("rm -rf %s", place);
}

static void a_file_without_rules_is_no_failure(void **state)
{
	int fd = memfd_create("no ELF file", MFD_CLOEXEC);
	struct built_table built;
	struct fixture f;

	begin(&f, *state);
	request(f.builder, FILE_INDEX, 0, fd);
	built = take(f.builder);
	assert_null(built.table);
	assert_false(built.parser_failed);
	close(fd);
	end(&f);
}

/* As if the parser waited for a file system whose owner does not answer. */
static void a_parser_that_hangs_does_not_delay_the_end(void **state)
{
	struct fixture f;
	int fd = open_large_file();
	pid_t parser;

	(void)state;
	if (fd < 0)
		skip();
	begin(&f, true);
	request(f.builder, FILE_INDEX, 0, fd);
	parser = signal_parser(SIGSTOP);
	end(&f);
	/* It ends with the sandbox, unless it was stopped before it asked the kernel for that. */
	kill(parser, SIGKILL);
	close(fd);
}

/* The files of one user, 200, and then one of another: it comes among the first. */
static void users_take_turns(void **state)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct built_table built = { .index = 0 };
	struct fixture f;
	uint32_t nr = 0;

	begin(&f, *state);
	for (uint32_t i = 0; i < 200; i++)
		request(f.builder, i, 1000, fd);
	request(f.builder, 999, 1001, fd);
	for (; built.index != 999; nr++) {
		built = take(f.builder);
		unwind_table_free(built.table);
	}
	assert_in_range(nr, 1, 100); /* the thread may have built some before it was asked */
	end(&f);
	close(fd);
}

/* Of 300 files of one user the last one is missed by a walk: it comes among the first. */
static void what_a_walk_has_missed_comes_first(void **state)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct built_table built = { .index = 0 };
	struct fixture f;
	uint32_t nr = 0;

	begin(&f, *state);
	for (uint32_t i = 0; i < 300; i++)
		request(f.builder, i, 1000, fd);
	table_builder_hurry(f.builder, 999); /* it was not asked for */
	table_builder_hurry(f.builder, 299);
	table_builder_hurry(f.builder, 298);
	for (bool first = false, second = false; !first || !second; nr++) {
		built = take(f.builder);
		first |= built.index == 298;
		second |= built.index == 299;
		unwind_table_free(built.table);
	}
	assert_in_range(nr, 1, 200); /* the threads may have built some before that */
	for (; nr < 300; nr++) {
		built = take(f.builder);
		assert_true(built.index < 298);
		unwind_table_free(built.table);
	}
	assert_int_equal(table_builder_nr_pending(f.builder), 0);
	request(f.builder, 7, 1000, fd); /* the queue is whole */
	built = take(f.builder);
	assert_int_equal(built.index, 7);
	unwind_table_free(built.table);
	end(&f);
	close(fd);
}

static bool is_last(void *context, uint32_t index)
{
	return index == *(uint32_t *)context;
}

static void what_is_not_wanted_any_more_is_answered_without_a_table(void **state)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	uint32_t last = 199, nr_empty = 0, nr_seen = 0;
	struct fixture f;

	begin(&f, *state);
	for (uint32_t i = 0; i <= last; i++)
		request(f.builder, i, 1000, fd);
	table_builder_drop(f.builder, is_last, &last);
	while (table_builder_nr_pending(f.builder)) {
		struct built_table built = take(f.builder);

		assert_true(built.index != last || built.table);
		assert_true(built.dropped == !built.table);
		nr_empty += !built.table;
		nr_seen++;
		unwind_table_free(built.table);
	}
	assert_int_equal(nr_seen, last + 1);
	assert_in_range(nr_empty, 1, last);
	end(&f);
	close(fd);
}

int main(void)
{
	static bool confined = true;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(code_does_not_wait_for_a_large_file),
		cmocka_unit_test_prestate(code_does_not_wait_for_a_large_file, &confined),
		cmocka_unit_test(what_was_not_built_is_freed),
		cmocka_unit_test_prestate(what_was_not_built_is_freed, &confined),
		cmocka_unit_test(a_file_without_rules_is_no_failure),
		cmocka_unit_test_prestate(a_file_without_rules_is_no_failure, &confined),
		cmocka_unit_test(a_parser_that_dies_costs_only_its_own_file),
		cmocka_unit_test(a_table_that_was_kept_needs_no_parser),
		cmocka_unit_test(a_table_counts_until_a_debug_file_of_that_name_appears),
		cmocka_unit_test(a_parser_that_hangs_does_not_delay_the_end),
		cmocka_unit_test(users_take_turns),
		cmocka_unit_test(what_a_walk_has_missed_comes_first),
		cmocka_unit_test(what_is_not_wanted_any_more_is_answered_without_a_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
