/*
 * Functions are hooked in this process and run one instruction at a time: at each instruction of
 * the stub its call frame information must lead to the caller.
 */
#include "tests/unit/unit.h"

#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "sampler/alloc/hook_set.h"
#include "sampler/alloc/x86_64/hook_code.h"
#include "sampler/alloc/x86_64/stub_frame.h"
#include "sampler/attach/payload.h"
#include "sampler/unwind/unwind_table.h"

#define FUNCTION_SIZE 4096u
#define MOST_STEPS 4096
#define TRAP_FLAG 0x100

/* Memory of a pretended target. */
struct world {
	uint8_t code[ALLOC_CODE_SIZE];
	struct alloc_counter counters[ALLOC_NR_COUNTERS];
	uint32_t filter[ALLOC_NR_FILTER / 32];
	uint8_t way[FUNCTION_SIZE], function[FUNCTION_SIZE];
};

struct step {
	uint64_t pc, cfa, fp; /* the last two: of the call that the function is in */
	uint64_t is_sp, is_fp;
	uint64_t saved[8]; /* words below the CFA, downwards */
};

static struct {
	const struct world *world;
	struct step steps[MOST_STEPS];
	size_t nr;
	uint64_t cfa, fp;
	bool was_inside;
} run;

static bool lies_in(uint64_t pc, const void *start, size_t size)
{
	return pc - (uint64_t)(uintptr_t)start < size;
}

/* A function that is entered from elsewhere was called. */
static void on_step(int signal, siginfo_t *info, void *context)
{
	const greg_t *regs = ((ucontext_t *)context)->uc_mcontext.gregs;
	uint64_t pc = (uint64_t)regs[REG_RIP];
	bool is_stub = lies_in(pc, run.world->code, sizeof(run.world->code));
	bool is_inside = is_stub || lies_in(pc, run.world->function, FUNCTION_SIZE);

	(void)signal, (void)info;
	if (is_inside && !run.was_inside) {
		run.cfa = (uint64_t)regs[REG_RSP] + 8;
		run.fp = (uint64_t)regs[REG_RBP];
	}
	run.was_inside = is_inside;
	if (is_stub && run.nr < MOST_STEPS) {
		struct step *s = &run.steps[run.nr++];

		*s = (struct step){
			.pc = pc,
			.cfa = run.cfa,
			.fp = run.fp,
			.is_sp = (uint64_t)regs[REG_RSP],
			.is_fp = (uint64_t)regs[REG_RBP],
		};
		for (size_t i = 0; i < 8; i++)
			s->saved[i] = ((const uint64_t *)(uintptr_t)run.cfa)[-1 - (int)i];
	}
}

typedef uint64_t three(uint64_t a, uint64_t b, uint64_t c);

static uint64_t slow(uint64_t a, uint64_t b, uint64_t c, three *original)
{
	return original(a, b, c);
}

static uint64_t slow_tensor(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e,
			    three *original)
{
	(void)d, (void)e;
	return original(a, b, c);
}

typedef uint64_t five(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e);

static uint64_t step_through(five *function)
{
	uint64_t result;

	__asm__ volatile("pushfq; orq %0, (%%rsp); popfq" : : "i"(TRAP_FLAG) : "cc", "memory");
	result = function(100, 20, 3, 4, 5);
	__asm__ volatile("pushfq; andq %0, (%%rsp); popfq" : : "i"(~TRAP_FLAG) : "cc", "memory");
	return result;
}

/* ---- a hooked function */

static const struct alloc_payload *payload(void)
{
	return (const struct alloc_payload *)alloc_payload_bin;
}

static struct world *make_world(const uint8_t *function, size_t size)
{
	static const uint8_t jump[6] = { 0xff, 0x25 }; /* jmp *0(%rip) */
	struct world *w = mmap(NULL, sizeof(*w), PROT_READ | PROT_WRITE | PROT_EXEC,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(w != MAP_FAILED);
	memcpy(w->code, alloc_payload_bin, alloc_payload_bin_size);
	memcpy(w->way, jump, sizeof(jump));
	memset(w->function, 0x90, sizeof(w->function));
	memcpy(w->function, function, size);
	return w;
}

static uint64_t address_of(const void *at)
{
	return (uint64_t)(uintptr_t)at;
}

static void hook(struct world *w, const struct hook_plan *plan, enum alloc_entry entry)
{
	const struct hook_kind kind = { .entry = entry };
	uint64_t to = alloc_entry_is_tensor(entry) ? (uint64_t)(uintptr_t)slow_tensor
						   : (uint64_t)(uintptr_t)slow;
	uint64_t code = address_of(w->code), frame = hook_frame_at(code, payload(), 0);
	const struct hook_places places = {
		.stub = code + ALLOC_STUBS_AT,
		.counters = address_of(w->counters),
		.filter = address_of(w->filter),
		.slow = address_of(w->way),
	};
	const struct stub_frame_places frame_places = {
		.frame = frame,
		.cie = code + payload()->head.eh_frame,
		.stub = places.stub,
	};
	struct hook_stub stub;

	memcpy(w->way + 6, &to, sizeof(to));
	assert_true(hook_stub_make(plan, &kind, &places, &stub));
	memcpy(w->code + ALLOC_STUBS_AT, stub.bytes, stub.size);
	stub_frame_write(plan, &stub, &frame_places, w->code + (frame - code));
}

static void set_counters(struct world *w, int64_t left)
{
	for (size_t i = 0; i < ALLOC_NR_COUNTERS; i++)
		w->counters[i].left = left;
}

static void check_step(const struct world *w, const struct unwind_table *table,
		       const struct walk_rule *rules, const struct step *s)
{
	struct walk_rule rule =
		rules[unwind_table_find(table, s->pc - (uint64_t)(uintptr_t)w->code)];
	uint64_t base = rule.cfa == WALK_CFA_SP ? s->is_sp : s->is_fp;

	assert_true(rule.cfa == WALK_CFA_SP || rule.cfa == WALK_CFA_FP);
	assert_int_equal(base + (uint64_t)(int64_t)rule.cfa_off, s->cfa);
	if (rule.fp == WALK_FP_SAME) {
		assert_int_equal(s->is_fp, s->fp);
	} else {
		assert_int_equal(rule.fp, WALK_FP_CFA);
		assert_int_equal(s->saved[-rule.fp_off / 8 - 1], s->fp);
	}
}

static struct unwind_table *build(const struct world *w, struct rule_set *rules)
{
	struct unwind_table *table;

	assert_int_equal(unwind_table_build_code(w->code, sizeof(w->code), rules, &table), 0);
	return table;
}

/* Calls it with so much left of each counter, and returns how many instructions of the stub ran. */
static size_t call(struct world *w, five *function, int64_t left, uint64_t result)
{
	struct sigaction was, action = { .sa_sigaction = on_step, .sa_flags = SA_SIGINFO };
	struct rule_set *rules = rule_set_new();
	struct unwind_table *table = build(w, rules);
	uint32_t nr;

	run.world = w;
	run.nr = 0;
	run.was_inside = false;
	set_counters(w, left);
	sigaction(SIGTRAP, &action, &was);
	assert_int_equal(step_through(function), result);
	sigaction(SIGTRAP, &was, NULL);
	for (size_t i = 0; i < run.nr; i++)
		check_step(w, table, rule_set_rules(rules, &nr), &run.steps[i]);
	unwind_table_free(table);
	rule_set_free(rules);
	return run.nr;
}

static void check(const uint8_t *function, size_t size, enum alloc_entry entry, uint64_t result)
{
	struct world *w = make_world(function, size);
	struct hook_plan plan;
	const char *why;

	assert_int_equal(
		hook_plan_make(w->function, FUNCTION_SIZE, address_of(w->function), &plan, &why),
		0);
	hook(w, &plan, entry);
	hook_patch_write(&plan, address_of(w->code + ALLOC_STUBS_AT), w->function);
	assert_in_range(call(w, (five *)(void *)w->function, 1000, result), 5, MOST_STEPS - 1);
	assert_in_range(call(w, (five *)(void *)w->function, 10, result), 5, MOST_STEPS - 1);
	munmap(w, sizeof(*w));
}

/* ---- tests */

/* push %r12; push %rbp; push %rbx; mov %rdi,%rbx; lea 5(%rbx,%rsi),%rax; pop...; ret */
static const uint8_t pushes[] = { 0x41, 0x54, 0x55, 0x53, 0x48, 0x89, 0xfb, 0x48, 0x8d,
				  0x44, 0x33, 0x05, 0x5b, 0x5d, 0x41, 0x5c, 0xc3 };
/* push %rbp; mov %rsp,%rbp; push %rbx; mov $1,%ebx; lea 5(%rdi,%rsi),%rax; pop; leave; ret */
static const uint8_t framed[] = { 0x55, 0x48, 0x89, 0xe5, 0x53, 0xbb, 0x01, 0x00, 0x00,
				  0x00, 0x48, 0x8d, 0x44, 0x37, 0x05, 0x5b, 0xc9, 0xc3 };
/* sub $0x18,%rsp; lea 5(%rdi,%rsi),%rax; add $0x18,%rsp; ret */
static const uint8_t room[] = { 0x48, 0x83, 0xec, 0x18, 0x48, 0x8d, 0x44,
				0x37, 0x05, 0x48, 0x83, 0xc4, 0x18, 0xc3 };
/* cmp $0x2000,%rdi; push %rbx; push %rbp; lea 5(%rdi,%rsi),%rax; pop %rbp; pop %rbx; ret */
static const uint8_t compared[] = { 0x48, 0x81, 0xff, 0x00, 0x20, 0x00, 0x00, 0x53, 0x55,
				    0x48, 0x8d, 0x44, 0x37, 0x05, 0x5d, 0x5b, 0xc3 };

static void every_instruction_of_a_stub_leads_to_the_caller(void **state)
{
	(void)state;
	check(pushes, sizeof(pushes), ALLOC_MALLOC, 125);
	check(framed, sizeof(framed), ALLOC_MALLOC, 125);
	check(room, sizeof(room), ALLOC_MALLOC, 125);
	check(compared, sizeof(compared), ALLOC_MALLOC, 125);
}

static void so_do_those_that_look_into_the_filter(void **state)
{
	(void)state;
	check(pushes, sizeof(pushes), ALLOC_REALLOC, 125);
	check(framed, sizeof(framed), ALLOC_CALLOC, 125);
}

static void a_stub_that_always_enters_the_slow_path_has_rules(void **state)
{
	(void)state;
	check(pushes, sizeof(pushes), ALLOC_TENSOR, 125);
	check(room, sizeof(room), ALLOC_TENSOR, 125);
}

/* As musl's: jmp to the function behind it. */
static void the_stub_of_a_function_that_is_a_jump_has_rules(void **state)
{
	uint8_t jump[8 + sizeof(pushes)] = { 0xe9, 0x03, 0, 0, 0, 0x90, 0x90, 0x90 };

	(void)state;
	memcpy(jump + 8, pushes, sizeof(pushes));
	check(jump, sizeof(jump), ALLOC_MALLOC, 125);
}

static void the_stub_of_a_slot_has_rules(void **state)
{
	struct world *w = make_world(pushes, sizeof(pushes));
	struct hook_plan plan;

	(void)state;
	hook_plan_slot(0, address_of(w->function), &plan);
	hook(w, &plan, ALLOC_PYTHON_MALLOC);
	assert_in_range(call(w, (five *)(void *)(w->code + ALLOC_STUBS_AT), 1000, 125), 5,
			MOST_STEPS - 1);
	assert_in_range(call(w, (five *)(void *)(w->code + ALLOC_STUBS_AT), 10, 125), 5,
			MOST_STEPS - 1);
	munmap(w, sizeof(*w));
}

/* push %rbx; mov %rsp,%rbx; and $-32,%rsp; then nothing but rbx leads to the caller */
static void a_frame_that_cannot_be_described_has_no_rules(void **state)
{
	static const uint8_t aligned[] = { 0x53, 0x48, 0x89, 0xe3, 0x48, 0x83, 0xe4,
					   0xe0, 0x48, 0x89, 0xdc, 0x5b, 0xc3 };
	struct world *w = make_world(aligned, sizeof(aligned));
	struct rule_set *rules = rule_set_new();
	struct unwind_table *table;
	struct hook_plan plan;
	const char *why;

	(void)state;
	assert_int_equal(
		hook_plan_make(w->function, FUNCTION_SIZE, address_of(w->function), &plan, &why),
		0);
	hook(w, &plan, ALLOC_MALLOC);
	table = build(w, rules);
	assert_int_equal(unwind_table_find(table, ALLOC_STUBS_AT), WALK_RULE_NONE);
	unwind_table_free(table);
	rule_set_free(rules);
	munmap(w, sizeof(*w));
}

static void the_payload_has_rules_where_stubs_enter_it(void **state)
{
	struct world *w = make_world(pushes, sizeof(pushes));
	struct rule_set *rules = rule_set_new();
	struct unwind_table *table = build(w, rules);
	uint32_t nr;

	(void)state;
	assert_int_equal(payload()->head.size, alloc_payload_bin_size);
	for (size_t i = 0; i < NR_ALLOC_ENTRIES; i++) {
		struct walk_rule rule =
			rule_set_rules(rules, &nr)[unwind_table_find(table, payload()->entries[i])];

		assert_int_equal(rule.cfa, WALK_CFA_SP);
		assert_int_equal(rule.cfa_off, 8);
	}
	unwind_table_free(table);
	rule_set_free(rules);
	munmap(w, sizeof(*w));
}

int main(void)
{
	const struct CMUnitTest unit_tests[] = {
		cmocka_unit_test(every_instruction_of_a_stub_leads_to_the_caller),
		cmocka_unit_test(so_do_those_that_look_into_the_filter),
		cmocka_unit_test(a_stub_that_always_enters_the_slow_path_has_rules),
		cmocka_unit_test(the_stub_of_a_function_that_is_a_jump_has_rules),
		cmocka_unit_test(the_stub_of_a_slot_has_rules),
		cmocka_unit_test(a_frame_that_cannot_be_described_has_no_rules),
		cmocka_unit_test(the_payload_has_rules_where_stubs_enter_it),
	};

	return cmocka_run_group_tests(unit_tests, NULL, NULL);
}
