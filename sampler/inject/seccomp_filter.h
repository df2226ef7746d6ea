/*
 * What a seccomp filter would say of a system call, found out without making it. A filter is a classic BPF
 * program over struct seccomp_data (seccomp(2), linux/seccomp.h, kernel/seccomp.c). What of the call is not
 * known beforehand, such as an address, is followed both ways.
 */
#ifndef SPROF_SECCOMP_FILTER_H
#define SPROF_SECCOMP_FILTER_H

#include <linux/filter.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/inject/x86_64/seccomp_calls.h"

#define SECCOMP_FILTER_MAX 4096u /* instructions: BPF_MAXINSNS */

/*
 * The action (SECCOMP_RET_..., with its data) that the filter returns: where it depends on what is not known,
 * the worst that it can be. 0, or -EINVAL: not a program that the kernel takes; -ENODATA: the action itself
 * is computed from what is not known; -E2BIG: there are too many ways through it.
 */
int seccomp_filter_run(const struct sock_filter *code, size_t nr, const struct seccomp_call *call,
		       uint32_t *ret_action);

/* Of two actions the one that the kernel obeys, as it does where several filters decide. */
uint32_t seccomp_filter_worse(uint32_t a, uint32_t b);

#endif
