/*
 * Headers that a child without rights reads are the headers that this process reads; a child that
 * dies costs one answer; and an answer that makes no sense is refused.
 */
// BUILD: -Wl,--wrap=message_wait -Wl,--wrap=clock_gettime
#include "core/sandbox/confined_headers.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/sandbox/message.h"
#include "core/sandbox/sandbox.h"
#include "tests/unit/unit.h"
#include "tests/unit/child.h"

int __real_message_wait(int socket, int other, int timeout_ms);
int __wrap_message_wait(int socket, int other, int timeout_ms);
int __real_clock_gettime(clockid_t clock, struct timespec *time);
int __wrap_clock_gettime(clockid_t clock, struct timespec *time);

static struct sandbox *sandbox;
static struct header_reader reader;
static int program;

static bool is_late;
static int last_wait_ms;
static time_t skipped_s; /* that the clock is ahead */

/* Where children are late, the time of a wait passes at once. */
int __wrap_message_wait(int socket, int other, int timeout_ms)
{
	last_wait_ms = timeout_ms;
	if (!is_late)
		return __real_message_wait(socket, other, timeout_ms);
	skipped_s += timeout_ms / 1000;
	return -ETIMEDOUT;
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *time)
{
	int err = __real_clock_gettime(clock, time);

	if (!err && clock == CLOCK_MONOTONIC)
		time->tv_sec += skipped_s;
	return err;
}

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

/* A machine that was busy once, or a file that held up its children, is not held against others. */
static void children_that_were_late_are_forgiven_in_time(void **state)
{
	struct code_headers h;

	(void)state;
	is_late = true;
	for (int i = 0; i < 4; i++)
		assert_int_equal(code_headers_read(&reader, 0, program, &h), -ETIMEDOUT);
	assert_in_range(last_wait_ms, 1, 100);
	is_late = false;
	skipped_s += 3600;
	assert_int_equal(code_headers_read(&reader, 0, program, &h), 0);
	assert_in_range(last_wait_ms, 1000, 10000);
	free(h.segments);
}

/* Answers one question in place of a child, as hostile code in it could. */
static void lie(int socket, bool about_segments, bool not_elf)
{
	struct {
		int32_t err;
		uint32_t build_id_size;
		uint8_t build_id[BUILD_ID_MAX];
		uint64_t build_id_at, nr_segments;
		struct code_segment segments[2];
	} answer = { 0 };
	struct code_headers truth;
	char byte;
	int fd;

	if (message_receive(socket, &byte, 1, &fd, 1) != 1 || fd < 0 ||
	    code_headers_read(NULL, 0, fd, &truth) || truth.nr_segments > 2)
		_exit(1);
	answer.err = not_elf ? -ENOEXEC : 0;
	answer.build_id_size = (uint32_t)truth.build_id_size;
	memcpy(answer.build_id, truth.build_id, sizeof(answer.build_id));
	answer.build_id_at = truth.build_id_at;
	answer.nr_segments = truth.nr_segments;
	memcpy(answer.segments, truth.segments, truth.nr_segments * sizeof(*truth.segments));
	if (about_segments)
		answer.segments[0].vaddr += 4096;
	else
		answer.build_id[0]++;
	message_send(socket, &answer,
		     offsetof(__typeof__(answer), segments) +
			     answer.nr_segments * sizeof(struct code_segment),
		     NULL, 0);
	_exit(0);
}

static void a_child_that_lies_is_not_believed(void **state)
{
	struct code_headers truth, told;

	(void)state;
	assert_int_equal(code_headers_read(NULL, 0, program, &truth), 0);
	assert_in_range(truth.nr_segments, 1, 2);
	assert_true(truth.build_id_size > 0);
	for (int i = 0; i < 3; i++) {
		int sockets[2];
		pid_t liar;

		assert_int_equal(message_pair(sockets), 0);
		liar = fork();
		if (!liar)
			lie(sockets[1], i == 0, i == 2);
		close(sockets[1]);
		reader.children[0].user = 7;
		reader.children[0].socket = sockets[0];
		assert_int_equal(code_headers_read(&reader, 7, program, &told), 0);
		assert_memory_equal(told.segments, truth.segments,
				    truth.nr_segments * sizeof(*truth.segments));
		assert_memory_equal(told.build_id, truth.build_id, sizeof(truth.build_id));
		assert_int_equal(waitpid(liar, NULL, 0), liar);
		free(told.segments);
		header_reader_fini(&reader);
		reader.next = 0;
	}
	free(truth.segments);
}

static void only_what_the_file_says_is_true(void **state)
{
	struct code_headers h;
	int text = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);

	(void)state;
	assert_int_equal(code_headers_read(NULL, 0, program, &h), 0);
	assert_true(code_headers_are_true(program, &h));
	assert_false(code_headers_are_true(program, NULL));
	assert_true(code_headers_are_true(text, NULL));
	assert_false(code_headers_are_true(text, &h));
	h.segments[0].size++;
	assert_false(code_headers_are_true(program, &h));
	h.segments[0].size--;
	h.nr_segments--;
	assert_false(code_headers_are_true(program, &h));
	h.nr_segments++;
	h.build_id_at++;
	assert_false(code_headers_are_true(program, &h));
	h.build_id_at = UINT64_MAX;
	assert_false(code_headers_are_true(program, &h));
	free(h.segments);
	close(text);
}

static void an_answer_that_makes_no_sense_is_refused(void **state)
{
	/* err, size of the build-id, build-id, its place, number of segments, segments */
	uint8_t bytes[8 + BUILD_ID_MAX + 16 + 2 * sizeof(struct code_segment)] = { 0 };
	uint8_t *nr = bytes + 16 + BUILD_ID_MAX;
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
		WITH_CHILDREN(children_that_were_late_are_forgiven_in_time),
		WITH_CHILDREN(a_child_that_lies_is_not_believed),
		WITH_CHILDREN(only_what_the_file_says_is_true),
		cmocka_unit_test(an_answer_that_makes_no_sense_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
