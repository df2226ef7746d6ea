/* sampler/sink/process_contexts.c: looks at processes take little time, however many there are. */
#include "tests/unit/unit.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "sampler/sink/process_contexts.h"

#define NR_CHILDREN 24
#define NR_MAPPINGS 20000
#define PAGE 4096
#define SPAN_NS UINT64_C(1500000000)
#define SLACK_NS 10000000

static void ignore(void *context, pid_t pid)
{
	(void)context;
	(void)pid;
}

/* Each inherits mappings that are long to list. */
static void start_children(pid_t pids[NR_CHILDREN])
{
	size_t size = (size_t)2 * NR_MAPPINGS * PAGE;
	char *at = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(at != MAP_FAILED);
	for (size_t i = 0; i < NR_MAPPINGS; i++)
		assert_int_equal(mprotect(at + 2 * i * PAGE, PAGE, PROT_READ), 0);
	for (size_t i = 0; i < NR_CHILDREN; i++) {
		pids[i] = fork();
		if (!pids[i])
			for (;;)
				pause();
		assert_true(pids[i] > 0);
	}
	munmap(at, size);
}

/* A look may take as long as it takes, but then none follows for many times that. */
static void looks_take_a_part_of_the_time(void **state)
{
	struct process_contexts *c = process_contexts_new();
	uint64_t start, used = 0, longest = 0;
	pid_t pids[NR_CHILDREN];

	(void)state;
	start_children(pids);
	for (size_t i = 0; i < NR_CHILDREN; i++)
		process_contexts_add(c, pids[i]);
	for (start = monotonic_ns(); monotonic_ns() - start < SPAN_NS;) {
		uint64_t before = thread_cpu_ns(), took;

		process_contexts_poll(c, ignore, NULL);
		took = thread_cpu_ns() - before;
		used += took;
		longest = took > longest ? took : longest;
		nanosleep(&(struct timespec){ .tv_nsec = 5000000 }, NULL);
	}
	for (size_t i = 0; i < NR_CHILDREN; i++) {
		kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, 0);
	}
	process_contexts_free(c);
	print_message("%.1f ms of CPU time, %.1f ms at once\n", (double)used / 1e6,
		      (double)longest / 1e6);
	assert_true(longest > 0);
	assert_true(used <= (monotonic_ns() - start) / 50 + longest + SLACK_NS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(looks_take_a_part_of_the_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
