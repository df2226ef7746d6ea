/*
 * Compares sums by line and address with an oracle, and the code of real functions with what nm and
 * objdump say.
 */
#include "tests/unit/symbol_fixture.h"
#include "tests/unit/random.h"

#include "output/annotate/annotation.h"
#include "output/annotate/disassembly.h"
#include "symbolizer/function_code.h"

enum { NR_FUNCTIONS = 4, NR_FRAMES = 40, NR_SAMPLES = 300, MAX_DEPTH = 10, MAX_CHAIN = 4 };

static struct profile *random_profile(void)
{
	static const char *const names[NR_FUNCTIONS] = { "f", "g", "h", "ff" };
	struct profile *p = profile_new();
	const struct profile_module m = { .path = profile_cstring(p, "/lib/a.so") };
	uint32_t module = profile_module(p, &m), functions[NR_FUNCTIONS];

	for (uint32_t i = 0; i < NR_FUNCTIONS; i++) {
		const struct profile_function f = {
			.name = profile_cstring(p, names[i]),
			.file = profile_cstring(p, i ? "/src/a.c" : "/src/b.c"),
			.module = module,
		};

		functions[i] = profile_function(p, &f);
	}
	for (uint32_t i = 0; i < NR_FRAMES; i++) {
		struct profile_location locations[MAX_CHAIN];
		uint32_t nr = rng(MAX_CHAIN + 1);

		for (uint32_t k = 0; k < nr; k++)
			locations[k] = (struct profile_location){
				.function = functions[rng(NR_FUNCTIONS)],
				.line = rng(3),
				.inlined = k > 0,
			};
		profile_set_locations(p, profile_frame(p, module, 100 + i), locations, nr);
	}
	for (int i = 0; i < NR_SAMPLES; i++) {
		uint32_t frames[MAX_DEPTH], depth = rng(MAX_DEPTH + 1);

		for (uint32_t k = 0; k < depth; k++)
			frames[k] = rng(NR_FRAMES);
		profile_add_sample(p, &(struct profile_sample){
					      .weight = 1 + rng(1000),
					      .thread = PROFILE_NONE,
					      .stack = profile_stack(p, frames, depth),
					      .column = rng(8) ? COLUMN_CPU : COLUMN_COUNT,
				      });
	}
	return p;
}

/* Does the frame hold the function, and inside it what `path` says (its lines, level by level)? */
static bool frame_is_at(const struct profile *p, uint32_t frame, const char *function,
			const struct annotation_line *const *path, size_t levels,
			const struct annotations *a)
{
	const struct profile_frame *f = &p->frames[frame];
	const struct profile_location *l = &p->locations[f->first_location];

	for (uint32_t k = 0; k < f->nr_locations; k++, l++) {
		if (strcmp(profile_str(p, p->functions[l->function].name), function) != 0)
			continue;
		if (f->nr_locations - k < levels)
			return false;
		for (size_t i = 0; i < levels; i++) {
			const struct profile_function *g = &p->functions[l[i].function];

			if (l[i].line != path[i]->line ||
			    strcmp(profile_str(p, g->name),
				   a->names.list[path[i]->function].name) ||
			    strcmp(profile_str(p, g->file), path[i]->file))
				return false;
		}
		return true;
	}
	return false;
}

static struct annotation_sum oracle(const struct profile *p, const struct annotations *a,
				    const char *function, const struct annotation_line *const *path,
				    size_t levels, uint64_t address)
{
	struct annotation_sum sum = { 0 };

	for (size_t i = 0; i < p->nr_samples; i++) {
		const struct profile_sample *s = &p->samples[i];
		const struct profile_stack *stack = &p->stacks[s->stack];
		bool there = false, is = false;

		for (uint32_t k = 0; k < stack->nr_frames && s->column == COLUMN_CPU; k++) {
			uint32_t frame = p->stack_frames[stack->first_frame + k];

			is = frame_is_at(p, frame, function, path, levels, a) &&
			     (!address || p->frames[frame].address == address);
			there |= is;
		}
		if (!there)
			continue;
		sum.total += s->weight;
		sum.total_samples++;
		sum.self += is ? s->weight : 0;
		sum.self_samples += is;
	}
	return sum;
}

static void check_annotation(const struct profile *p, const struct annotations *a,
			     const struct annotation *x)
{
	const char *name = a->names.list[x->function].name;
	const struct annotation_line *path[MAX_CHAIN];
	struct annotation_sum sum = oracle(p, a, name, NULL, 0, 0), self = { 0 };

	assert_string_equal(name, x->plain);
	assert_memory_equal(&sum, &x->sum, sizeof(sum));
	for (size_t i = 0; i < x->nr_lines; i++) {
		assert_true(x->lines[i].level < MAX_CHAIN);
		path[x->lines[i].level] = &x->lines[i];
		sum = oracle(p, a, name, path, x->lines[i].level + 1, 0);
		assert_memory_equal(&sum, &x->lines[i].sum, sizeof(sum));
		self.self += x->lines[i].level ? 0 : x->lines[i].sum.self;
	}
	assert_int_equal(self.self, x->sum.self);
	for (size_t i = 0; i < x->nr_addresses; i++) {
		sum = oracle(p, a, name, NULL, 0, x->addresses[i].address);
		assert_memory_equal(&sum, &x->addresses[i].sum, sizeof(sum));
		self.self -= x->addresses[i].sum.self;
		if (i)
			assert_true(x->addresses[i].address > x->addresses[i - 1].address);
	}
	assert_int_equal(self.self, 0);
}

static void line_and_address_sums_equal_those_of_an_oracle(void **state)
{
	struct pattern pattern;
	char why[64];

	(void)state;
	assert_int_equal(pattern_init(&pattern, "^(f|g)$", why, sizeof(why)), 0);
	for (int round = 0; round < 30; round++) {
		struct profile *p = random_profile();
		struct annotations a;

		annotations_init(&a, p, COLUMN_CPU, &pattern, RANKING_SELF);
		assert_int_equal(a.nr, 2);
		assert_true(a.list[0].sum.self >= a.list[1].sum.self);
		for (size_t i = 0; i < a.nr; i++)
			check_annotation(p, &a, &a.list[i]);
		annotations_fini(&a);
		profile_free(p);
	}
	pattern_fini(&pattern);
}

static struct function_code code_of(const char *path, uint64_t offset)
{
	struct profile *p = profile_new();
	struct function_code code;
	struct code_file *file;
	uint64_t address;

	assert_int_equal(code_file_open(p, file_module(p, path), &file), 0);
	assert_int_equal(code_file_read(file, offset, &code), 0);
	assert_true(code_file_address(file, code.vaddr, &address));
	assert_int_equal(address, code.address);
	code_file_close(file);
	profile_free(p);
	return code;
}

static struct disassembler *disassembler(void)
{
	struct disassembler *d = disassembler_open();

	if (!d)
		print_message("%s is not installed\n", disassembler_library);
	return d;
}

static void the_code_of_a_function_is_between_its_symbols_ends(void **state)
{
	const char *path = target("shares");
	uint64_t end, start = symbol_vaddr(path, "main", &end);
	struct function_code code = code_of(path, start + code_bias(path) + 5);

	(void)state;
	assert_int_equal(code.vaddr, start);
	assert_int_equal(code.address, start + code_bias(path));
	assert_int_equal(code.size, end - start);
	free(code.bytes);
}

static void a_stripped_file_knows_its_functions_by_the_unwind_table(void **state)
{
	const char *path = target("shares");
	char *bare = xasprintf("%s/bare", (const char *)*state);
	uint64_t end, start = symbol_vaddr(path, "main", &end);
	struct function_code code;

	shell("strip -s -o %s %s", bare, path);
	code = code_of(bare, start + code_bias(path) + 5);
	assert_int_equal(code.vaddr, start);
	assert_true(code.size >= end - start && code.size < end - start + 64); /* padding */
	free(code.bytes);
	free(bare);
}

static void instructions_begin_where_objdump_says(void **state)
{
	const char *path = target("shares");
	struct function_code code = code_of(path, symbol_offset(path, "main"));
	struct disassembler *d = disassembler();
	struct disassembly list;
	unsigned long vaddr;
	size_t nr = 0;
	FILE *out;

	(void)state;
	if (!d) {
		free(code.bytes);
		skip();
	}
	disassemble(d, code.bytes, code.size, code.vaddr, &list);
	out = output_of("objdump -d --no-show-raw-insn --start-address=0x%lx --stop-address=0x%lx "
			"'%s' | sed -n 's/^ *\\([0-9a-f]*\\):\t.*/\\1/p'",
			(unsigned long)code.vaddr, (unsigned long)(code.vaddr + code.size), path);
	while (fscanf(out, "%lx", &vaddr) == 1) {
		assert_true(nr < list.nr);
		assert_int_equal(vaddr, code.vaddr + list.list[nr++].offset);
	}
	pclose(out);
	assert_true(nr > 20);
	assert_int_equal(nr, list.nr);
	disassembly_fini(&list);
	disassembler_close(d);
	free(code.bytes);
}

static void any_bytes_are_shown_without_gaps(void **state)
{
	struct disassembler *d = disassembler();

	(void)state;
	if (!d)
		skip();
	for (int round = 0; round < 200; round++) {
		struct disassembly list;
		uint8_t bytes[64];
		size_t at = 0, size = rng(sizeof(bytes) + 1);

		for (size_t i = 0; i < size; i++)
			bytes[i] = (uint8_t)rng(256);
		disassemble(d, bytes, size, 0x1000, &list);
		for (size_t i = 0; i < list.nr; i++) {
			assert_int_equal(list.list[i].offset, at);
			assert_true(list.list[i].size > 0);
			assert_true(list.text.data[list.list[i].text] != '\0');
			at += list.list[i].size;
		}
		assert_int_equal(at, size);
		disassembly_fini(&list);
	}
	disassembler_close(d);
}

static void what_is_no_file_of_code_is_refused(void **state)
{
	struct profile *p = profile_new();
	const struct profile_module kernel = { .path = profile_cstring(p, "[kernel]"),
					       .kind = MODULE_KERNEL };
	char *text = xasprintf("%s/text", (const char *)*state);
	struct function_code code;
	struct code_file *file;
	uint32_t module;

	shell("echo hello >%s", text);
	assert_int_equal(code_file_open(p, profile_module(p, &kernel), &file), -ENOTSUP);
	assert_int_equal(code_file_open(p, file_module(p, text), &file), -ENOEXEC);
	module = file_module(p, target("shares"));
	assert_int_equal(code_file_open(p, module, &file), 0);
	assert_int_equal(code_file_read(file, UINT64_MAX, &code), -ENOENT);
	assert_int_equal(code_file_read(file, 0, &code), -ENOENT);
	code_file_close(file);
	profile_free(p);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(line_and_address_sums_equal_those_of_an_oracle),
		cmocka_unit_test(the_code_of_a_function_is_between_its_symbols_ends),
		cmocka_unit_test(a_stripped_file_knows_its_functions_by_the_unwind_table),
		cmocka_unit_test(instructions_begin_where_objdump_says),
		cmocka_unit_test(any_bytes_are_shown_without_gaps),
		cmocka_unit_test(what_is_no_file_of_code_is_refused),
	};

	return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
