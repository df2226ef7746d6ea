/*
 * How a recorder that may take only so much memory (sprof record --max-memory) divides it. What it
 * cannot choose comes first, such as tables whose size depends on the machine; unwind rows of
 * mapped files get what the other shares leave.
 */
#ifndef SPROF_MEMORY_SHARES_H
#define SPROF_MEMORY_SHARES_H

#include <stdint.h>

/* Less than that is refused: what every recording needs takes half of it. */
#define MEMORY_SHARES_MIN (32ull << 20)

/* All in bytes. */
struct memory_shares {
	uint64_t limit;
	uint64_t parser;     /* of a child that builds unwind rows; one at a time */
	uint64_t namer;	     /* of a child that looks names up; one at a time */
	uint64_t vocabulary; /* stacks and names of what is recorded */
	uint64_t working;    /* tables of processes, records that wait to be handled */
	uint32_t ring_bytes; /* of the ring that samples come through; a power of two */
};

void memory_shares_of(uint64_t limit, struct memory_shares *ret);
/* What is left for unwind rows where `fixed` bytes are used already; may be 0. */
uint64_t memory_shares_rows(const struct memory_shares *shares, uint64_t fixed);

/*
 * What this process has in memory that no file backs, and that is gone with it: not the pages of
 * programs and libraries, which the kernel can drop. 0 where it is not known.
 */
uint64_t memory_own_bytes(void);
/* Memory that this process may write to, as RLIMIT_DATA counts it. */
uint64_t memory_data_bytes(void);

#endif
