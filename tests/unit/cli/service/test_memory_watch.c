// BUILD: cli/service/memory_watch.c
/* cli/service/memory_watch.c: when a recorder has too much, what it says, and what it forgets. */
#include "tests/unit/unit.h"

#include <string.h>

#include "cli/service/memory_watch.h"
#include "core/base/log.h"
#include "core/rights/memory_shares.h"
#include "core/profile/facts.h"
#include "core/profile/source.h"

#define S 1000000000ull
#define MB (1ull << 20)

static uint64_t kernel_bytes;
static struct fact_limit told;
static size_t nr_told;

static uint64_t kernel_memory(const struct source *source)
{
	(void)source;
	return kernel_bytes;
}

static uint32_t take_string(struct sink *sink, const char *s, size_t length)
{
	(void)sink;
	assert_int_equal(strlen(s), length);
	return 7;
}

static void take_fact(struct sink *sink, enum fact_kind kind, const void *row)
{
	(void)sink;
	assert_int_equal(kind, FACT_LIMIT);
	told = *(const struct fact_limit *)row;
	nr_told++;
}

static const struct source_ops ops = { .name = "fake", .kernel_memory = kernel_memory };
static struct sink sink = { .string = take_string, .fact = take_fact };

/* 1 GB: this program itself, with its sanitizers, is far below. */
static struct memory_watch begin(struct memory_shares *shares)
{
	log_set_level(LOG_QUIET);
	memory_shares_of(1000 * MB, shares);
	kernel_bytes = 0;
	nr_told = 0;
	return (struct memory_watch){ .shares = shares, .ops = &ops };
}

static void too_much_is_told_and_counted(void **state)
{
	struct memory_shares shares;
	struct memory_watch w = begin(&shares);

	(void)state;
	memory_watch_round(&w, &sink, S);
	assert_int_equal(nr_told, 0);
	kernel_bytes = 1000 * MB;
	memory_watch_round(&w, &sink, S + 1); /* looked at a moment ago */
	assert_int_equal(nr_told, 0);
	memory_watch_round(&w, &sink, 3 * S);
	memory_watch_round(&w, &sink, 5 * S);
	assert_int_equal(nr_told, 2);
	assert_int_equal(told.limit, LIMIT_OWN_SUM);
	assert_int_equal(told.count, 2);
	assert_int_equal(told.text, 7);
}

static void it_is_forgotten_at_most_every_ten_seconds(void **state)
{
	struct memory_shares shares;
	struct memory_watch w = begin(&shares);

	(void)state;
	assert_false(memory_watch_forget(&w, false, S));
	assert_true(memory_watch_forget(&w, true, S));
	assert_false(memory_watch_forget(&w, true, 10 * S));
	assert_true(memory_watch_forget(&w, true, 11 * S));
	kernel_bytes = 1000 * MB;
	memory_watch_round(&w, &sink, 12 * S);
	assert_false(memory_watch_forget(&w, false, 12 * S));
	assert_true(memory_watch_forget(&w, false, 21 * S));
	assert_false(memory_watch_forget(&w, false, 40 * S));
}

static void without_a_limit_nothing_is_looked_at(void **state)
{
	struct memory_watch w = { .ops = &ops };

	(void)state;
	nr_told = 0;
	kernel_bytes = 1000 * MB;
	memory_watch_round(&w, &sink, S);
	assert_false(memory_watch_forget(&w, true, S));
	assert_int_equal(nr_told, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(too_much_is_told_and_counted),
		cmocka_unit_test(it_is_forgotten_at_most_every_ten_seconds),
		cmocka_unit_test(without_a_limit_nothing_is_looked_at),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
