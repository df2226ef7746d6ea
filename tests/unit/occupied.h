/*
 * For tests that attach to a process which maps memory just where sprof is about to: sprof refuses,
 * and that memory stays the process's own.
 */
#ifndef SPROF_TESTS_OCCUPIED_H
#define SPROF_TESTS_OCCUPIED_H

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/proc_status.h"
#include "sampler/inject/reason.h"
#include "sampler/inject/seccomp_status.h"
#include "tests/unit/unit.h"

#define OCCUPIED_BYTE 0x55

static inline uint8_t *occupied_map(uint64_t address, size_t size)
{
	uint8_t *memory = mmap((void *)(uintptr_t)address, size, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	assert_true(memory != MAP_FAILED);
	memset(memory, OCCUPIED_BYTE, size);
	return memory;
}

/* A child that has the memory too, and ends when it finds it changed. */
static inline pid_t occupied_start(const uint8_t *memory, size_t size)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	for (; !pid; usleep(1000))
		for (size_t i = 0; i < size; i += 4096)
			if (memory[i] != OCCUPIED_BYTE)
				_exit(1);
	return pid;
}

static inline long occupied_nr_filters(pid_t pid)
{
	char text[8192];

	return proc_status_text(pid, text, sizeof(text)) ? -1 : inject_seccomp_nr_filters(text);
}

/* Is it right that no process here can be entered, or not one under this seccomp filter? */
static inline bool occupied_is_forbidden(int err)
{
	long filters = occupied_nr_filters(getpid());

	return err == -EPERM || err == -EACCES ||
	       (err == -ENOTSUP && filters && filters != occupied_nr_filters(1));
}

/* Attaching to the child was refused because of its memory, and the child has not noticed. */
static inline void occupied_was_refused(pid_t pid, int err, const struct inject_reason *reason)
{
	int status;

	print_message("%d: %s\n", err, reason->why);
	if (err != -EEXIST) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		if (occupied_is_forbidden(err))
			skip();
	}
	assert_int_equal(err, -EEXIST);
	usleep(50000);
	assert_int_equal(kill(pid, SIGTERM), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGTERM);
}

#endif
