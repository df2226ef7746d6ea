/* A system call and its arguments say what a thread waited for. */
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sampler/agent/x86_64/context.h"
#include "sampler/timer/interrupted.h"

static struct interruption explain(enum agent_doing doing, long call, uint64_t first,
				   uint64_t second)
{
	const struct agent_sample s = {
		.doing = (uint8_t)doing,
		.call = (int32_t)call,
		.args = { first, second },
		.time_ns = 1,
	};
	struct interrupted *i = interrupted_new();
	struct interruption what;

	interrupted_explain(i, getpid(), &s, &what);
	interrupted_free(i);
	return what;
}

static void expect(const struct interruption *what, enum profile_column column, const char *reason,
		   const char *object)
{
	assert_int_equal(what->column, column);
	assert_string_equal(what->reason, reason);
	assert_memory_equal(what->object, object, strlen(object));
}

static void a_call_and_its_arguments_say_what_for(void **state)
{
	struct interruption what;
	int fds[2];

	(void)state;
	assert_int_equal(pipe(fds), 0);
	what = explain(AGENT_WAITED, SYS_read, (uint64_t)fds[0], 0);
	expect(&what, COLUMN_WAITING, "pipe wait", "pipe:[");
	what = explain(AGENT_WAITED, SYS_futex, 0x7f12, 0);
	expect(&what, COLUMN_WAITING, "lock wait", "lock 0x7f12");
	what = explain(AGENT_WAITED, SYS_poll, 0x7f12, 3);
	expect(&what, COLUMN_WAITING, "poll wait", "3 descriptors");
	what = explain(AGENT_WAITED, SYS_clock_nanosleep, 0, 0);
	expect(&what, COLUMN_WAITING, "sleep", "");
	what = explain(AGENT_WAITED, -1, 0, 0);
	expect(&what, COLUMN_WAITING, "other wait", "");
	what = explain(AGENT_WAITED, SYS_read, 1u << 20, 0); /* no such descriptor */
	expect(&what, COLUMN_WAITING, "other wait", "");
	close(fds[0]);
	close(fds[1]);
}

/* A program closes a descriptor, and opens another with its number. */
static void a_file_that_does_not_fit_the_call_is_read_again(void **state)
{
	struct interrupted *i = interrupted_new();
	struct agent_sample s = {
		.doing = AGENT_WAITED,
		.call = SYS_recvfrom,
		.time_ns = 1,
	};
	struct interruption what;
	int fds[2], file = open("/proc/self/exe", O_RDONLY);

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	s.args[0] = (uint64_t)fds[0];
	interrupted_explain(i, getpid(), &s, &what);
	expect(&what, COLUMN_WAITING, "socket wait", "socket:[");
	assert_int_equal(dup2(file, fds[0]), fds[0]);
	s.call = SYS_fdatasync;
	interrupted_explain(i, getpid(), &s, &what);
	expect(&what, COLUMN_WAITING, "disk wait", "/");
	assert_int_equal(dup2(fds[1], fds[0]), fds[0]);
	s.time_ns += 2000000000;
	interrupted_explain(i, getpid(), &s, &what);
	expect(&what, COLUMN_WAITING, "disk wait", "");
	assert_int_equal(what.object[0], '\0');
	close(fds[0]);
	close(fds[1]);
	close(file);
	interrupted_free(i);
}

static void a_late_signal_is_a_disk_or_a_lost_cpu(void **state)
{
	struct interruption what;
	int fd = open("/proc/self/exe", O_RDONLY), zero = open("/dev/zero", O_RDONLY);

	(void)state;
	what = explain(AGENT_WAITED_UNINTERRUPTED, SYS_read, (uint64_t)fd, 0);
	expect(&what, COLUMN_WAITING, "disk wait", "/");
	what = explain(AGENT_WAITED_UNINTERRUPTED, SYS_read, (uint64_t)zero, 0);
	expect(&what, COLUMN_RUNNABLE, "preempted", "");
	what = explain(AGENT_WAITED_UNINTERRUPTED, SYS_getpid, 0, 0);
	expect(&what, COLUMN_RUNNABLE, "preempted", "");
	what = explain(AGENT_WAS_RUNNABLE, -1, 0, 0);
	expect(&what, COLUMN_RUNNABLE, "preempted", "");
	what = explain(AGENT_RAN, SYS_read, (uint64_t)fd, 0);
	assert_int_equal(what.column, COLUMN_CPU);
	assert_null(what.reason);
	what = explain((enum agent_doing)200, SYS_read, (uint64_t)fd, 0);
	assert_int_equal(what.column, COLUMN_CPU);
	close(fd);
	close(zero);
}

static void the_number_is_read_from_the_code(void **state)
{
	static const uint8_t poll_code[] = { 0x90, 0xb8, 7, 0, 0, 0, 0x0f, 0x05 };
	static const uint8_t moved[] = { 0xb8, 0xe6, 0, 0, 0, 0x44, 0x89, 0xc7, 0x0f, 0x05 };
	static const uint8_t zeroed[] = { 0xb8, 7, 0, 0, 0, 0x31, 0xc0, 0x0f, 0x05 };
	static const uint8_t other[] = { 0x48, 0x89, 0xf8, 0x0f, 0x05 };

	(void)state;
	assert_int_equal(agent_call_number(poll_code, sizeof(poll_code)), 7);
	assert_int_equal(agent_call_number(moved, sizeof(moved)), 230);
	assert_int_equal(agent_call_number(zeroed, sizeof(zeroed)), 0);
	assert_int_equal(agent_call_number(other, sizeof(other)), -1);
	assert_int_equal(agent_call_number(poll_code, sizeof(poll_code) - 1), -1);
	assert_int_equal(agent_call_number(poll_code, 0), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_call_and_its_arguments_say_what_for),
		cmocka_unit_test(a_file_that_does_not_fit_the_call_is_read_again),
		cmocka_unit_test(a_late_signal_is_a_disk_or_a_lost_cpu),
		cmocka_unit_test(the_number_is_read_from_the_code),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
