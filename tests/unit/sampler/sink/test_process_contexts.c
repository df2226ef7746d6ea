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
		process_contexts_add(c, pids[i], 0);
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

/* Publishes as the specification of OTEP 4719 says, with an empty payload. */
static void publish(void)
{
	static const char header[] = "OTEL_CTX\2\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
	int fd = memfd_create("OTEL_CTX", MFD_CLOEXEC);
	void *at;

	_Static_assert(sizeof(header) == 32, "the header of a context");
	if (fd < 0 || write(fd, header, sizeof(header)) != sizeof(header))
		_exit(1);
	at = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, 0);
	if (at == MAP_FAILED)
		_exit(1);
}

/* How long a process that publishes after its first look stays unknown, in ms; at most `most`. */
static uint64_t ms_until_known(uint64_t age_ns, uint64_t most)
{
	struct process_contexts *c = process_contexts_new();
	uint64_t start = monotonic_ns(), ms = 0;
	const char *service, *attributes;
	pid_t pid = fork();

	if (!pid) {
		usleep(400000);
		publish();
		for (;;)
			pause();
	}
	process_contexts_add(c, pid, age_ns);
	while (!process_contexts_find(c, pid, &service, &attributes) && ms < most) {
		process_contexts_poll(c, ignore, NULL);
		nanosleep(&(struct timespec){ .tv_nsec = 5000000 }, NULL);
		ms = (monotonic_ns() - start) / 1000000;
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	process_contexts_free(c);
	return ms;
}

/* One that has run for a minute without publishing will hardly do so in the next seconds. */
static void the_longer_a_process_has_run_the_later_it_is_looked_at_again(void **state)
{
	(void)state;
	only_in_check_all();
	assert_in_range(ms_until_known(0, 20000), 1000, 10000);
	assert_int_equal(ms_until_known(UINT64_C(60000000000), 3000) >= 3000, true);
}

static void one_that_is_met_late_may_be_looked_at_at_once(void **state)
{
	struct process_contexts *c = process_contexts_new();
	const char *service, *attributes;
	pid_t pid = fork();
	bool found = false;

	(void)state;
	if (!pid) {
		publish();
		for (;;)
			pause();
	}
	usleep(300000);
	assert_true(process_contexts_may_look(c, pid));
	assert_false(process_contexts_look(c, pid)); /* it is not known yet */
	process_contexts_add(c, pid, UINT64_C(60000000000));
	assert_false(process_contexts_may_look(c, pid));
	found = process_contexts_look(c, pid);
	assert_false(process_contexts_look(c, pid));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	assert_true(found);
	assert_true(process_contexts_find(c, pid, &service, &attributes));
	process_contexts_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(looks_take_a_part_of_the_time),
		cmocka_unit_test(the_longer_a_process_has_run_the_later_it_is_looked_at_again),
		cmocka_unit_test(one_that_is_met_late_may_be_looked_at_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
