/*
 * Sorts enough stacks to reach every path of the sorter, and checks their order.
 */
#include "tests/unit/unit.h"
#include "tests/unit/random.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "output/tree/stack_sort.h"

/*
 * Long common beginnings; few and many distinct codes; words that are codes, and words that are
 * looked up.
 */
static void many_stacks_are_in_the_order_of_their_codes_and_know_what_they_share(void **state)
{
	enum { NR = 60000, STEP = 13, MAX_CODE = 100000 }; /* up to 12 codes and their end */
	static const unsigned kinds[] = { 3, 700, 30000, MAX_CODE }; /* most codes */
	struct stack_item *items = xcalloc(NR, sizeof(*items));
	uint32_t *codes = xcalloc(NR * STEP, sizeof(*codes));
	uint32_t *words = xcalloc(NR * STEP, sizeof(*words));
	uint32_t *code_of = xcalloc(MAX_CODE + 1, sizeof(*code_of));
	bool *seen = xcalloc(NR, sizeof(*seen));

	(void)state;
	rng_state = 99;
	for (uint32_t i = 1; i <= MAX_CODE; i++)
		code_of[i] = MAX_CODE + 1 - i;
	for (size_t k = 0; k < sizeof(kinds) / sizeof(*kinds); k++) {
		const uint32_t largest = kinds[k] > 7 ? kinds[k] : 7;
		const struct stack_words as_they_are = stack_words(codes, NULL, largest);
		const struct stack_words in_a_table = stack_words(words, code_of, MAX_CODE);
		const struct stack_words *which = k % 2 ? &in_a_table : &as_they_are;

		memset(seen, 0, NR * sizeof(*seen));
		for (uint32_t i = 0; i < NR; i++) {
			uint32_t *line = codes + (size_t)i * STEP, nr = rng(STEP);

			for (uint32_t j = 0; j < nr; j++)
				line[j] = j < 3 ? 7 : 1 + rng(kinds[k]);
			line[nr] = 0;
			for (uint32_t j = 0; j <= nr; j++)
				words[i * STEP + j] = line[j] ? MAX_CODE - line[j] : UINT32_MAX;
			items[i] = stack_item(which, (size_t)i * STEP, i);
		}
		stack_sort(items, NR, which, NULL);
		for (uint32_t i = 0; i < NR; i++) {
			const uint32_t *x, *y = codes + items[i].line;
			uint32_t j = 0;

			assert_int_equal(items[i].line, items[i].number * STEP);
			assert_false(seen[items[i].number]);
			seen[items[i].number] = true;
			if (!i)
				continue;
			x = codes + items[i - 1].line;
			while (x[j] && x[j] == y[j])
				j++;
			assert_true(x[j] == y[j] || x[j] < y[j]);
			assert_true(items[i].key <= j);
		}
	}
	free(items);
	free(codes);
	free(words);
	free(code_of);
	free(seen);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			many_stacks_are_in_the_order_of_their_codes_and_know_what_they_share),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
