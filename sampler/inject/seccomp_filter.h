/*
 * What a seccomp filter would say of a system call, found out without making the call. A filter is
 * a classic BPF program over struct seccomp_data (seccomp(2), linux/seccomp.h, kernel/seccomp.c).
 * Where the program depends on a part of the call that is not known beforehand, such as an address,
 * both branches are followed.
 */
#ifndef SPROF_SECCOMP_FILTER_H
#define SPROF_SECCOMP_FILTER_H

#include <linux/filter.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/inject/x86_64/seccomp_calls.h"

#define SECCOMP_FILTER_MAX 4096u /* instructions: BPF_MAXINSNS */

/*
 * The action (SECCOMP_RET_..., with its data) that the filter returns; where that depends on what
 * is not known, the strictest. 0, or -EINVAL: not a program that the kernel takes; -ENODATA: the
 * action itself is computed from what is not known; -E2BIG: there are too many paths.
 */
int seccomp_filter_run(const struct sock_filter *code, size_t nr, const struct seccomp_call *call,
		       uint32_t *ret_action);

/* The action that the kernel obeys where two filters return different ones. */
uint32_t seccomp_filter_worse(uint32_t a, uint32_t b);

#endif
