/*
 * uthash with a secret hash function: with its own one, a target that chooses the numbers of its
 * records could put thousands of them into one bucket, which each look-up would walk through.
 * Include this and never <uthash.h>.
 */
#ifndef SPROF_HASH_TABLE_H
#define SPROF_HASH_TABLE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>

#include <xxhash.h>

/*
 * The secret: random bytes that the kernel gives each program at its start. Finding them takes
 * longer than hashing, so they are kept; every thread finds the same.
 */
static inline uint64_t hash_table_seed(void)
{
	static uint64_t kept;
	uint64_t seed = __atomic_load_n(&kept, __ATOMIC_RELAXED);
	const void *random;

	if (seed)
		return seed;
	random = (const void *)(uintptr_t)getauxval(AT_RANDOM);
	if (random)
		memcpy(&seed, random, sizeof(seed));
	seed |= 1;
	__atomic_store_n(&kept, seed, __ATOMIC_RELAXED);
	return seed;
}

/* A number is hashed as in number_map.h. */
static inline unsigned hash_table_hash(const void *key, size_t size)
{
	uint64_t seed = hash_table_seed(), number = 0;

	if (size > sizeof(number))
		return (unsigned)XXH3_64bits_withSeed(key, size, seed);
	memcpy(&number, key, size);
	number = (number ^ seed) * seed;
	return (unsigned)(number ^ number >> 32);
}

#define HASH_FUNCTION(key, size, hash) ((hash) = hash_table_hash(key, size))

#include <uthash.h>

#endif
