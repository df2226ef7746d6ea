/*
 * jit-PID.dump, where a JIT compiler writes what it compiled, with line numbers: node --perf-prof, the
 * JVM through libperf-jvmti.so, LLVM's and wasmtime's. The format is specified in the kernel's
 * tools/perf/Documentation/jitdump-specification.txt. Code memory is reused and code is moved, so
 * later records replace earlier ones.
 */
#ifndef SPROF_JITDUMP_H
#define SPROF_JITDUMP_H

#include <stddef.h>
#include <stdint.h>

struct jitdump;

/* What lies at an address. Strings live as long as the dump. */
struct jitdump_code {
	const char *name;
	const char *file; /* that the function begins in; NULL = unknown */
	uint32_t line;	  /* in that file; 0 = unknown, or in another */
};

/*
 * Reads what a dump says of `addresses` (sorted, unique; copied) from fd, which is closed in any
 * case. 0 or -errno; -ENOEXEC where it is no dump. The process may still be writing: a record that
 * is not whole yet ends the dump.
 */
int jitdump_read(int fd, const uint64_t *addresses, size_t nr, struct jitdump **ret_dump);
void jitdump_free(struct jitdump *dump);

/* NULL where the address is none of them, or nothing was compiled there. */
const struct jitdump_code *jitdump_lookup(const struct jitdump *dump, uint64_t address);

/* How many of the addresses were of one function first and of another later. */
size_t jitdump_nr_reused(const struct jitdump *dump);

/* Opens the dump of process pid; see jitdump_source.c for where it looks. A descriptor or -errno. */
int jitdump_open(uint32_t pid);

#endif
