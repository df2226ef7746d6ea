/*
 * The system calls of x86-64 by number: which of their arguments say what a thread waits for, and
 * the call that a thread is in.
 */
#ifndef SPROF_SYSTEM_CALLS_X86_64_BPF_H
#define SPROF_SYSTEM_CALLS_X86_64_BPF_H

#include <linux/bpf.h>
#include <linux/ptrace.h>
#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

#include <bpf/bpf_helpers.h>

#include "sampler/bpf/regs_x86_64.bpf.h"
#include "sampler/bpf/task.h"

/* What the first arguments of a system call mean. */
enum call_kind {
	CALL_OTHER = 0,
	CALL_FD,	  /* the first is a descriptor */
	CALL_POLL,	  /* struct pollfd[], their number */
	CALL_FUTEX,	  /* address, operation, expected value */
	CALL_FUTEX_WAIT,  /* address, expected value (Linux 6.7) */
	CALL_FUTEX_WAITV, /* struct futex_waitv[], their number */
};

#define SYS_FUTEX 202

struct system_call {
	enum call_kind kind;
	__u64 args[3];
};

static __always_inline enum call_kind call_kind(__u64 nr)
{
	/* read to writev, sendfile to getpeername, flock to ftruncate, io_uring and others */
	const __u64 below_64 =
		1 << 0 | 1 << 1 | 3ull << 16 | 3ull << 19 | 1ull << 40 | 0x7ffull << 42;
	const __u64 from_256 = 1ull << (275 - 256) | 1ull << (277 - 256) | 1ull << (281 - 256) |
			       1ull << (285 - 256) | 1ull << (288 - 256) | 3ull << (295 - 256) |
			       1ull << (299 - 256) | 1ull << (307 - 256);

	switch (nr) {
	case 7: /* poll */
	case 271: /* ppoll */ return CALL_POLL;
	case SYS_FUTEX: return CALL_FUTEX;
	case 449: return CALL_FUTEX_WAITV;
	case 455: return CALL_FUTEX_WAIT;
	case 72 ... 75: /* fcntl, flock, fsync, fdatasync */
	case 77:	/* ftruncate */
	case 217:	/* getdents64 */
	case 232:	/* epoll_wait */
	case 327:	/* preadv2 */
	case 328:	/* pwritev2 */
	case 426:	/* io_uring_enter */
	case 441: /* epoll_pwait2 */ return CALL_FD;
	}
	if (nr < 64)
		return below_64 >> nr & 1 ? CALL_FD : CALL_OTHER;
	return nr >= 256 && nr < 320 && from_256 >> (nr - 256) & 1 ? CALL_FD : CALL_OTHER;
}

static __always_inline __u64 call_number(struct task_struct *task)
{
	const struct pt_regs *regs = (const struct pt_regs *)bpf_task_pt_regs(task);

	return regs->orig_rax;
}

static __always_inline bool is_in_futex(struct task_struct *task)
{
	return call_number(task) == SYS_FUTEX;
}

/* The system call that the thread is in, which is switched from or has been. */
static __always_inline void take_call(struct system_call *call, struct task_struct *task)
{
	const char *regs = (const char *)bpf_task_pt_regs(task);
	__u64 nr = -1ull, cs = 0;

	call->kind = CALL_OTHER;
	bpf_probe_read_kernel(&cs, sizeof(cs), regs + offsetof(struct pt_regs, cs));
	bpf_probe_read_kernel(&nr, sizeof(nr), regs + offsetof(struct pt_regs, orig_rax));
	if ((__u16)cs != USER_CS) /* of 32 bits */
		return;
	call->kind = call_kind(nr);
	if (!call->kind)
		return;
	bpf_probe_read_kernel(&call->args[0], 8, regs + offsetof(struct pt_regs, rdi));
	bpf_probe_read_kernel(&call->args[1], 8, regs + offsetof(struct pt_regs, rsi));
	bpf_probe_read_kernel(&call->args[2], 8, regs + offsetof(struct pt_regs, rdx));
}

#endif
