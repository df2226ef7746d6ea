/*
 * Children of a sandbox have no rights: what each of them may do, and what happens if it dies or
 * takes too much.
 */
#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/base/proc_status.h"
#include "core/sandbox/message.h"
#include "core/sandbox/sandbox.h"

#ifdef __SANITIZE_ADDRESS__
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

enum { WAIT_MS = 60000 };

static const struct sandbox_limits limits = { 256u << 20, 1u << 20, 30 };

static int new_sandbox(void **state)
{
	return sandbox_new((struct sandbox **)state);
}

static int free_sandbox(void **state)
{
	sandbox_free(*state);
	return 0;
}

static int start(void **state, sandbox_job *job)
{
	int socket = sandbox_start(*state, job, &limits);

	assert_true(socket >= 0);
	return socket;
}

/* Receives one message of exactly that size. */
static void receive(int socket, void *data, size_t size)
{
	assert_int_equal(message_wait(socket, -1, WAIT_MS), 0);
	assert_int_equal(message_receive(socket, data, size, NULL, 0), size);
}

/* Waits for the end of the child. */
static void expect_end(int socket)
{
	char byte;

	assert_int_equal(message_wait(socket, -1, WAIT_MS), 0);
	assert_int_equal(message_receive(socket, &byte, 1, NULL, 0), 0);
	close(socket);
}

/* ---- what a child may not do: each attempt gives its errno */

enum { ATTEMPT_MAX = 16 };

static void attempt(int own)
{
	int errs[ATTEMPT_MAX], n = 0;

	char byte;

#define TRY(call) errs[n++] = (call) >= 0 ? 0 : errno
	TRY(open("/etc/passwd", O_RDONLY));
	TRY(syscall(SYS_openat2, AT_FDCWD, "/etc/passwd", NULL, 0));
	TRY(socket(AF_INET, SOCK_STREAM, 0));
	TRY(socketpair(AF_UNIX, SOCK_STREAM, 0, errs));
	TRY(kill(getppid(), 0));
	TRY(fork());
	TRY(execl("/bin/true", "true", NULL));
	TRY(syscall(SYS_ptrace, 0, 0, 0, 0));
	TRY(syscall(SYS_process_vm_readv, getppid(), &byte, 1, &byte, 1, 0));
	TRY(mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
			    MAP_FAILED
		    ? -1
		    : 0);
	TRY(access("/etc/passwd", R_OK));
	TRY(unlink("/nonexistent"));
	TRY(syscall(SYS_bpf, 0, NULL, 0));
	TRY(syscall(SYS_io_uring_setup, 1, NULL));
#undef TRY
	while (n < ATTEMPT_MAX)
		errs[n++] = -1;
	message_send(own, errs, sizeof(errs), NULL, 0);
}

static void a_child_may_neither_open_nor_start_nor_touch_anything(void **state)
{
	int errs[ATTEMPT_MAX], fd;

	if (SANITIZED)
		skip();
	fd = start(state, attempt);
	receive(fd, errs, sizeof(errs));
	for (int i = 0; i < ATTEMPT_MAX; i++)
		if (errs[i] != -1 && errs[i] != ENOSYS && errs[i] != EPERM)
			fail_msg("attempt %d: error %d", i, errs[i]);
	expect_end(fd);
}

/* Tells its process id as the kernel sees it, and waits until it is let go. */
static void say_pid(int socket)
{
	char byte;

	message_send(socket, "", 1, NULL, 0);
	message_receive(socket, &byte, 1, NULL, 0);
}

/* The child that started last. One that has ended may still be listed before it. */
static pid_t youngest_child_of(pid_t parent)
{
	char path[96];
	int pid = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)parent, (int)parent);
	f = fopen(path, "r");
	assert_non_null(f);
	while (fscanf(f, "%d", &pid) == 1)
		;
	fclose(f);
	return pid;
}

static void expect_status(const char *status, const char *line)
{
	if (!strstr(status, line))
		fail_msg("no '%s' in %s", line, status);
}

static void a_child_has_no_capability_and_one_socket(void **state)
{
	char path[64], status[8192], byte;
	int fd = start(state, say_pid), file;
	pid_t child, starter = youngest_child_of(getpid());
	struct stat st;
	ssize_t n;

	receive(fd, &byte, 1);
	child = youngest_child_of(starter);
	assert_true(child > 0);
	snprintf(path, sizeof(path), "/proc/%d/status", (int)child);
	file = open(path, O_RDONLY);
	n = read(file, status, sizeof(status) - 1);
	assert_true(n > 0);
	close(file);
	status[n] = '\0';
	expect_status(status, "\nCapEff:\t0000000000000000\n");
	expect_status(status, "\nCapPrm:\t0000000000000000\n");
	expect_status(status, "\nNoNewPrivs:\t1\n");
	if (!SANITIZED)
		expect_status(status, "\nSeccomp:\t2\n");
	for (fd = 4; fd < 64 && geteuid() == 0; fd++) {
		snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)child, fd);
		assert_int_equal(lstat(path, &st), -1);
	}
	kill(child, SIGKILL);
}

/* ---- what a child can do: threads, memory, files that it was handed */

static void *add_one(void *number)
{
	++*(int *)number;
	return NULL;
}

static void use_threads_and_files(int socket)
{
	int number = 41, fd;
	char *memory = calloc(1, 32u << 20);
	pthread_t thread;
	char byte;

	if (!memory || message_receive(socket, &byte, 1, &fd, 1) != 1 || fd < 0)
		return;
	memset(memory, 1, 32u << 20);
	if (pthread_create(&thread, NULL, add_one, &number) || pthread_join(thread, NULL))
		return;
	if (write(fd, "answer", 6) == 6)
		message_send(socket, &number, sizeof(number), NULL, 0);
}

static void a_child_has_threads_memory_and_the_files_it_was_handed(void **state)
{
	int fd = start(state, use_threads_and_files), file = memfd_create("test", MFD_CLOEXEC);
	char text[7] = "";
	int number = 0;

	assert_int_equal(message_send(fd, "", 1, &file, 1), 0);
	receive(fd, &number, sizeof(number));
	assert_int_equal(number, 42);
	assert_int_equal(pread(file, text, 6, 0), 6);
	assert_string_equal(text, "answer");
	close(file);
	expect_end(fd);
}

static void crash(int socket)
{
	(void)socket;
	raise(SIGSEGV);
	__builtin_trap();
}

static void take_all_memory(int socket)
{
	for (;;) {
		char *memory = malloc(16u << 20);

		if (!memory)
			break;
		memset(memory, 1, 16u << 20);
	}
	message_send(socket, "", 1, NULL, 0);
}

static void write_too_much(int socket)
{
	char block[4096] = "";
	int fd;
	char byte;

	message_receive(socket, &byte, 1, &fd, 1);
	for (int i = 0; i < 1024; i++)
		if (write(fd, block, sizeof(block)) < 0)
			return;
}

static void loop(int socket)
{
	(void)socket;
	for (volatile unsigned int i = 0;; i++)
		;
}

static void a_crash_reads_as_the_end_and_others_go_on(void **state)
{
	if (SANITIZED)
		skip();
	for (int i = 0; i < 20; i++)
		expect_end(start(state, crash));
	a_child_has_threads_memory_and_the_files_it_was_handed(state);
}

static void memory_files_and_time_are_limited(void **state)
{
	const struct sandbox_limits short_time = { 256u << 20, 1u << 20, 1 };
	int fd, file = memfd_create("test", MFD_CLOEXEC);
	struct stat st;
	char byte;

	if (SANITIZED)
		skip();
	fd = start(state, take_all_memory);
	receive(fd, &byte, 1);
	expect_end(fd);
	fd = start(state, write_too_much);
	assert_int_equal(message_send(fd, "", 1, &file, 1), 0);
	expect_end(fd);
	assert_int_equal(fstat(file, &st), 0);
	assert_int_equal(st.st_size, 1u << 20);
	close(file);
	expect_end(sandbox_start(*state, loop, &short_time));
}

static void take_what_there_is(int socket)
{
	uint64_t bytes = 0;
	void *volatile block; /* or the compiler would leave it out */

	while ((block = malloc(1u << 20)))
		bytes += 1u << 20;
	message_send(socket, &bytes, sizeof(bytes), NULL, 0);
}

static void a_limit_for_all_children_holds(void **state)
{
	int fd, file = memfd_create("test", MFD_CLOEXEC);
	uint64_t bytes;
	struct stat st;

	if (SANITIZED)
		skip();
	sandbox_set_memory(*state, 20u << 20);
	assert_int_equal(sandbox_memory_max(*state), 20u << 20);
	fd = start(state, take_what_there_is);
	receive(fd, &bytes, sizeof(bytes));
	expect_end(fd);
	assert_true(bytes > 10u << 20 && bytes < 20u << 20);
	sandbox_set_memory(*state, 1u << 20);
	fd = start(state, write_too_much);
	assert_int_equal(message_send(fd, "", 1, &file, 1), 0);
	expect_end(fd);
	assert_int_equal(fstat(file, &st), 0);
	assert_int_equal(st.st_size, 512u << 10);
	close(file);
	sandbox_set_memory(*state, 0);
	assert_int_equal(sandbox_memory_max(NULL), 0);
}

static void burn(int socket)
{
	struct timespec t;

	do
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	while (!t.tv_sec && t.tv_nsec < 300000000);
	message_send(socket, "", 1, NULL, 0);
}

/* CPU time of the children that a process has waited for, in ticks. */
static unsigned long waited_ticks(pid_t pid)
{
	unsigned long user = 0, kernel = 0;
	char text[1024];

	assert_int_equal(proc_text(text, sizeof(text), "/proc/%d/stat", (int)pid), 0);
	sscanf(strrchr(text, ')') + 1,
	       " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %lu %lu", &user, &kernel);
	return user + kernel;
}

static void the_time_of_children_that_have_ended_is_not_lost(void **state)
{
	pid_t starter = youngest_child_of(getpid());
	unsigned long before = waited_ticks(starter),
		      least = (unsigned long)sysconf(_SC_CLK_TCK) / 5;
	int fd = start(state, burn);
	char byte;

	receive(fd, &byte, 1);
	expect_end(fd);
	for (int i = 0; i < 500 && waited_ticks(starter) < before + least; i++)
		usleep(10000);
	assert_true(waited_ticks(starter) >= before + least);
}

static void children_end_with_their_sandbox(void **state)
{
	struct sandbox *sandbox;
	int fd;

	(void)state;
	assert_int_equal(sandbox_new(&sandbox), 0);
	fd = sandbox_start(sandbox, say_pid, &limits);
	assert_true(fd >= 0);
	assert_int_equal(message_wait(fd, -1, WAIT_MS), 0);
	sandbox_free(sandbox);
	shutdown(fd, SHUT_WR);
	for (char byte; message_receive(fd, &byte, 1, NULL, 0) > 0;)
		;
	close(fd);
}

static void signals_of_the_terminal_do_not_reach_children(void **state)
{
	pid_t starter = youngest_child_of(getpid());

	(void)state;
	for (int i = 0; i < 1000 && getsid(starter) != starter; i++)
		usleep(10000);
	assert_int_equal(getsid(starter), starter);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_child_may_neither_open_nor_start_nor_touch_anything),
		cmocka_unit_test(a_child_has_no_capability_and_one_socket),
		cmocka_unit_test(a_child_has_threads_memory_and_the_files_it_was_handed),
		cmocka_unit_test(a_crash_reads_as_the_end_and_others_go_on),
		cmocka_unit_test(memory_files_and_time_are_limited),
		cmocka_unit_test(a_limit_for_all_children_holds),
		cmocka_unit_test(the_time_of_children_that_have_ended_is_not_lost),
		cmocka_unit_test(children_end_with_their_sandbox),
		cmocka_unit_test(signals_of_the_terminal_do_not_reach_children),
	};

	return cmocka_run_group_tests(tests, new_sandbox, free_sandbox);
}
