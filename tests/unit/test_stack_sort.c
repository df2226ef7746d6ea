/*
 * Stacks in the order of their codes: enough of them for every way of sorting there is.
 */
#include "unit.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/alloc.h"
#include "output/stack_sort.h"

static uint64_t rng_state;

static unsigned rng(unsigned n)
{
	rng_state ^= rng_state << 13;
	rng_state ^= rng_state >> 7;
	rng_state ^= rng_state << 17;
	return (unsigned)(rng_state >> 33) % n;
}

/* Long shared beginnings; few and many distinct codes. */
static void many_stacks_are_in_the_order_of_their_codes(void **state)
{
	enum { NR = 60000, MAX = 12 };
	static const unsigned kinds[] = { 3, 700, 100000 };
	struct stack_line *lines = xcalloc(NR, sizeof(*lines));
	uint32_t *codes = xcalloc(NR * MAX, sizeof(*codes)), *order = xcalloc(NR, sizeof(*order));
	bool *seen = xcalloc(NR, sizeof(*seen));

	(void)state;
	rng_state = 99;
	for (size_t k = 0; k < sizeof(kinds) / sizeof(*kinds); k++) {
		memset(seen, 0, NR * sizeof(*seen));
		for (uint32_t i = 0; i < NR; i++) {
			lines[i] = (struct stack_line){ (size_t)i * MAX, rng(MAX + 1) };
			for (uint32_t j = 0; j < lines[i].nr; j++)
				codes[i * MAX + j] = j < 3 ? 7 : 1 + rng(kinds[k]);
		}
		stack_sort(lines, NR, codes, order);
		for (uint32_t i = 0; i < NR; i++) {
			const struct stack_line *x, *y = &lines[order[i]];
			uint32_t j = 0;

			assert_false(seen[order[i]]);
			seen[order[i]] = true;
			if (!i)
				continue;
			x = &lines[order[i - 1]];
			while (j < x->nr && j < y->nr && codes[x->first + j] == codes[y->first + j])
				j++;
			assert_true(j == x->nr ||
				    (j < y->nr && codes[x->first + j] < codes[y->first + j]));
		}
	}
	free(lines);
	free(codes);
	free(order);
	free(seen);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(many_stacks_are_in_the_order_of_their_codes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
