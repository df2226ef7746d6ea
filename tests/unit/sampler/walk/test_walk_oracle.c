/*
 * Compares the walkers: real programs are stopped anywhere, thousands of times, and walked by our
 * rows, by libunwind and by the snapshot unwinder, which joins both, on the same registers and
 * stack. All must find the same frames. Single steps after each stop visit every instruction of
 * prologues, epilogues, PLT stubs and signal trampolines.
 */
#include "tests/unit/unit.h"
#include "tests/unit/traced.h"

#include "core/portable/frames.h"
#include "sampler/walk/user_walk.h"
#include "sampler/walk/snapshot_unwind.h"
#include "sampler/walk/libunwind_modules.h"
#include "sampler/walk/libunwind_walk.h"
#include "sampler/unwind/unwind_table.h"

#define MAX_FRAMES 4096
#define NR_STOPS 150 /* `make test` is content with a third of them */
#define NR_STEPS 16  /* after each stop */

static int nr_stops(void)
{
	return getenv("SPROF_TEST_FULL") ? NR_STOPS : NR_STOPS / 3;
}

struct judge {
	struct traced traced; /* first: the context of its hooks */
	const char *name;
	struct rule_set *rules;
	struct unwind_table *tables[TRACED_MAX_MODULES + 1];
	bool table_tried[TRACED_MAX_MODULES + 1];
	struct libunwind_modules *modules;
	struct libunwind_walk *remote;
	struct snapshot_unwinder *snapshot;
	struct snapshot_sample sample;
	/* the counts, in stacks */
	unsigned int nr, nr_frames, nr_different;
	unsigned int nr_complete; /* by the snapshot unwinder */
	unsigned int nr_stuck;	  /* no walker got further: _init and the like */
	unsigned int nr_said;
	unsigned int nr_dwarf;	  /* the rows needed libunwind at some frame */
	unsigned int nr_unjudged; /* libunwind met code without CFI; equal up to there */
};

/* One walker's answer. */
struct answer {
	const char *who;
	uint64_t frames[MAX_FRAMES];
	uint64_t sps[MAX_FRAMES];
	size_t nr;
	enum walk_status status;
};

static bool read_stack(void *context, uint64_t address, uint64_t *ret)
{
	return snapshot_sample_read(&((struct judge *)context)->sample, address, ret);
}

static const struct unwind_table *find_table(struct judge *j, uint64_t module)
{
	const struct traced_module *m = &j->traced.modules[module - 1];

	if (!j->table_tried[module]) {
		j->table_tried[module] = true;
		if (m->memory)
			unwind_table_build_memory(m->memory, m->size, j->rules, &j->tables[module]);
		else
			unwind_table_build(m->fd, NULL, j->rules, &j->tables[module]);
	}
	return j->tables[module];
}

static bool find_module_rule(void *context, uint64_t module, uint64_t vaddr, struct walk_rule *ret)
{
	struct judge *j = context;
	const struct unwind_table *table = find_table(j, module);
	uint32_t nr;

	*ret = (struct walk_rule){ .cfa = WALK_CFA_NONE };
	if (table)
		*ret = rule_set_rules(j->rules, &nr)[unwind_table_find(table, vaddr)];
	return true;
}

static bool find_rule(void *context, uint64_t address, struct walk_rule *ret)
{
	struct judge *j = context;
	struct snapshot_place place;

	*ret = (struct walk_rule){ .cfa = WALK_CFA_NONE };
	if (!libunwind_modules_find(j->modules, address, &place) || !place.module)
		return true;
	return find_module_rule(j, place.key, address - place.bias, ret);
}

static const struct user_walk_ops walk_ops = { read_stack, find_rule };
static const struct snapshot_ops snapshot_ops = { .find_mapping = traced_find_mapping,
						  .open_module = traced_open_module,
						  .find_rule = find_module_rule };

static void print_answer(struct judge *j, const struct answer *a)
{
	print_message("  %s, status %d:\n", a->who, a->status);
	for (size_t i = 0; i < a->nr && i < 12; i++) {
		uint64_t pc = a->frames[i] & ~FRAME_EXACT;
		const struct traced_map *map = traced_find_map(&j->traced, pc);

		print_message("    %#lx%s module %lu offset %#lx\n", pc,
			      a->frames[i] & FRAME_EXACT ? "" : " (return)", map ? map->module : 0,
			      map ? pc - map->start + map->file_offset : 0);
	}
}

/* Equal frames and equal ends, or equal as far as libunwind had CFI. */
static bool agrees(const struct answer *a, const struct answer *libunwind)
{
	size_t common = a->nr < libunwind->nr ? a->nr : libunwind->nr;

	if (memcmp(a->frames, libunwind->frames, common * sizeof(*a->frames)) ||
	    memcmp(a->sps, libunwind->sps, common * sizeof(*a->sps)))
		return false;
	if (a->nr == libunwind->nr && (a->status == WALK_END) == (libunwind->status == WALK_END))
		return true;
	if (a->status == WALK_NEED_DWARF)
		return a->nr < libunwind->nr;
	return libunwind->status == WALK_NO_RULE && a->nr >= libunwind->nr;
}

/* Walks the stopped program with each walker. */
static void compare(struct judge *j)
{
	static struct answer rows = { .who = "rows" }, libunwind = { .who = "libunwind" },
			     snapshot = { .who = "snapshot" };
	struct traced *t = &j->traced;
	struct walk_regs regs = t->regs, judged_regs = t->regs;
	struct snapshot_result result;

	j->sample = traced_sample(t);
	rows.nr = libunwind.nr = 0;
	rows.status = user_walk(&walk_ops, j, &regs, rows.frames, rows.sps, MAX_FRAMES, &rows.nr);
	libunwind.status = libunwind_walk_run(j->remote, &j->sample, &judged_regs, libunwind.frames,
					      libunwind.sps, MAX_FRAMES, &libunwind.nr);
	result = snapshot_unwind(j->snapshot, &j->sample, snapshot.frames, MAX_FRAMES);
	snapshot.nr = result.nr;
	if (result.sps)
		memcpy(snapshot.sps, result.sps, result.nr * sizeof(*snapshot.sps));
	snapshot.status = result.marker < 0 ? WALK_END : WALK_NO_RULE;
	j->nr++;
	j->nr_frames += (unsigned int)rows.nr;
	j->nr_complete += result.marker < 0;
	if (result.marker >= 0 && libunwind.status != WALK_END) {
		j->nr_stuck++;
		if (result.marker != MARKER_NO_RULE && j->nr_said++ < 3) {
			print_message("%s: marker %d where libunwind has %d:\n", j->name,
				      result.marker, libunwind.status);
			print_answer(j, &snapshot);
		}
	}
	j->nr_dwarf += rows.status == WALK_NEED_DWARF;
	j->nr_unjudged += libunwind.status == WALK_NO_RULE;
	if (agrees(&rows, &libunwind) && agrees(&snapshot, &libunwind))
		return;
	if (j->nr_different++ >= 3)
		return;
	print_message("%s: different, sp %#lx:\n", j->name, (uint64_t)t->regs.sp);
	print_answer(j, &rows);
	print_answer(j, &libunwind);
	print_answer(j, &snapshot);
}

static void run_judge(struct judge *j)
{
	unsigned int random = 12345;

	for (int stop = 0; stop < nr_stops(); stop++) {
		random = random * 1103515245 + 12345;
		/* the first stops are close together, in the dynamic linker */
		if (!traced_run(&j->traced, stop < 20 ? 20 : 100 + random / 65536 % 3000))
			return;
		for (int step = 0; step < NR_STEPS; step++) {
			if (!traced_capture(&j->traced))
				return;
			if (j->traced.stack_size)
				compare(j);
			if (!traced_step(&j->traced))
				return;
		}
	}
}

/* false: the program could not be started. */
static bool judge_program(struct judge *j, const char *name, char *const argv[])
{
	memset(j, 0, sizeof(*j));
	j->name = name;
	if (!traced_start(&j->traced, argv)) {
		traced_end(&j->traced);
		return false;
	}
	j->rules = rule_set_new();
	j->modules = libunwind_modules_new(&snapshot_ops, j);
	j->remote = libunwind_walk_new(j->modules);
	j->snapshot = snapshot_unwinder_new(&snapshot_ops, j);
	assert_non_null(j->remote);
	run_judge(j);
	print_message("%s: %u stacks, %.1f frames, %u different, %u complete, %u stuck, "
		      "%u with libunwind's help, %u beyond it\n",
		      j->name, j->nr, j->nr ? (double)j->nr_frames / j->nr : 0.0, j->nr_different,
		      j->nr_complete, j->nr_stuck, j->nr_dwarf, j->nr_unjudged);
	snapshot_unwinder_free(j->snapshot);
	libunwind_walk_free(j->remote);
	libunwind_modules_free(j->modules);
	for (size_t i = 0; i <= TRACED_MAX_MODULES; i++)
		unwind_table_free(j->tables[i]);
	rule_set_free(j->rules);
	traced_end(&j->traced);
	return true;
}

static struct judge judge;

/* A program of tests/targets. */
static void judge_target(const char *name, const char *argument)
{
	const char *directory = getenv("TARGETS");
	char path[4096];
	/* More ms than it takes on a busy machine: the program is killed. */
	char *argv[] = { path, (char *)"600000", (char *)argument, NULL };

	if (!directory) {
		print_message("TARGETS is not set: run it by make check\n");
		skip();
	}
	snprintf(path, sizeof(path), "%s/%s", directory, name);
	assert_true(judge_program(&judge, name, argv));
	assert_true(judge.nr >= (unsigned)nr_stops() * NR_STEPS);
	assert_int_equal(judge.nr_different, 0);
}

static void our_targets_are_walked_as_libunwind_does(void **state)
{
	static const char *const names[] = {
		"deep32_nofp", "deep32_fp", "signals", "realign",	    "plt",
		"vdso",	       "cxx",	    "dlopen",  "shares_static",	    "shares_nopie",
		"leaf",	       "inlined",   "unique",  "shares_static_pie", "shares_stripped",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		judge_target(names[i], NULL);
		assert_int_equal(judge.nr_complete + judge.nr_stuck, judge.nr);
		assert_true(judge.nr_stuck * 20 <= judge.nr);
	}
	judge_target("recursion", "50");
	assert_int_equal(judge.nr_complete, judge.nr);
}

/* The copied stack is the handler's and does not contain the interrupted frames. */
static void a_handler_on_another_stack_is_walked_as_libunwind_does(void **state)
{
	(void)state;
	judge_target("signals", "altstack");
	assert_true(judge.nr_complete > 0);
}

static void code_without_cfi_is_walked_by_frame_pointers(void **state)
{
	(void)state;
	judge_target("jit", NULL);
	assert_true(judge.nr_unjudged > judge.nr / 2);
	assert_int_equal(judge.nr_complete, judge.nr);
}

static void real_programs_are_walked_as_libunwind_does(void **state)
{
	static const char *const programs[][2] = {
		{ "python3", "python3 -c 'import json\nwhile 1: json.loads(json.dumps([{i: [i]} "
			     "for i in range(50)]))'" },
		{ "perl",
		  "perl -e 'while (1) { $h{$_ % 999} .= \"x\" =~ s/x/y/r for 1..9999; %h = () }'" },
		{ "cc1", "$(gcc -print-prog-name=cc1) -quiet -O2 -imultiarch x86_64-linux-gnu "
			 "-D_GNU_SOURCE -I. sampler/unwind/cfi.c -o /dev/null" },
		{ "clang", "clang -O2 -D_GNU_SOURCE -I. -S -o /dev/null sampler/unwind/cfi.c" },
		{ "sqlite3",
		  "sqlite3 :memory: 'with recursive c(x) as (select 1 union all select x+1 "
		  "from c) select sum(length(hex(x)) * abs(x)) from c group by x % 99'" },
		{ "openssl rsa", "openssl speed -seconds 600 rsa2048 ecdsap256" },
		{ "openssl aes", "openssl speed -seconds 600 -evp aes-256-gcm" },
		{ "gdb", "gdb --batch -nx -ex 'python [x*x for x in range(99999999)]'" },
		{ "bash", "bash -c 'while :; do x=${x:0:99}$((RANDOM % 9)); y=$(echo $x); done'" },
		{ "sort", "sort -R --random-source=/dev/zero /usr/bin/python3" },
	};
	unsigned int nr = 0, nr_different = 0, nr_incomplete = 0, nr_stuck = 0;

	(void)state;
	only_in_check_all();
	for (size_t i = 0; i < sizeof(programs) / sizeof(*programs); i++) {
		char command[512];
		char *argv[] = { (char *)"/bin/sh", (char *)"-c", command, NULL };

		snprintf(command, sizeof(command), "exec %s", programs[i][1]);
		assert_true(judge_program(&judge, programs[i][0], argv));
		nr += judge.nr;
		nr_different += judge.nr_different;
		nr_incomplete += judge.nr - judge.nr_complete - judge.nr_stuck;
		nr_stuck += judge.nr_stuck;
	}
	print_message("%u stacks, %u different, %u incomplete, %u stuck\n", nr, nr_different,
		      nr_incomplete, nr_stuck);
	assert_true(nr > 10 * NR_STOPS);
	assert_true(nr_different * 1000 <= nr);
	assert_true(nr_incomplete * 1000 <= nr);
	assert_true(nr_stuck * 100 <= nr);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(our_targets_are_walked_as_libunwind_does),
		cmocka_unit_test(a_handler_on_another_stack_is_walked_as_libunwind_does),
		cmocka_unit_test(code_without_cfi_is_walked_by_frame_pointers),
		cmocka_unit_test(real_programs_are_walked_as_libunwind_does),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
