/*
 * Functions are hooked in this process: their code is copied to fresh memory, the jump and the stub
 * are written as into a target, and they are called. test_hook_plan.c looks at plans alone.
 */
#include "tests/unit/unit.h"

#include <string.h>
#include <sys/mman.h>

#include "sampler/alloc/x86_64/hook_code.h"

#define CODE_SIZE 4096u

/* What the slow path was called with. */
static struct {
	uint64_t a, b, c, result;
	uint32_t site;
	int calls;
} seen;

static uint64_t slow(uint64_t a, uint64_t b, uint64_t c,
		     uint64_t (*original)(uint64_t, uint64_t, uint64_t), uint32_t site)
{
	seen.a = a;
	seen.b = b;
	seen.c = c;
	seen.site = site;
	seen.calls++;
	return seen.result = original(a, b, c);
}

/* Memory of a pretended target: code, counters, filter, a way to slow(), the function. */
struct world {
	struct alloc_counter counters[ALLOC_NR_COUNTERS];
	uint32_t filter[ALLOC_NR_FILTER / 32];
	uint8_t stub[CODE_SIZE], way[CODE_SIZE], function[CODE_SIZE];
};

static struct world *make_world(const uint8_t *function, size_t size)
{
	static const uint8_t jump[6] = { 0xff, 0x25 }; /* jmp *0(%rip) */
	struct world *w = mmap(NULL, sizeof(*w), PROT_READ | PROT_WRITE | PROT_EXEC,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t to = (uint64_t)(uintptr_t)slow;

	assert_true(w != MAP_FAILED);
	memcpy(w->way, jump, sizeof(jump));
	memcpy(w->way + sizeof(jump), &to, sizeof(to));
	memset(w->function, 0x90, sizeof(w->function));
	memcpy(w->function, function, size);
	memset(&seen, 0, sizeof(seen));
	return w;
}

static void hook(struct world *w, const struct hook_kind *kind)
{
	const struct hook_places places = {
		.stub = (uint64_t)(uintptr_t)w->stub,
		.counters = (uint64_t)(uintptr_t)w->counters,
		.filter = (uint64_t)(uintptr_t)w->filter,
		.slow = (uint64_t)(uintptr_t)w->way,
	};
	struct hook_stub stub;
	struct hook_plan p;
	const char *why;

	assert_int_equal(
		hook_plan_make(w->function, CODE_SIZE, (uint64_t)(uintptr_t)w->function, &p, &why),
		0);
	assert_true(hook_stub_make(&p, kind, &places, &stub));
	memcpy(w->stub, stub.bytes, stub.size);
	hook_patch_write(&p, places.stub, w->function);
}

static void set_counters(struct world *w, int64_t left)
{
	for (size_t i = 0; i < ALLOC_NR_COUNTERS; i++)
		w->counters[i].left = left;
}

static void put_into_filter(struct world *w, uint64_t address)
{
	w->filter[address >> ALLOC_FILTER_WORD_SHIFT & (ALLOC_NR_FILTER / 32 - 1)] |=
		1u << (address >> 4 & 31);
}

static int64_t sum_of_counters(const struct world *w)
{
	int64_t sum = 0;

	for (size_t i = 0; i < ALLOC_NR_COUNTERS; i++)
		sum += w->counters[i].left;
	return sum;
}

typedef uint64_t three(uint64_t a, uint64_t b, uint64_t c);

/* push %r12; push %rbp; push %rbx; mov %rdi,%rbx; lea 5(%rbx,%rsi),%rax; pop...; ret */
static const uint8_t adds[] = { 0x41, 0x54, 0x55, 0x53, 0x48, 0x89, 0xfb, 0x48, 0x8d,
				0x44, 0x33, 0x05, 0x5b, 0x5d, 0x41, 0x5c, 0xc3 };

static void counts_bytes_and_goes_on(void **state)
{
	struct world *w = make_world(adds, sizeof(adds));

	(void)state;
	hook(w, &(struct hook_kind){ .entry = ALLOC_MALLOC, .site = 7 });
	set_counters(w, 1000);
	assert_int_equal(((three *)(void *)w->function)(100, 20, 3), 125);
	assert_int_equal(seen.calls, 0);
	assert_int_equal(sum_of_counters(w), 1000 * (int64_t)ALLOC_NR_COUNTERS - 100);
	munmap(w, sizeof(*w));
}

static void a_counter_below_zero_enters_the_slow_path(void **state)
{
	struct world *w = make_world(adds, sizeof(adds));

	(void)state;
	hook(w, &(struct hook_kind){ .entry = ALLOC_ALIGNED, .site = 7 });
	set_counters(w, 10);
	assert_int_equal(((three *)(void *)w->function)(64, 20, 3), 89);
	assert_int_equal(seen.calls, 1);
	assert_int_equal(seen.a, 64);
	assert_int_equal(seen.b, 20);
	assert_int_equal(seen.c, 3);
	assert_int_equal(seen.site, 7);
	assert_int_equal(seen.result, 89);
	munmap(w, sizeof(*w));
}

/* As musl's: jmp to the function behind it. */
static void a_function_that_is_a_jump_leads_to_the_stub(void **state)
{
	uint8_t jump[8 + sizeof(adds)] = { 0xe9, 0x03, 0, 0, 0, 0x90, 0x90, 0x90 };
	struct world *w;

	(void)state;
	memcpy(jump + 8, adds, sizeof(adds));
	w = make_world(jump, sizeof(jump));
	hook(w, &(struct hook_kind){ .entry = ALLOC_MALLOC });
	assert_int_equal(w->function[0], 0xe9); /* another tool may have a breakpoint there */
	set_counters(w, 110);
	assert_int_equal(((three *)(void *)w->function)(100, 20, 3), 125);
	assert_int_equal(seen.calls, 0);
	assert_int_equal(((three *)(void *)w->function)(100, 20, 3), 125);
	assert_int_equal(seen.calls, 1);
	munmap(w, sizeof(*w));
}

/* mov %rdi,%r8; cmp $0x2000,%rdi; lea (%r8,%rsi),%rax; ret: as tcmalloc's memalign begins */
static const uint8_t copies[] = { 0x49, 0x89, 0xf8, 0x48, 0x81, 0xff, 0x00, 0x20,
				  0x00, 0x00, 0x49, 0x8d, 0x04, 0x30, 0xc3 };

static void an_argument_that_was_copied_is_copied_again(void **state)
{
	struct world *w = make_world(copies, sizeof(copies));

	(void)state;
	hook(w, &(struct hook_kind){ .entry = ALLOC_ALIGNED, .site = 99 });
	set_counters(w, 30);
	assert_int_equal(((three *)(void *)w->function)(64, 20, 3), 84);
	assert_int_equal(((three *)(void *)w->function)(64, 20, 3), 84);
	assert_int_equal(seen.calls, 1);
	munmap(w, sizeof(*w));
}

/* Hooks a function that begins so. Its instructions from `from` on are moved, nr_moved bytes. */
static void moves(const uint8_t *function, size_t size, size_t from, size_t nr_moved)
{
	const struct hook_places places = { .stub = 0x10000, .slow = 0x20000 };
	struct world *w = make_world(function, size);
	struct hook_stub stub;
	struct hook_plan p;
	const char *why;

	assert_int_equal(hook_plan_make(w->function, CODE_SIZE, 0x30000, &p, &why), 0);
	assert_true(
		hook_stub_make(&p, &(struct hook_kind){ .entry = ALLOC_MALLOC }, &places, &stub));
	assert_int_equal(stub.moved_end - stub.moved, nr_moved);
	assert_true(stub.moved >= stub.resume && stub.moved_end <= stub.slow);
	/* A jump leads on by another distance. */
	assert_memory_equal(stub.bytes + stub.moved, function + from, p.is_jump ? 1 : nr_moved);
	munmap(w, sizeof(*w));
}

static void what_was_moved_is_told_from_the_hook(void **state)
{
	static const uint8_t jump[] = { 0xe9, 0x03, 0, 0, 0, 0x90, 0x90, 0x90 };

	(void)state;
	moves(adds, sizeof(adds), 2, 5);
	moves(copies, sizeof(copies), 3, 7); /* the first instruction is run again */
	moves(jump, sizeof(jump), 0, 5);
}

/* Hooks a slot that holds the function; returns what it holds then. */
static three *hook_slot(struct world *w, three *slot, const struct hook_kind *kind)
{
	const struct hook_places places = {
		.stub = (uint64_t)(uintptr_t)w->stub,
		.counters = (uint64_t)(uintptr_t)w->counters,
		.filter = (uint64_t)(uintptr_t)w->filter,
		.slow = (uint64_t)(uintptr_t)w->way,
	};
	struct hook_stub stub;
	struct hook_plan p;

	hook_plan_slot((uint64_t)(uintptr_t)&slot, (uint64_t)(uintptr_t)slot, &p);
	assert_true(hook_stub_make(&p, kind, &places, &stub));
	assert_int_equal(stub.size, HOOK_STUB_MAX);
	memcpy(w->stub, stub.bytes, stub.size);
	hook_patch_write(&p, places.stub, (uint8_t *)&slot);
	assert_memory_equal(w->stub + HOOK_STUB_CODE, p.was, sizeof(slot));
	return slot;
}

static void a_slot_leads_to_the_stub(void **state)
{
	struct world *w = make_world(adds, sizeof(adds));
	const struct hook_kind kind = { .entry = ALLOC_PYTHON_CALLOC };
	three *hooked = hook_slot(w, (three *)(void *)w->function, &kind);

	(void)state;
	set_counters(w, 50);
	assert_int_equal(hooked(1000, 4, 10), 1009);
	assert_int_equal(seen.calls, 0);
	assert_int_equal(hooked(1000, 4, 10), 1009);
	assert_int_equal(seen.calls, 1);
	assert_int_equal(seen.c, 10);
	munmap(w, sizeof(*w));
}

static uint64_t far_function(uint64_t a, uint64_t b, uint64_t c)
{
	return a + 10 * b + 100 * c;
}

/* The executable lies gigabytes away from what is mapped. */
static void a_slot_may_hold_a_function_that_is_far_away(void **state)
{
	struct world *w = make_world(adds, sizeof(adds));
	const struct hook_kind kind = { .entry = ALLOC_PYTHON_MALLOC, .limit = 512 };
	three *hooked = hook_slot(w, far_function, &kind);
	int64_t distance = (int64_t)((uintptr_t)far_function - (uintptr_t)w);

	(void)state;
	assert_true(distance != (int32_t)distance);
	set_counters(w, 50);
	assert_int_equal(hooked(1, 40, 3), 701);
	assert_int_equal(seen.calls, 0);
	assert_int_equal(hooked(1, 40, 3), 701);
	assert_int_equal(seen.calls, 1);
	assert_int_equal(seen.result, 701);
	munmap(w, sizeof(*w));
}

static void sizes_above_the_limit_are_not_counted(void **state)
{
	struct world *w = make_world(adds, sizeof(adds));
	const struct hook_kind kind = { .entry = ALLOC_PYTHON_REALLOC, .limit = 512 };
	three *hooked = hook_slot(w, (three *)(void *)w->function, &kind);

	(void)state;
	set_counters(w, 1000);
	hooked(0, 0x1000, 513);
	assert_int_equal(sum_of_counters(w), 1000 * (int64_t)ALLOC_NR_COUNTERS);
	hooked(0, 0x1000, 512);
	assert_int_equal(sum_of_counters(w), 1000 * (int64_t)ALLOC_NR_COUNTERS - 512);
	/* Whatever the size, the block may be a sampled one. */
	put_into_filter(w, 0x1000);
	hooked(0, 0x1000, 600);
	assert_int_equal(seen.calls, 1);
	munmap(w, sizeof(*w));
}

/* test %rdi,%rdi; je +6 (far); lea 1(%rdi),%rax; ret; nop; xor %eax,%eax; ret */
static const uint8_t tests[] = { 0x48, 0x85, 0xff, 0x0f, 0x84, 0x06, 0x00, 0x00, 0x00,
				 0x48, 0x8d, 0x47, 0x01, 0xc3, 0x90, 0x31, 0xc0, 0xc3 };

static void flags_of_the_first_instruction_survive(void **state)
{
	struct world *w = make_world(tests, sizeof(tests));

	(void)state;
	hook(w, &(struct hook_kind){ .entry = ALLOC_MALLOC });
	set_counters(w, 1000);
	assert_int_equal(((three *)(void *)w->function)(5, 0, 0), 6);
	assert_int_equal(((three *)(void *)w->function)(0, 0, 0), 0);
	set_counters(w, 1);
	assert_int_equal(((three *)(void *)w->function)(5, 0, 0), 6);
	assert_int_equal(seen.calls, 1);
	munmap(w, sizeof(*w));
}

static void a_block_in_the_filter_enters_the_slow_path(void **state)
{
	struct world *w = make_world(tests, sizeof(tests));

	(void)state;
	hook(w, &(struct hook_kind){ .entry = ALLOC_FREE });
	put_into_filter(w, 0x12345670);
	for (uint64_t bit = 16; bit < 1ull << 47; bit <<= 1) {
		uint64_t other = 0x12345670 ^ bit;

		((three *)(void *)w->function)(other, 0, 0);
		assert_int_equal(seen.calls, bit < 16ull * ALLOC_NR_FILTER ? 0 : 1);
		seen.calls = 0;
	}
	((three *)(void *)w->function)(0x12345670, 0, 0);
	assert_int_equal(seen.calls, 1);
	assert_int_equal(seen.a, 0x12345670);
	munmap(w, sizeof(*w));
}

static void realloc_of_nothing_is_left_to_malloc(void **state)
{
	struct world *w = make_world(adds, sizeof(adds));

	(void)state;
	hook(w, &(struct hook_kind){ .entry = ALLOC_REALLOC, .null_is_malloc = true });
	set_counters(w, 1000);
	assert_int_equal(((three *)(void *)w->function)(0, 20, 0), 25);
	assert_int_equal(sum_of_counters(w), 1000 * (int64_t)ALLOC_NR_COUNTERS);
	((three *)(void *)w->function)(16, 20, 0);
	assert_int_equal(sum_of_counters(w), 1000 * (int64_t)ALLOC_NR_COUNTERS - 20);
	munmap(w, sizeof(*w));
}

static void an_overflowing_calloc_is_not_counted(void **state)
{
	struct world *w = make_world(adds, sizeof(adds));

	(void)state;
	hook(w, &(struct hook_kind){ .entry = ALLOC_CALLOC });
	set_counters(w, 1000);
	((three *)(void *)w->function)(1ull << 40, 1ull << 40, 0);
	assert_int_equal(sum_of_counters(w), 1000 * (int64_t)ALLOC_NR_COUNTERS);
	((three *)(void *)w->function)(3, 5, 0);
	assert_int_equal(sum_of_counters(w), 1000 * (int64_t)ALLOC_NR_COUNTERS - 15);
	munmap(w, sizeof(*w));
}

/* As alloc_slow_tensor() is entered: five arguments, and the way to the original in the sixth. */
static void slow_tensor(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e,
			uint64_t (*original)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t))
{
	seen.a = a;
	seen.b = b;
	seen.c = c;
	seen.calls++;
	seen.result = original(a, b, c, d, e);
}

typedef uint64_t five(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e);

/* push %rbx; mov %rdi,%rbx; lea (%rbx,%rsi),%rax; add %rdx,%rax; add %rcx,%rax; add %r8,%rax */
static const uint8_t adds_five[] = { 0x53, 0x48, 0x89, 0xfb, 0x48, 0x8d, 0x04, 0x33, 0x48, 0x01,
				     0xd0, 0x48, 0x01, 0xc8, 0x4c, 0x01, 0xc0, 0x5b, 0xc3 };

static void a_report_enters_the_slow_path_with_all_its_arguments(void **state)
{
	struct world *w = make_world(adds_five, sizeof(adds_five));
	uint64_t to = (uint64_t)(uintptr_t)slow_tensor;

	(void)state;
	memcpy(w->way + 6, &to, sizeof(to));
	hook(w, &(struct hook_kind){ .entry = ALLOC_TENSOR });
	set_counters(w, 1000);
	for (int i = 1; i <= 3; i++) {
		((five *)(void *)w->function)(100000, 20000, 3000, 400, 50);
		assert_int_equal(seen.calls, i);
		assert_int_equal(seen.a, 100000);
		assert_int_equal(seen.b, 20000);
		assert_int_equal(seen.c, 3000);
		assert_int_equal(seen.result, 123450);
	}
	assert_int_equal(sum_of_counters(w), 1000 * (int64_t)ALLOC_NR_COUNTERS);
	munmap(w, sizeof(*w));
}

int main(void)
{
	const struct CMUnitTest unit_tests[] = {
		cmocka_unit_test(counts_bytes_and_goes_on),
		cmocka_unit_test(what_was_moved_is_told_from_the_hook),
		cmocka_unit_test(a_function_that_is_a_jump_leads_to_the_stub),
		cmocka_unit_test(an_argument_that_was_copied_is_copied_again),
		cmocka_unit_test(a_slot_leads_to_the_stub),
		cmocka_unit_test(a_slot_may_hold_a_function_that_is_far_away),
		cmocka_unit_test(sizes_above_the_limit_are_not_counted),
		cmocka_unit_test(a_counter_below_zero_enters_the_slow_path),
		cmocka_unit_test(flags_of_the_first_instruction_survive),
		cmocka_unit_test(a_block_in_the_filter_enters_the_slow_path),
		cmocka_unit_test(realloc_of_nothing_is_left_to_malloc),
		cmocka_unit_test(a_report_enters_the_slow_path_with_all_its_arguments),
		cmocka_unit_test(an_overflowing_calloc_is_not_counted),
	};

	return cmocka_run_group_tests(unit_tests, NULL, NULL);
}
