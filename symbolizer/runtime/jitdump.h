/*
 * Reads jit-PID.dump, in which a JIT compiler writes its code, with line numbers: node --perf-prof,
 * the JVM through libperf-jvmti.so, LLVM and wasmtime. The kernel's
 * tools/perf/Documentation/jitdump-specification.txt specifies the format. Code memory is reused
 * and code is moved, so later records replace earlier ones.
 */
#ifndef SPROF_JITDUMP_H
#define SPROF_JITDUMP_H

#include <stddef.h>
#include <stdint.h>

struct jitdump;

/* The code at an address. Strings live as long as the dump. */
struct jitdump_code {
	const char *name;
	const char *file; /* the file that the function begins in; NULL = unknown */
	uint32_t line;	  /* in that file; 0 = unknown, or in another file */
};

/*
 * Reads what a dump says about `addresses` (sorted, unique; copied) from fd, and closes fd, on
 * failure too. 0 or -errno; -ENOEXEC where this is not a dump. The process may still be writing: an
 * incomplete record ends the dump.
 */
int jitdump_read(int fd, const uint64_t *addresses, size_t nr, struct jitdump **ret_dump);
void jitdump_free(struct jitdump *dump);

/*
 * Opens the dump of process pid, wherever compilers put it. A descriptor or -errno; -EPERM where
 * the file belongs to another user.
 */
int jitdump_open(uint32_t pid);

/* Returns NULL where the address is not one of them, or holds no compiled code. */
const struct jitdump_code *jitdump_lookup(const struct jitdump *dump, uint64_t address);

/* Returns how many of the addresses belonged to several functions one after the other. */
size_t jitdump_nr_reused(const struct jitdump *dump);

#endif
