/*
 * What is found out about a process before a thread of it is stopped: may it be touched at all, code
 * of its own that makes system calls for us, and room for what we bring. Stopping it is then short.
 */
#ifndef SPROF_INJECT_PROCESS_H
#define SPROF_INJECT_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct inject_reason;

struct inject_process {
	pid_t pid;
	pid_t thread; /* one that lives: the first, unless that has ended */
	/*
	 * /proc/PID/mem: the memory it had when it was opened. After an exec it reads nothing, so
	 * what is written can never reach a program that we have not looked at.
	 */
	int mem_fd;
	uint64_t syscall_return; /* syscall; ret */
	uint64_t restorer;	 /* mov $15, %rax; syscall: rt_sigreturn(2); 0 = use pop_rax */
	uint64_t pop_rax;	 /* pop %rax; ret */
	uint64_t stack_start, stack_end; /* of the first thread */
	uint64_t gap_start, gap_end;	 /* the widest stretch of addresses that is free */
	/* What lies at one of our addresses already: [ours_start, ours_end), 0 = nothing does. */
	uint64_t ours_start, ours_end;
};

/*
 * Looks at a process. 0, or -errno with the reason: -ESRCH (gone, a zombie), -EPERM (rights, or
 * somebody traces it), -ENOTSUP (a kernel thread, 32-bit, a seccomp filter that we may not read, shadow stack, no code or no room
 * found).
 */
int inject_process_open(struct inject_process *process, pid_t pid, struct inject_reason *reason);
void inject_process_close(struct inject_process *process);

/*
 * The n-th choice of an address for what we map: free when the maps were read, far from where the
 * heap and mmap(2) grow, and telling by its low bits that it is ours. 0: there are no more.
 */
uint64_t inject_process_address(const struct inject_process *process, unsigned int n);
bool inject_process_address_is_ours(uint64_t address);

/* Memory of the process as it was opened. 0, or -EFAULT: not all of it is there. */
int inject_process_read(const struct inject_process *process, uint64_t address, void *buffer,
			size_t size);
/* Also where the process itself may only read. */
int inject_process_write(const struct inject_process *process, uint64_t address, const void *bytes,
			 size_t size);

/* Is the code that makes our system calls still there? Not after an exec, or a dlclose of it. */
bool inject_process_is_unchanged(const struct inject_process *process);

#endif
