/* The thread pointer and the time stamp counter of x86-64. */
#ifndef SPROF_ALLOC_THREAD_H
#define SPROF_ALLOC_THREAD_H

#include <linux/types.h>

/*
 * The thread pointer as the stubs hash it: the word that it leads to, which the ABI makes a pointer
 * to itself.
 */
static inline __u64 alloc_thread(void)
{
	__u64 thread;

	__asm__("mov %%fs:0, %0" : "=r"(thread));
	return thread;
}

/* Something that differs between threads and runs. */
static inline __u64 alloc_seed(void)
{
	return __builtin_ia32_rdtsc();
}

#endif
