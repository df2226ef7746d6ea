/*
 * How sprof record --max-memory divides its memory. Shares whose size the recorder cannot choose,
 * such as tables that depend on the machine, come first; unwind rows of mapped files get the rest.
 */
#ifndef SPROF_MEMORY_SHARES_H
#define SPROF_MEMORY_SHARES_H

#include <stdint.h>

/* A lower limit is refused: what every recording needs takes half of this one. */
#define MEMORY_SHARES_MIN (32ull << 20)

/* All in bytes. */
struct memory_shares {
	uint64_t limit;
	uint64_t parser;     /* for a child that builds unwind rows; one at a time */
	uint64_t namer;	     /* for a child that looks names up; one at a time */
	uint64_t vocabulary; /* stacks and names of what is recorded */
	uint64_t working;    /* tables of processes, records that wait to be handled */
	uint32_t ring_bytes; /* ring of samples; a power of two */
};

void memory_shares_of(uint64_t limit, struct memory_shares *ret);
/* What is left for unwind rows if `fixed` bytes are used already; may be 0. */
uint64_t memory_shares_rows(const struct memory_shares *shares, uint64_t fixed);

/*
 * Memory of this process that no file backs: without pages of programs and libraries, which the
 * kernel can drop. 0 if it is not known.
 */
uint64_t memory_own_bytes(void);
/* Memory that this process may write to, as RLIMIT_DATA counts it. */
uint64_t memory_data_bytes(void);

#endif
