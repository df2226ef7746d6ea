/* Random numbers for tests: the same ones in every run. */
#ifndef SPROF_TESTS_RANDOM_H
#define SPROF_TESTS_RANDOM_H

#include <stdint.h>

static uint64_t rng_state = 88172645463325252u; /* not 0 */

/* A number below n. */
static inline unsigned rng(unsigned n)
{
	rng_state ^= rng_state << 13;
	rng_state ^= rng_state >> 7;
	rng_state ^= rng_state << 17;
	return (unsigned)(rng_state >> 33) % n;
}

#endif
