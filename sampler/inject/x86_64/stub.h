/*
 * The code that a stopped thread of a target runs for the recorder: it takes system calls and calls
 * of functions from a mailbox in the target's memory, makes them in order and says when each is
 * done, so a call costs no ptrace stop. After a call that fails it drops the others that were asked
 * for together with it. It does not depend on the recorder: when no call comes for a tenth of a
 * second it leaves through the frame that was laid out for it, and the thread goes on where it was
 * stopped.
 *
 * It is position-independent and uses only the stack that it is started on.
 */
#ifndef SPROF_STUB_H
#define SPROF_STUB_H

#include <stddef.h>
#include <stdint.h>

#define INJECT_NR_CALLS 16u	 /* in flight at once; a power of two */
#define INJECT_MAX_SYSCALL 4096u /* a smaller target is a system call, a larger one a function */
#define INJECT_CLOSE 4095u	 /* no system call: close what is in descriptors[] */
#define INJECT_STORE 4094u	 /* no system call: store the word args[1] at the address args[0] */
/* As fifth argument: stands for descriptors[n] of the mailbox. */
#define INJECT_DESCRIPTOR(n) (1ull << 32 | (n))
#define INJECT_MAGIC 0x31706d69666f7270ull /* "profimp1" */

struct inject_call {
	uint64_t target; /* number of a system call or one of the above, or address of a function */
	/* Of a function: four arguments, one unused, and the top of its stack. */
	uint64_t args[6];
	uint64_t result;
};

/* What the stub loads into registers before it leaves by a jump to rip. */
struct inject_leave {
	uint64_t rax, rdi, rsi, rsp, rip;
};

/* Offsets are known to the assembly in stub.c. */
struct inject_mailbox {
	uint64_t magic;
	/* Written by the recorder: calls[n % INJECT_NR_CALLS] with n below this are there. */
	uint32_t submitted;
	/* Written by the stub: the results of calls with n below this are there. */
	uint32_t completed;
	/* Written by the stub: it is on its way out and does nothing more. */
	uint32_t left;
	uint32_t reserved;
	int64_t timeout_ns[2]; /* scratch */
	struct inject_leave leave;
	/*
	 * Descriptors that the target must not keep: the stub closes those that are not -1 when it
	 * is asked to and before it leaves. The kernel itself writes them here, the first two
	 * behind the header of a control message (SCM_RIGHTS), so none is ever unknown.
	 */
	uint64_t control[2];
	int32_t descriptors[4];
	uint64_t unused[2];
	struct inject_call calls[INJECT_NR_CALLS];
};

_Static_assert(offsetof(struct inject_mailbox, descriptors) == 96, "stub.c");
_Static_assert(offsetof(struct inject_mailbox, calls) == 128, "stub.c");
_Static_assert(sizeof(struct inject_mailbox) == 128 + 64 * INJECT_NR_CALLS, "stub.c");

/* Started with rbx = address of the mailbox, rsp = top of a stack of 2 KiB, 16-aligned. */
extern const uint8_t inject_stub_code[], inject_stub_end[];

#endif
