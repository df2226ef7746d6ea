/*
 * Of a process that waits, the files that its stack runs through come first: the C library, in
 * which it waits, and the program that called it.
 */
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/portable/walk.h"
#include "sampler/target/mapped_file.h"
#include "sampler/target/proc_maps.h"
#include "sampler/target/process.h"
#include "sampler/unwind/unwind_table.h"
#include "sampler/walk/stack_tables.h"
#include "sampler/walk/table_builder.h"

enum { NR_OTHERS = 300, FIRST_OTHER = 1000 };

static void on_file(void *context, struct mapped_file *file)
{
	if (file->kind == MODULE_ELF && file->nr_segments)
		table_builder_request(context, file);
}

/* Takes results until that file's comes; returns how many came before it. */
static uint32_t nr_before(struct table_builder *builder, const uint32_t wanted[2])
{
	struct pollfd ready = { table_builder_event_fd(builder), POLLIN, 0 };
	uint32_t nr = 0, nr_found = 0;

	while (nr_found < 2) {
		struct built_table built;

		while (!table_builder_take(builder, &built))
			assert_int_equal(poll(&ready, 1, 60000), 1);
		free(built.claim.numbers);
		unwind_table_free(built.table);
		nr_found += built.index == wanted[0] || built.index == wanted[1];
		nr++;
	}
	return nr;
}

static pid_t start_waiting(void)
{
	pid_t pid = fork();

	if (!pid)
		for (;;)
			pause();
	assert_true(pid > 0);
	usleep(100000); /* until it waits */
	return pid;
}

static void files_of_the_stack_come_first(void **state)
{
	struct walk_rule *rules = calloc(WALK_NR_RULES, sizeof(*rules));
	struct table_builder *builder = table_builder_new(rules, NULL, NULL);
	struct file_table *files = file_table_new();
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	uint32_t wanted[2] = { UINT32_MAX, UINT32_MAX };
	struct process p = { .pid = start_waiting() };

	(void)state;
	for (uint32_t i = 0; i < NR_OTHERS; i++)
		table_builder_request(builder,
				      &(struct mapped_file){ .index = FIRST_OTHER + i, .fd = fd });
	assert_int_equal(process_read_maps(&p, files, on_file, builder), 0);
	assert_int_equal(stack_tables_first(&p, builder, 0), 0);
	assert_int_equal(stack_tables_first(&p, builder, 10), 1);
	for (uint32_t i = 0; i < file_table_size(files); i++) {
		const char *path = file_table_get(files, i)->path;

		if (path && strstr(path, "/libc.so"))
			wanted[0] = i;
		if (path && strstr(path, "test_stack_tables"))
			wanted[1] = i;
	}
	assert_true(wanted[0] != UINT32_MAX && wanted[1] != UINT32_MAX);
	/* the threads may have built some of the others before that */
	assert_in_range(nr_before(builder, wanted), 2, NR_OTHERS * 2 / 3);
	kill(p.pid, SIGKILL);
	waitpid(p.pid, NULL, 0);
	table_builder_free(builder);
	process_fini(&p);
	file_table_free(files);
	free(rules);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_of_the_stack_come_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
