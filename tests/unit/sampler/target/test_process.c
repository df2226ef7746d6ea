/* sampler/target/process.c: the table of mappings against an array of pages. */
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>

#include "sampler/target/process.h"

#define NR_PAGES 64
#define NR_CODES 4

static struct mapped_file codes[NR_CODES] = {
	{ .kind = MODULE_ELF, .fd = -1 },
	{ .kind = MODULE_ELF, .fd = -1 },
	{ .kind = MODULE_ELF, .fd = -1 },
	{ .kind = MODULE_JIT, .fd = -1 },
};

struct page {
	const struct mapped_file *code;
	uint64_t offset;
};

static void check_against_pages(const struct process *p, const struct page *pages)
{
	for (uint64_t i = 0; i < NR_PAGES; i++) {
		const struct mapping *m = process_find(p, i * 4096 + 17);

		if (!pages[i].code) {
			assert_null(m);
			continue;
		}
		assert_non_null(m);
		assert_ptr_equal(m->code, pages[i].code);
		assert_int_equal(i * 4096 - m->start + m->pgoff, pages[i].offset);
	}
	for (size_t i = 1; i < p->nr_maps; i++)
		assert_true(p->maps[i - 1].end <= p->maps[i].start);
}

static void overlapping_mappings_leave_what_the_kernel_would(void **state)
{
	(void)state;
	for (unsigned int seed = 0; seed < 200; seed++) {
		struct process p = {};
		struct page pages[NR_PAGES] = {};

		srand(seed);
		for (int n = 0; n < 60; n++) {
			uint64_t first = (uint64_t)(rand() % NR_PAGES);
			uint64_t nr = 1 + (uint64_t)rand() % (NR_PAGES - first);
			struct mapping m = {
				.start = first * 4096,
				.end = (first + nr) * 4096,
				.pgoff = (uint64_t)(rand() % 8) * 4096,
				.code = &codes[rand() % NR_CODES],
			};

			process_map(&p, &m);
			for (uint64_t i = 0; i < nr; i++)
				pages[first + i] = (struct page){ m.code, m.pgoff + i * 4096 };
			check_against_pages(&p, pages);
		}
		process_fini(&p);
	}
}

static void epoch_changes_only_with_the_meaning_of_an_address(void **state)
{
	struct process p = {}, q = {};
	uint32_t before;
	struct mapping a = { 0x10000, 0x20000, 0, &codes[0], false, 0 };
	struct mapping part = { 0x12000, 0x14000, 0x2000, &codes[0], false, 0 };
	struct mapping beside = { 0x20000, 0x30000, 0, &codes[1], false, 0 };
	struct mapping other = { 0x12000, 0x14000, 0, &codes[1], false, 0 };

	(void)state;
	process_map(&p, &a);
	process_map(&p, &part);
	process_map(&p, &beside);
	assert_int_equal(p.epoch, 0);
	process_map(&p, &other);
	assert_int_not_equal(before = p.epoch, 0);
	process_unmap_all(&p);
	assert_int_not_equal(p.epoch, before);
	/* another process with as many changes */
	process_map(&q, &a);
	process_map(&q, &other);
	assert_int_not_equal(q.epoch, before);
	process_fini(&q);
	assert_null(process_find(&p, 0x10000));
	process_fini(&p);
}

static void text_under_anonymous_memory_is_remembered(void **state)
{
	struct process p = {};
	struct mapping text = { 0x10000, 0x20000, 0x1000, &codes[0], false, 0 };
	struct mapping anonymous = { 0x14000, 0x18000, 0, &codes[3], false, 0 };

	(void)state;
	process_map(&p, &text);
	process_map(&p, &anonymous);
	assert_int_equal(p.nr_covered, 1);
	assert_int_equal(p.covered[0].text.start, 0x14000);
	assert_int_equal(p.covered[0].text.end, 0x18000);
	assert_int_equal(p.covered[0].text.pgoff, 0x5000);
	/* The file cannot be read here: after some tries the memory stays runtime code. */
	for (int i = 0; i < 50; i++)
		process_check_covered(&p);
	assert_int_equal(p.nr_covered, 0);
	assert_ptr_equal(process_find(&p, 0x15000)->code, &codes[3]);
	process_fini(&p);
}

/* Maps text at `start`, and then anonymous memory over it. */
static void cover_text(struct process *p, uint64_t start)
{
	const struct mapping text = { start, start + 0x10000, 0, &codes[0], false, 0 };
	const struct mapping anonymous = { start, start + 0x10000, 0, &codes[3], false, 0 };

	process_map(p, &text);
	process_map(p, &anonymous);
}

static void text_that_is_covered_again_and_again_is_remembered_once(void **state)
{
	struct process p = {};

	(void)state;
	for (int i = 0; i < 1000; i++)
		cover_text(&p, 0x10000);
	assert_int_equal(p.nr_covered, 1);
	cover_text(&p, 0x18000); /* half of what was covered before, and more */
	assert_int_equal(p.nr_covered, 1);
	assert_int_equal(p.covered[0].text.start, 0x18000);
	cover_text(&p, 0x28000);
	assert_int_equal(p.nr_covered, 2);
	process_fini(&p);
}

static void of_much_covered_text_the_newest_is_remembered(void **state)
{
	struct process p = {};

	(void)state;
	for (uint64_t i = 1; i <= 3 * PROCESS_MAX_COVERED; i++)
		cover_text(&p, i * 0x100000);
	assert_int_equal(p.nr_covered, PROCESS_MAX_COVERED);
	for (uint64_t i = 0; i < PROCESS_MAX_COVERED; i++)
		assert_int_equal(p.covered[i].text.start,
				 (2 * PROCESS_MAX_COVERED + 1 + i) * 0x100000);
	process_fini(&p);
}

static void newly_covered_text_does_not_prolong_the_checks_of_older(void **state)
{
	struct process p = {};

	(void)state;
	cover_text(&p, 0x100000);
	for (int i = 0; i < 50; i++) {
		cover_text(&p, 0x200000);
		process_check_covered(&p);
	}
	assert_int_equal(p.nr_covered, 1);
	assert_int_equal(p.covered[0].text.start, 0x200000);
	process_fini(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(overlapping_mappings_leave_what_the_kernel_would),
		cmocka_unit_test(epoch_changes_only_with_the_meaning_of_an_address),
		cmocka_unit_test(text_under_anonymous_memory_is_remembered),
		cmocka_unit_test(text_that_is_covered_again_and_again_is_remembered_once),
		cmocka_unit_test(of_much_covered_text_the_newest_is_remembered),
		cmocka_unit_test(newly_covered_text_does_not_prolong_the_checks_of_older),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
