/*
 * Headers that a child without rights reads are the headers that this process reads; a child that
 * dies costs one answer; and an answer that makes no sense is refused.
 */
#include "core/sandbox/confined_headers.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/sandbox/sandbox.h"
#include "tests/unit/unit.h"

static struct sandbox *sandbox;
static struct header_reader reader;
static int program;

static int set_up(void **state)
{
	(void)state;
	program = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	if (program < 0 || sandbox_new(&sandbox))
		return -1;
	reader = (struct header_reader){ .sandbox = sandbox };
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	header_reader_fini(&reader);
	sandbox_free(sandbox);
	close(program);
	return 0;
}

/* The first child of a process; 0: it has none. */
static pid_t child_of(pid_t pid)
{
	char path[64], children[64] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid, (int)pid);
	f = fopen(path, "re");
	assert_non_null(f);
	if (!fgets(children, sizeof(children), f))
		children[0] = '\0';
	fclose(f);
	return atoi(children);
}

static void a_child_reads_what_this_process_reads(void **state)
{
	struct code_headers here, there;
	int text = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);

	(void)state;
	assert_int_equal(code_headers_read(NULL, 0, program, &here), 0);
	assert_int_equal(code_headers_read(&reader, 0, program, &there), 0);
	assert_true(here.nr_segments > 0);
	assert_int_equal(there.nr_segments, here.nr_segments);
	assert_memory_equal(there.segments, here.segments,
			    here.nr_segments * sizeof(*here.segments));
	assert_int_equal(there.build_id_size, here.build_id_size);
	assert_memory_equal(there.build_id, here.build_id, BUILD_ID_MAX);
	assert_int_equal(code_headers_read(&reader, 0, text, &there), -ENOEXEC);
	assert_int_equal(code_headers_read(&reader, 0, -1, &there), -ENOEXEC);
	free(here.segments);
	free(there.segments);
	close(text);
}

static void each_user_has_a_child_and_the_number_of_children_is_limited(void **state)
{
	struct code_headers h;

	(void)state;
	for (uint32_t user = 0; user < 3 * HEADER_READERS; user++)
		for (int i = 0; i < 2; i++) {
			assert_int_equal(code_headers_read(&reader, user, program, &h), 0);
			free(h.segments);
		}
	assert_int_equal(reader.next, 3 * HEADER_READERS);
}

static void the_next_file_has_a_new_child(void **state)
{
	struct code_headers h;
	pid_t child;

	(void)state;
	assert_int_equal(code_headers_read(&reader, 0, program, &h), 0);
	free(h.segments);
	child = child_of(child_of(getpid()));
	assert_true(child > 0);
	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(code_headers_read(&reader, 0, program, &h), 0);
	free(h.segments);
}

static void without_children_nothing_is_read(void **state)
{
	pid_t starter = child_of(getpid());
	struct code_headers h;
	siginfo_t ended;

	(void)state;
	assert_int_equal(code_headers_read(&reader, 0, program, &h), 0);
	free(h.segments);
	/* The starter's children die with it. */
	assert_int_equal(kill(starter, SIGKILL), 0);
	assert_int_equal(waitid(P_PID, (id_t)starter, &ended, WEXITED | WNOWAIT), 0);
	assert_int_equal(code_headers_read(&reader, 0, program, &h), -ECHILD);
}

static void an_answer_that_makes_no_sense_is_refused(void **state)
{
	/* err, size of the build-id, build-id, number of segments, segments */
	uint8_t bytes[8 + BUILD_ID_MAX + 8 + 2 * sizeof(struct code_segment)] = { 0 };
	uint8_t *nr = bytes + 8 + BUILD_ID_MAX;
	struct code_headers h;

	(void)state;
	*nr = 2;
	assert_int_equal(code_headers_take(bytes, sizeof(bytes), &h), 0);
	assert_int_equal(h.nr_segments, 2);
	free(h.segments);
	for (size_t size = 0; size < sizeof(bytes); size++)
		assert_int_equal(code_headers_take(bytes, size, &h), -EBADMSG);
	*nr = 3;
	assert_int_equal(code_headers_take(bytes, sizeof(bytes), &h), -EBADMSG);
	nr[7] = 0xff;
	assert_int_equal(code_headers_take(bytes, sizeof(bytes), &h), -EBADMSG);
	*nr = 2;
	nr[7] = 0;
	bytes[4] = BUILD_ID_MAX + 1;
	assert_int_equal(code_headers_take(bytes, sizeof(bytes), &h), -EBADMSG);
	bytes[4] = 0;
	bytes[0] = 1;
	assert_int_equal(code_headers_take(bytes, sizeof(bytes), &h), -EBADMSG);
}

#define WITH_CHILDREN(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_CHILDREN(a_child_reads_what_this_process_reads),
		WITH_CHILDREN(each_user_has_a_child_and_the_number_of_children_is_limited),
		WITH_CHILDREN(the_next_file_has_a_new_child),
		WITH_CHILDREN(without_children_nothing_is_read),
		cmocka_unit_test(an_answer_that_makes_no_sense_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
