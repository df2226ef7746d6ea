/* core/base/hash_table.h: keys that uthash's own hash function puts into one bucket. */
#include "tests/unit/unit.h"

#include "core/base/alloc.h"
#include "core/base/hash_table.h"

#define NR 4096

struct entry {
	uint64_t key;
	UT_hash_handle hh;
};

/* uthash stops adding buckets when that did not help twice, so the low bits are enough. */
static uint64_t next_of_first_bucket(uint64_t key)
{
	unsigned hash;

	do {
		key++;
		HASH_JEN(&key, sizeof(key), hash);
	} while (hash & 255);
	return key;
}

static unsigned longest_chain(const struct entry *table)
{
	const UT_hash_table *t = table->hh.tbl;
	unsigned longest = 0;

	for (unsigned i = 0; i < t->num_buckets; i++)
		if (t->buckets[i].count > longest)
			longest = t->buckets[i].count;
	return longest;
}

static void chosen_keys_do_not_meet_in_one_bucket(void **state)
{
	struct entry *entries = xcalloc(NR, sizeof(*entries)), *table = NULL, *found;
	uint64_t key = 0;

	(void)state;
	for (size_t i = 0; i < NR; i++) {
		entries[i].key = key = next_of_first_bucket(key);
		HASH_ADD(hh, table, key, sizeof(entries[i].key), &entries[i]);
	}
	assert_true(longest_chain(table) < NR / 64);
	for (size_t i = 0; i < NR; i++) {
		HASH_FIND(hh, table, &entries[i].key, sizeof(entries[i].key), found);
		assert_ptr_equal(found, &entries[i]);
	}
	HASH_CLEAR(hh, table);
	free(entries);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(chosen_keys_do_not_meet_in_one_bucket),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
