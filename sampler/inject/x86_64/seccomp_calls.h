/*
 * Every system call that attaching, sampling and detaching make in a target, with the arguments
 * that are known beforehand: what a seccomp filter is asked about.
 */
#ifndef SPROF_SECCOMP_CALLS_H
#define SPROF_SECCOMP_CALLS_H

#include <linux/audit.h>
#include <stddef.h>
#include <stdint.h>

#define INJECT_AUDIT_ARCH AUDIT_ARCH_X86_64 /* struct seccomp_data.arch */

struct seccomp_call {
	uint32_t number;
	uint8_t known; /* a bit for each argument that is known; the others may be anything */
	uint64_t args[6];
};

struct inject_known_call {
	const char *name;
	struct seccomp_call call;
};

extern const struct inject_known_call inject_known_calls[];
extern const size_t inject_nr_known_calls;

#endif
