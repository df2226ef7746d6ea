/*
 * The code that a stopped thread of a target runs for the recorder: it takes system calls and calls
 * of functions from a mailbox in the target's memory, one after the other, and says when each is
 * done. What has been asked for together is dropped after the first that fails. So a call costs no ptrace stop. It needs the recorder for nothing: while nobody asks for
 * anything it waits a tenth of a second, then leaves through the frame that was laid out for it, and
 * the thread goes on where it was stopped.
 *
 * Position-independent, no stack of its own beyond the one it is started on, x86-64.
 */
#ifndef SPROF_STUB_H
#define SPROF_STUB_H

#include <stddef.h>
#include <stdint.h>

#define INJECT_NR_CALLS 16u	 /* in flight at once; a power of two */
#define INJECT_MAX_SYSCALL 4096u /* a smaller target is a system call, else a function */
#define INJECT_CLOSE 4095u	 /* not one: close what is in descriptors[] */
#define INJECT_STORE 4094u	 /* nor this: the word args[1] to the address args[0] */
/* As a fifth argument: descriptors[n] of the mailbox. */
#define INJECT_DESCRIPTOR(n) (1ull << 32 | (n))
#define INJECT_MAGIC 0x31706d69666f7270ull /* "profimp1" */

struct inject_call {
	uint64_t target; /* number of a system call or of the above, or address of a function */
	/* Of a function: four arguments, one unused, and the top of the stack to run it on. */
	uint64_t args[6];
	uint64_t result;
};

/* Registers, then a jump. */
struct inject_leave {
	uint64_t rax, rdi, rsi, rsp, rip;
};

/* Offsets are known to the assembly in stub.c. */
struct inject_mailbox {
	uint64_t magic;
	uint32_t
		submitted; /* by the recorder: calls[n % INJECT_NR_CALLS], n below this, are there */
	uint32_t completed; /* by the stub: results of n below this are there */
	uint32_t left;	    /* by the stub: it is on its way out, nothing more will be done */
	uint32_t reserved;
	int64_t timeout_ns[2]; /* scratch */
	struct inject_leave leave;
	/*
	 * Descriptors that the target must not keep: the stub closes those that are not -1, when asked
	 * to, and before it leaves. The kernel writes them here itself, the first two behind the header of a
	 * control message (SCM_RIGHTS), so that none is ever unknown.
	 */
	uint64_t control[2];
	int32_t descriptors[4];
	uint64_t unused[2];
	struct inject_call calls[INJECT_NR_CALLS];
};

_Static_assert(offsetof(struct inject_mailbox, descriptors) == 96, "stub.c");
_Static_assert(offsetof(struct inject_mailbox, calls) == 128, "stub.c");
_Static_assert(sizeof(struct inject_mailbox) == 128 + 64 * INJECT_NR_CALLS, "stub.c");

/* To be started with rbx = address of the mailbox, rsp = top of a stack of 2 KiB, 16-aligned. */
extern const uint8_t inject_stub_code[], inject_stub_end[];

#endif
