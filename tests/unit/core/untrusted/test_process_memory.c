/*
 * core/untrusted/process_memory.c: with process_vm_readv(2), and under a filter that refuses it as
 * Docker's did before 23.0, the same bytes are read, up to the same place.
 */
#include "tests/unit/unit.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/untrusted/process_memory.h"

#define PAGE 4096u

static unsigned char *pages; /* two of them; the third is not there */

static int start(void **state)
{
	(void)state;
	pages = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (pages == MAP_FAILED)
		return -1;
	for (size_t i = 0; i < 2 * PAGE; i++)
		pages[i] = (unsigned char)(i % 251);
	return munmap(pages + 2 * PAGE, PAGE);
}

static void refuse_the_call(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = { sizeof(code) / sizeof(*code), code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		_exit(100);
}

/* Reads the pages of a child of its own. The number of the check that failed, or 0. */
static int read_a_child(void)
{
	unsigned char got[3 * PAGE];
	struct iovec ranges[2] = { { pages + 5, 1000 }, { pages + PAGE, 16 } };
	pid_t pid = fork();
	int failed = 0;

	if (!pid) {
		pause();
		_exit(0);
	}
	if (process_memory_read(pid, got, ranges, 2) != 1016)
		failed = 1;
	else if (memcmp(got, pages + 5, 1000) || memcmp(got + 1000, pages + PAGE, 16))
		failed = 2;
	ranges[0] = (struct iovec){ pages + PAGE, PAGE };
	ranges[1] = (struct iovec){ pages + 2 * PAGE, 8 };
	if (!failed && process_memory_read(pid, got, ranges, 2) != PAGE)
		failed = 3;
	if (!failed && process_memory_read(pid, got, &ranges[1], 1) != -EFAULT)
		failed = 4;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	if (!failed && process_memory_read(pid, got, ranges, 1) != -ESRCH)
		failed = 5;
	return failed;
}

static int in_child(void (*before)(void))
{
	int status = 0;
	pid_t pid = fork();

	if (!pid) {
		if (before)
			before();
		_exit(read_a_child());
	}
	assert_true(waitpid(pid, &status, 0) == pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void ranges_are_read_up_to_the_first_that_is_not_there(void **state)
{
	(void)state;
	assert_int_equal(in_child(NULL), 0);
}

static void without_the_call_the_file_gives_the_same(void **state)
{
	(void)state;
	assert_int_equal(in_child(refuse_the_call), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ranges_are_read_up_to_the_first_that_is_not_there),
		cmocka_unit_test(without_the_call_the_file_gives_the_same),
	};

	return cmocka_run_group_tests(tests, start, NULL);
}
