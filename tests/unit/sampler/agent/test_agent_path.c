/*
 * The walk inside a target, which follows the path of the walk before: over stacks that grow,
 * shrink and change anywhere it meets the same frames as a walk that remembers nothing.
 */
#include "tests/unit/unit.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* In-target code is not part of the host's library, so it is compiled into this test. */
#include "sampler/agent/memory.c"
#include "sampler/agent/stack.c"

#define NR_FUNCTIONS 64u
#define TEXT 0x400000ull
#define STACK_WORDS 65536u
#define MAX_DEPTH 600u
#define GENERATION 4u

/* There is no Python in this process. */
__u32 agent_python_run(struct agent_python *python, __u64 *frames, __u32 nr)
{
	(void)python;
	(void)frames;
	fail();
	return nr;
}

/* Each function has a page of code and a frame of its own size; function 0 is the outermost. */
struct world {
	struct walk_space *space;
	struct walk_arena *arena;
	__u64 stack[STACK_WORDS];
	__u64 calls[MAX_DEPTH]; /* pc of each frame, outermost first */
	__u32 depth;
	__s32 units; /* that a walk may cost */
	struct agent_path path;
	__u64 known[REGION_NR_KNOWN];
	struct agent_step fresh[REGION_PATH_STEPS + 1];
};

struct result {
	__u64 frames[MAX_LEAF_FRAMES + MAX_ROOT_FRAMES];
	__u32 nr, end;
};

static __u32 frame_words(__u64 pc)
{
	return 2 + (__u32)((pc - TEXT) >> WALK_PAGE_SHIFT) * 7 % 60;
}

static __u64 random_pc(void)
{
	return TEXT + (1 + (__u64)rand() % (NR_FUNCTIONS - 1)) * WALK_PAGE_SIZE + 1 +
	       (__u64)rand() % (WALK_PAGE_SIZE - 2);
}

static struct world *world_new(void)
{
	struct world *w = calloc(1, sizeof(*w));

	w->space = calloc(1, sizeof(*w->space));
	w->arena = mmap(NULL, sizeof(*w->arena), PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	assert_ptr_not_equal(w->arena, MAP_FAILED);
	w->units = BUDGET_UNITS;
	w->space->generation = GENERATION;
	w->space->nr_maps[0] = 1;
	w->space->maps[0][0] =
		(struct walk_map){ TEXT, TEXT + NR_FUNCTIONS * WALK_PAGE_SIZE, 0, 0, 0 };
	w->arena->modules[0] = (struct walk_module){ TEXT, 0, NR_FUNCTIONS, WALK_MODULE_ROWS, 0 };
	w->arena->rules[WALK_RULE_END].cfa = WALK_CFA_END;
	for (__u32 i = 0; i < NR_FUNCTIONS; i++) {
		__u32 rule = i ? WALK_FIRST_RULE + i : WALK_RULE_END;

		w->arena->words[i] = WALK_ONE_RULE | rule;
		if (i)
			w->arena->rules[rule] =
				(struct walk_rule){ WALK_CFA_SP, WALK_FP_SAME, 0,
						    (int)frame_words(TEXT + i * WALK_PAGE_SIZE) *
							    8 };
	}
	w->calls[0] = TEXT + 5;
	w->depth = 1;
	return w;
}

static void world_free(struct world *w)
{
	munmap(w->arena, sizeof(*w->arena));
	free(w->space);
	free(w);
}

/* Writes the return addresses where the frames have them, and sets the registers of the leaf. */
static struct walk_regs lay_out(struct world *w)
{
	__u32 at = STACK_WORDS - 8;

	for (__u32 i = 1; i < w->depth; i++) {
		w->stack[at - 1] = w->calls[i - 1];
		at -= frame_words(w->calls[i]);
	}
	return (struct walk_regs){ .pc = w->calls[w->depth - 1],
				   .sp = (__u64)&w->stack[at],
				   .exact = 1 };
}

static void walk_it(struct world *w, bool with_path, struct result *ret)
{
	struct agent_walk walk = {
		.regs = lay_out(w),
		.space = w->space,
		.arena = w->arena,
		.generation = w->space->generation,
		.budget.left = w->units,
		.low = (__u64)w->stack,
		.high = (__u64)(w->stack + STACK_WORDS),
		.frames = ret->frames,
		.known = w->known,
		.path = with_path ? &w->path : NULL,
		.fresh = w->fresh,
	};

	memset(ret->frames, 0, sizeof(ret->frames));
	agent_walk_stack(&walk);
	ret->nr = walk.nr;
	ret->end = walk.end;
}

static void check(struct world *w)
{
	struct result plain, along;

	walk_it(w, false, &plain);
	walk_it(w, true, &along);
	assert_int_equal(plain.nr, w->depth);
	assert_int_equal(plain.end, END_ROOT);
	assert_memory_equal(&along, &plain, sizeof(plain));
}

static size_t nr_known(const struct world *w)
{
	size_t nr = 0;

	for (size_t i = 0; i < REGION_NR_KNOWN; i++)
		nr += w->known[i] != 0;
	return nr;
}

static void grow(struct world *w, __u32 nr, __u32 max)
{
	for (; nr && w->depth < max; nr--)
		w->calls[w->depth++] = random_pc();
}

static void random_stacks_are_walked_as_without_a_path(void **state)
{
	struct world *w = world_new();

	(void)state;
	srand(7);
	for (int i = 0; i < 20000; i++) {
		__u32 max = i % 4000 < 3000 ? 60 : MAX_DEPTH;

		w->depth -= (__u32)rand() % (w->depth < 12 || i % 50 == 0 ? w->depth : 12);
		grow(w, (__u32)rand() % (i % 500 == 0 ? MAX_DEPTH : 14), max);
		/* a caller that is now at another of its calls */
		if (i % 9 == 0 && w->depth > 1) {
			__u32 at = 1 + (__u32)rand() % (w->depth - 1);

			w->calls[at] = (w->calls[at] & ~(WALK_PAGE_SIZE - 1ull)) + 1 +
				       (__u64)rand() % (WALK_PAGE_SIZE - 2);
		}
		check(w);
	}
	world_free(w);
}

/*
 * Only the leaf has moved: all other steps come from the path, and the path's end stays where it
 * is.
 */
static void what_stays_is_found_in_the_path(void **state)
{
	struct world *w = world_new();
	struct result result;

	(void)state;
	srand(11);
	grow(w, 40, MAX_DEPTH);
	check(w);
	assert_int_equal(w->path.first, REGION_PATH_STEPS - w->depth);
	for (int i = 0; i < 100; i++) {
		w->calls[w->depth - 1] = random_pc();
		memset(w->known, 0, sizeof(w->known));
		walk_it(w, true, &result);
		assert_int_equal(result.nr, w->depth);
		assert_true(nr_known(w) <= 1);
	}
	world_free(w);
}

/* A stack with more frames than the path holds: those nearest to the root stay. */
static void of_a_deep_stack_the_outer_part_is_kept(void **state)
{
	struct world *w = world_new();
	struct result result;

	(void)state;
	srand(13);
	grow(w, 300, MAX_DEPTH);
	check(w);
	assert_int_equal(w->path.first, 0);
	memset(w->known, 0, sizeof(w->known));
	walk_it(w, true, &result);
	assert_int_equal(result.nr, w->depth);
	assert_in_range(nr_known(w), 1, w->depth - REGION_PATH_STEPS);
	world_free(w);
}

/* New tables may have other rules for the same addresses. */
static void a_new_generation_forgets_the_path(void **state)
{
	struct world *w = world_new();
	struct result result;

	(void)state;
	srand(17);
	grow(w, 20, MAX_DEPTH);
	check(w);
	w->space->generation += 2;
	for (__u32 i = 1; i < NR_FUNCTIONS; i++)
		w->arena->rules[WALK_FIRST_RULE + i].cfa = WALK_CFA_UNSUPPORTED;
	memset(w->known, 0, sizeof(w->known));
	walk_it(w, true, &result);
	assert_int_equal(result.nr, 1);
	assert_int_equal(result.end, END_NEED_DWARF);
	world_free(w);
}

/* A word that is not an address must not be taken for one by its lower bits. */
static void a_pc_beyond_user_space_has_no_rule(void **state)
{
	struct world *w = world_new();
	struct result result;

	(void)state;
	srand(19);
	grow(w, 20, MAX_DEPTH);
	check(w);
	w->calls[10] |= 1ull << 60;
	walk_it(w, true, &result);
	assert_int_equal(result.end, END_NO_MAP);
	assert_int_equal(result.nr, w->depth - 10);
	world_free(w);
}

static void a_walk_that_costs_too_much_ends_and_says_so(void **state)
{
	struct world *w = world_new();
	struct result result;

	(void)state;
	srand(23);
	grow(w, 40, MAX_DEPTH);
	check(w);
	w->units = 10 * COST_STEP;
	walk_it(w, true, &result);
	assert_int_equal(result.end, END_TOO_LONG);
	assert_int_equal(result.nr, 10);
	world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_stacks_are_walked_as_without_a_path),
		cmocka_unit_test(what_stays_is_found_in_the_path),
		cmocka_unit_test(of_a_deep_stack_the_outer_part_is_kept),
		cmocka_unit_test(a_new_generation_forgets_the_path),
		cmocka_unit_test(a_pc_beyond_user_space_has_no_rule),
		cmocka_unit_test(a_walk_that_costs_too_much_ends_and_says_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
