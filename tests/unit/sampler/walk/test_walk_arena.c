/* Targets find the same rule at every address as the table that the rows came from. */
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sampler/unwind/unwind_table.h"
#include "sampler/walk/walk_arena.h"

static const char *const files[] = { "/proc/self/exe", "/lib/x86_64-linux-gnu/libc.so.6",
				     "/lib64/ld-linux-x86-64.so.2" };
#define NR_FILES (sizeof(files) / sizeof(files[0]))

struct fixture {
	struct walk_arena_writer *writer;
	const struct walk_arena *seen; /* as a target maps it */
	struct rule_set *rules;
	struct unwind_table *tables[NR_FILES];
};

static void setup(struct fixture *f)
{
	const struct walk_rule *rules;
	uint32_t nr;

	assert_int_equal(walk_arena_new(&f->writer), 0);
	f->seen = mmap(NULL, sizeof(*f->seen), PROT_READ, MAP_SHARED, walk_arena_fd(f->writer), 0);
	assert_ptr_not_equal(f->seen, MAP_FAILED);
	f->rules = rule_set_new();
	for (size_t i = 0; i < NR_FILES; i++) {
		int fd = open(files[i], O_RDONLY | O_CLOEXEC);

		assert_true(fd >= 0);
		assert_int_equal(unwind_table_build(fd, NULL, f->rules, &f->tables[i]), 0);
		close(fd);
	}
	rules = rule_set_rules(f->rules, &nr);
	memcpy(walk_arena_rules(f->writer), rules, nr * sizeof(*rules));
}

static void teardown(struct fixture *f)
{
	for (size_t i = 0; i < NR_FILES; i++)
		unwind_table_free(f->tables[i]);
	rule_set_free(f->rules);
	munmap((void *)f->seen, sizeof(*f->seen));
	walk_arena_free(f->writer);
}

static struct walk_place place_of(const struct fixture *f, uint32_t module, uint64_t bias)
{
	struct walk_place place = { .bias = bias, .module = f->seen->modules[module] };

	return place;
}

static void every_address_has_the_rule_of_its_table(void **state)
{
	struct fixture f;

	(void)state;
	setup(&f);
	for (uint32_t i = 0; i < NR_FILES; i++)
		assert_int_equal(walk_arena_add_table(f.writer, 7 * i, f.tables[i]), 0);
	for (uint32_t i = 0; i < NR_FILES; i++) {
		const struct unwind_table *t = f.tables[i];
		struct walk_place place = place_of(&f, 7 * i, 0x7f0000000000);
		uint64_t size = (uint64_t)t->nr_pages * WALK_PAGE_SIZE;

		for (uint64_t at = 0; at < size + 100; at += 1 + at % 3)
			assert_int_equal(
				walk_find_rule(f.seen, &place, 0x7f0000000000 + t->base + at),
				unwind_table_find(t, t->base + at));
		/* before it, and far away */
		assert_int_equal(walk_find_rule(f.seen, &place, 0x7f0000000000 + t->base - 1), 0);
		assert_int_equal(walk_find_rule(f.seen, &place, 0), 0);
	}
	teardown(&f);
}

static void a_module_is_pending_until_its_rows_come(void **state)
{
	struct walk_rule rule;
	struct fixture f;

	(void)state;
	setup(&f);
	assert_false(walk_arena_find_rule(f.writer, 3, f.tables[1]->base, &rule));
	assert_int_equal(walk_arena_add_table(f.writer, 3, NULL), 0);
	assert_true(walk_arena_find_rule(f.writer, 3, f.tables[1]->base, &rule));
	assert_int_equal(rule.cfa, WALK_CFA_NONE);
	walk_arena_reset_module(f.writer, 3);
	assert_false(walk_arena_find_rule(f.writer, 3, f.tables[1]->base, &rule));
	assert_int_equal(walk_arena_add_table(f.writer, 3, f.tables[1]), 0);
	assert_int_equal(f.seen->modules[3].state, WALK_MODULE_ROWS);
	assert_int_equal(walk_arena_add_table(f.writer, WALK_MAX_MODULES, f.tables[1]), -28);
	teardown(&f);
}

static void words_of_removed_modules_are_used_again(void **state)
{
	struct walk_rule rule;
	struct fixture f;
	uint32_t first, end;

	(void)state;
	setup(&f);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(walk_arena_add_table(f.writer, i, f.tables[0]), 0);
	assert_int_equal(walk_arena_add_table(f.writer, 3, f.tables[0]), 0);
	first = f.seen->modules[0].pages;
	end = f.seen->modules[3].pages;
	walk_arena_hide_module(f.writer, 1);
	assert_true(walk_arena_find_rule(f.writer, 1, f.tables[0]->base, &rule));
	assert_int_equal(rule.cfa, WALK_CFA_NONE);
	/* In an order in which the last one joins its neighbours on both sides. */
	walk_arena_remove_module(f.writer, 0);
	walk_arena_remove_module(f.writer, 2);
	walk_arena_remove_module(f.writer, 1);
	walk_arena_remove_module(f.writer, 1);
	for (uint32_t i = 5; i < 8; i++) {
		assert_int_equal(walk_arena_add_table(f.writer, i, f.tables[0]), 0);
		assert_in_range(f.seen->modules[i].pages, first, end - 1);
	}
	assert_int_equal(walk_arena_add_table(f.writer, 8, f.tables[0]), 0);
	assert_true(f.seen->modules[8].pages > end);
	teardown(&f);
}

static void addresses_find_their_mapping(void **state)
{
	struct walk_space *space = calloc(1, sizeof(*space));
	struct walk_place place = { 0 };
	struct fixture f;

	(void)state;
	setup(&f);
	assert_int_equal(walk_find_place(space, f.seen, 1, 0x1000, &place), 0);
	for (uint32_t i = 0; i < 1000; i++)
		space->maps[1][i] = (struct walk_map){
			.start = 0x10000ull * (i + 1),
			.end = 0x10000ull * (i + 1) + 0x8000,
			.module = i == 999 ? WALK_MAX_MODULES : i % 3,
		};
	space->nr_maps[1] = 1000;
	for (uint32_t i = 0; i < 999; i++) {
		uint64_t start = 0x10000ull * (i + 1);

		assert_int_equal(walk_find_place(space, f.seen, 1, start, &place), 1);
		assert_int_equal(place.start, start);
		assert_int_equal(walk_find_place(space, f.seen, 3, start + 0x7fff, &place), 1);
		assert_int_equal(walk_find_place(space, f.seen, 1, start + 0x8000, &place), 0);
		assert_int_equal(walk_find_place(space, f.seen, 1, start - 1, &place), 0);
	}
	/* an invalid module number, and an invalid number of mappings */
	assert_int_equal(walk_find_place(space, f.seen, 1, 0x10000ull * 1000, &place), 0);
	space->nr_maps[1] = WALK_MAX_MAPS + 1;
	assert_int_equal(walk_find_place(space, f.seen, 1, 0x10000, &place), 0);
	free(space);
	teardown(&f);
}

static void a_target_cannot_write_the_rows(void **state)
{
	struct fixture f;

	(void)state;
	setup(&f);
	assert_ptr_equal(
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, walk_arena_fd(f.writer), 0),
		MAP_FAILED);
	assert_int_equal(ftruncate(walk_arena_fd(f.writer), 0), -1);
	teardown(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_address_has_the_rule_of_its_table),
		cmocka_unit_test(a_module_is_pending_until_its_rows_come),
		cmocka_unit_test(words_of_removed_modules_are_used_again),
		cmocka_unit_test(addresses_find_their_mapping),
		cmocka_unit_test(a_target_cannot_write_the_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
