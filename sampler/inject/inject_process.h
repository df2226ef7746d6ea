/*
 * What is found out about a process before a thread of it is stopped, so that the stop is short:
 * whether we may touch it, where it has code that can make system calls for us, and where addresses
 * are free for what we map.
 */
#ifndef SPROF_INJECT_PROCESS_H
#define SPROF_INJECT_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sampler/inject/x86_64/code_sequences.h"

struct inject_reason;

struct inject_process {
	pid_t pid;
	pid_t thread; /* a living one: the first, unless that has ended */
	/*
	 * /proc/PID/mem: the memory that the process had when it was opened. After an exec it reads
	 * nothing, so nothing can be written into a program that was not looked at.
	 */
	int mem_fd;
	uint64_t sequences[INJECT_NR_SEQUENCES]; /* addresses, 0 = not found */
	uint64_t stack_start, stack_end;	 /* of the first thread */
	uint64_t gap_start, gap_end;		 /* the widest range of free addresses */
	/*
	 * A stub that a recorder has left, with the files that it shares behind it: [ours_start,
	 * ours_end); 0: there is none.
	 */
	uint64_t ours_start, ours_end;
};

enum inject_purpose {
	INJECT_TO_READ, /* inject_process_write() fails */
	/* Without CAP_DAC_OVERRIDE, only the process's own user may write its memory. */
	INJECT_TO_WRITE,
};

/*
 * Looks at a process. 0, or -errno with the reason: -ESRCH (gone, a zombie), -EPERM (rights, or
 * another process traces it), -ENOTSUP (a kernel thread, a 32-bit program, a shadow stack, no code
 * or no room found).
 */
int inject_process_open(struct inject_process *process, pid_t pid, enum inject_purpose purpose,
			struct inject_reason *reason);
void inject_process_close(struct inject_process *process);

/*
 * The n-th choice of an address to map at: free when the maps were read, far from where the heap
 * and mmap(2) grow, and recognizable as ours by its low bits. 0: there are no more.
 */
uint64_t inject_process_address(const struct inject_process *process, unsigned int n);

/* Reads memory of the process as it was opened. 0, or -EFAULT: not all of it is there. */
int inject_process_read(const struct inject_process *process, uint64_t address, void *buffer,
			size_t size);
/* Writes it, also where the process itself may only read. */
int inject_process_write(const struct inject_process *process, uint64_t address, const void *bytes,
			 size_t size);

/* Does a page hold the code of our stub, and nothing else? */
bool inject_process_has_stub(const struct inject_process *process, uint64_t address);

/*
 * Is the code that makes our system calls still there? Not after an exec, or after dlclose(3) of
 * its library.
 */
bool inject_process_is_unchanged(const struct inject_process *process);

#endif
