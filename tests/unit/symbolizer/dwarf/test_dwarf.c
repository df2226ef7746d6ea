/*
 * Lines and inlined functions against two references: a program that prints what its addresses are
 * called, and addr2line on thousands of random addresses of real programs.
 */
#include "tests/unit/symbol_fixture.h"

#include "core/base/log.h"

#define NR_RANDOM 2000
#define NR_RANDOM_OF_MANY 20000

/*
 * Returns the offset of "NAME", "NAME-1" or "NAME_end-1": an address at, before, or at the end of a
 * symbol.
 */
static uint64_t landmark_offset(const char *path, char *landmark)
{
	uint64_t before = 0, vaddr, end;
	char *tail;

	tail = strstr(landmark, "-1");
	if (tail) {
		before = 1;
		*tail = '\0';
	}
	tail = strstr(landmark, "_end");
	if (tail)
		*tail = '\0';
	vaddr = symbol_vaddr(path, landmark, &end);
	return (tail ? end : vaddr) - before + code_bias(path);
}

static void lines_and_inlines_are_what_the_program_says(const char *path,
							const struct symbolizer_opts *opts)
{
	FILE *out = output_of("'%s'", target("symbols"));
	char landmark[64], chain[512];
	int nr = 0;

	while (fscanf(out, "%63s %511[^\n]", landmark, chain) == 2) {
		uint64_t offset = landmark_offset(target("symbols"), landmark);
		struct profile *p = profile_new();
		struct symbolizer_stats stats;
		uint32_t frame;

		frame = profile_frame(p, file_module(p, path), offset);
		symbolizer_run(p, opts, &stats);
		assert_string_equal(frame_lines(p, frame), chain);
		profile_free(p);
		nr++;
	}
	assert_int_equal(pclose(out), 0);
	assert_int_equal(nr, 4);
}

static void known_chains_of_a_cxx_program(void **state)
{
	(void)state;
	lines_and_inlines_are_what_the_program_says(target("symbols"), NULL);
}

static void no_inlines_gives_names_only(void **state)
{
	const struct symbolizer_opts opts = { .no_inlines = true };
	struct profile *p = profile_new();
	struct symbolizer_stats stats;
	uint32_t frame;

	(void)state;
	frame = profile_frame(p, file_module(p, target("symbols")),
			      symbol_offset(target("symbols"), "at_leaf"));
	symbolizer_run(p, &opts, &stats);
	assert_string_equal(frame_lines(p, frame), "shapes::Circle::outer()");
	profile_free(p);
}

static void source_file_of_a_function_is_recorded(void **state)
{
	struct profile *p = profile_new();
	struct symbolizer_stats stats;
	const struct profile_function *f;
	const char *file;

	(void)state;
	profile_frame(p, file_module(p, target("symbols")),
		      symbol_offset(target("symbols"), "last_call"));
	symbolizer_run(p, NULL, &stats);
	assert_int_equal(p->nr_functions, 1);
	f = &p->functions[0];
	file = profile_str(p, f->file);
	assert_true(file[0] == '/');
	assert_string_equal(strrchr(file, '/'), "/symbols.cc");
	assert_true(f->start_line > 0);
	assert_string_equal(profile_str(p, f->system_name), "last_call");
	profile_free(p);
}

struct sample {
	uint64_t vaddr;
	uint32_t frame;
};

struct verdict {
	int addresses, frames, no_line, other_file, aliases;
};

/* Chooses addresses in functions at random, the same ones in every run. */
static void random_addresses(const char *path, struct sample *samples, size_t nr)
{
	FILE *out = output_of("nm -S --defined-only '%s' | awk 'NF == 4 && $3 ~ /[tTwW]/'", path);
	struct function {
		unsigned long start, size;
	} *functions = NULL, f;
	size_t capacity = 0, nr_functions = 0;
	unsigned seed = 1;

	while (fscanf(out, "%lx %lx %*[^\n]", &f.start, &f.size) == 2) {
		functions = xgrow(functions, &capacity, nr_functions + 1, sizeof(f));
		functions[nr_functions++] = f;
	}
	pclose(out);
	assert_true(nr_functions > 3);
	for (size_t i = 0; i < nr; i++) {
		const struct function *chosen = &functions[(size_t)rand_r(&seed) % nr_functions];

		samples[i].vaddr = chosen->start + (unsigned long)rand_r(&seed) % chosen->size;
	}
	free(functions);
}

/*
 * Cuts the suffix that the linkage name has and DWARF lacks: " [clone .x]", ".cold", ".part.0" ...
 */
static void strip_clone(char *name)
{
	char *clone = strstr(name, " [clone");
	size_t plain =
		strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789$");

	if (clone)
		*clone = '\0';
	if (name[plain] == '.')
		name[plain] = '\0';
}

/*
 * Returns whether `plain`, a name without scope and parameters, is the name in `full`. Template
 * arguments are spelled differently in DWARF, so they are not compared.
 */
static bool is_plain_name_of(const char *plain, const char *full)
{
	size_t length = strcspn(plain, "<");

	for (const char *at = full; *at; at++) {
		bool starts = at == full || at[-1] == ':' || at[-1] == ' ';

		if (starts && !strncmp(at, plain, length) &&
		    (!at[length] || at[length] == '(' || at[length] == '<'))
			return true;
	}
	return false;
}

/*
 * addr2line shows the plain name of DWARF where the symbol table has more, and it gives an inlined
 * function without linkage name the name of the symbol around it, which is wrong.
 */
static bool same_name(const char *ours, const char *theirs, bool inlined)
{
	char a[4096], b[4096];

	snprintf(a, sizeof(a), "%s", ours);
	snprintf(b, sizeof(b), "%s", theirs);
	strip_clone(a);
	strip_clone(b);
	return !strcmp(a, b) || is_plain_name_of(b, a) ||
	       (inlined && (!strncmp(a, "operator", 8) || strcspn(a, ":(") >= strcspn(a, "<")));
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Compares one location with a pair of addr2line's lines, "function" and "file:line". */
static void compare_location(const struct profile *p, const struct profile_location *l,
			     const char *name, char *place, uint64_t vaddr, struct verdict *v)
{
	const struct profile_function *f = &p->functions[l->function];
	char *colon = strrchr(place, ':');
	unsigned line;

	assert_non_null(colon);
	line = (unsigned)atoi(colon + 1);
	*colon = 0;
	v->frames++;
	if (!same_name(profile_str(p, f->name), name, l->inlined)) {
		if (l->inlined || v->aliases++ > 5)
			fail_msg("0x%lx: %s, addr2line says %s", vaddr, profile_str(p, f->name),
				 name);
	}
	if (!l->line) {
		v->no_line += line > 0;
		return;
	}
	if (l->line != line)
		fail_msg("0x%lx: %s:%u, addr2line says %s:%u", vaddr, profile_str(p, f->name),
			 l->line, place, line);
	v->other_file += strcmp(base_name(profile_str(p, f->file)), base_name(place)) != 0;
}

/* Reads addr2line's answer for one address: innermost first. */
static void compare_frame(const struct profile *p, const struct sample *s, FILE *judge, char *line,
			  size_t size, struct verdict *v)
{
	const struct profile_frame *f = &p->frames[s->frame];
	uint32_t left = f->nr_locations;
	char *name = NULL;
	size_t capacity = 0;

	assert_int_equal(strtoull(line, NULL, 16), s->vaddr);
	while (fgets(line, (int)size, judge) && strncmp(line, "0x", 2)) {
		line[strcspn(line, "\n")] = '\0';
		name = xgrow(name, &capacity, size, 1);
		strcpy(name, line);
		assert_non_null(fgets(line, (int)size, judge));
		line[strcspn(line, "\n(")] = '\0'; /* "(discriminator 2)" */
		if (!left--)
			fail_msg("0x%lx: more frames in addr2line: %s, ours %s", s->vaddr, name,
				 frame_names(p, s->frame));
		compare_location(p, &p->locations[f->first_location + left], name, line, s->vaddr,
				 v);
	}
	if (left)
		fail_msg("0x%lx: addr2line has %u frames fewer than %s", s->vaddr, left,
			 frame_names(p, s->frame));
	v->addresses++;
	free(name);
}

/* `judge` is a command that answers as addr2line does. */
static struct verdict agree_with(const char *judge, const char *path, const char *dir, size_t nr)
{
	struct sample *samples = xcalloc(nr, sizeof(*samples));
	size_t size = 1 << 20;
	struct profile *p = profile_new();
	char *list = xasprintf("%s/list", dir), *line = xmalloc(size);
	struct symbolizer_stats stats;
	struct verdict verdict = { 0 };
	uint32_t module = file_module(p, path);
	uint64_t bias = code_bias(path);
	FILE *file = fopen(list, "w");

	random_addresses(path, samples, nr);
	for (size_t i = 0; i < nr; i++) {
		samples[i].frame = profile_frame(p, module, samples[i].vaddr + bias);
		fprintf(file, "0x%lx\n", samples[i].vaddr);
	}
	fclose(file);
	symbolizer_run(p, NULL, &stats);
	assert_int_equal(stats.nr_unnamed, 0);
	file = output_of("%s -a -f -i -C -e '%s' <'%s'", judge, path, list);
	assert_non_null(fgets(line, (int)size, file));
	for (size_t i = 0; i < nr; i++)
		compare_frame(p, &samples[i], file, line, size, &verdict);
	pclose(file);
	profile_free(p);
	free(samples);
	free(list);
	free(line);
	assert_int_equal(verdict.addresses, nr);
	return verdict;
}

/* Each address must have `inline_depth` frames on average, or too little was tested. */
static void assert_agrees_on(size_t nr, const char *judge, const char *path, const char *dir,
			     double inline_depth)
{
	struct verdict v = agree_with(judge, path, dir, nr);

	assert_true(v.frames >= inline_depth * v.addresses);
	/* A line in another file than the function (macros, #include in a body) is left out. */
	assert_true(v.no_line <= 0.03 * v.frames);
	assert_true(v.other_file <= 0.03 * v.frames);
}

static void assert_agrees(const char *judge, const char *path, const char *dir, double inline_depth)
{
	assert_agrees_on(NR_RANDOM, judge, path, dir, inline_depth);
}

static void random_addresses_of_a_cxx_program_agree_with_addr2line(void **state)
{
	assert_agrees("addr2line", target("symbols"), *state, 2.0);
}

static void random_addresses_of_this_c_program_agree_with_addr2line(void **state)
{
	char path[4096] = "";

	assert_true(readlink("/proc/self/exe", path, sizeof(path) - 1) > 0);
	assert_agrees("addr2line", path, *state, 1.0);
}

static void build(const char *dir, const char *name, const char *command, const char *source)
{
	char *path = xasprintf("%s/%s", dir, name);
	FILE *file = fopen(path, "w");

	fputs(source, file);
	fclose(file);
	shell("cd '%s' && %s", dir, command);
	free(path);
}

static const char small_program[] =
	"#include <stdlib.h>\n"
	"static inline int twice(int x) { return abs(x) * 2; }\n"
	"static int sum(const int *v, int n)\n"
	"{ int s = 0; for (int i = 0; i < n; i++) s += twice(v[i]); return s; }\n"
	"__attribute__((noinline)) static int cmp(const void *a, const void *b)\n"
	"{ return *(const int *)a - *(const int *)b; }\n"
	"__attribute__((noinline)) int f0(int *v, int n) { qsort(v, n, 4, cmp); return sum(v, n); "
	"}\n"
	"__attribute__((noinline)) int f1(int *v, int n) { return f0(v, n) + sum(v + 1, n - 1); }\n"
	"__attribute__((noinline)) int f2(int *v, int n) { return f1(v, n) + sum(v + 2, n - 2); }\n"
	"int main(int c, char **v) { int a[9] = { c, 2, 3 }; return f2(a, 9) + !v; }\n";

static void check_small_program(const char *judge, const char *compile, const char *dir)
{
	char *command = xasprintf("%s -o a a.c", compile), *path = xasprintf("%s/a", dir);

	build(dir, "a.c", command, small_program);
	assert_agrees(judge, path, dir, 1.05);
	free(command);
	free(path);
}

static void every_dwarf_version_agrees_with_addr2line(void **state)
{
	check_small_program("addr2line", "gcc -O2 -gdwarf-2", *state);
	check_small_program("addr2line", "gcc -O2 -gdwarf-3 -gstrict-dwarf", *state);
	check_small_program("addr2line", "gcc -O2 -gdwarf-4", *state);
	check_small_program("addr2line", "gcc -O2 -gdwarf-5", *state);
	check_small_program("addr2line", "gcc -O2 -g -ffunction-sections -Wl,--gc-sections",
			    *state);
	check_small_program("addr2line", "gcc -O2 -g -no-pie", *state);
}

/* addr2line 2.40 misreads range lists of clang and 64-bit DWARF 5. */
static void clang_and_dwarf64_agree_with_llvm_symbolizer(void **state)
{
	static const char judge[] = "llvm-symbolizer --output-style=GNU";

	if (!is_installed("clang") || !is_installed("llvm-symbolizer"))
		skip();
	check_small_program(judge, "clang -O2 -g", *state);
	check_small_program(judge, "clang -O2 -gdwarf-4", *state);
	check_small_program(judge, "gcc -O2 -gdwarf-5 -gdwarf64", *state);
}

/* Six units of a megabyte each, so that several threads read them. */
static void units_read_in_parallel_agree_with_addr2line(void **state)
{
	char *path;

	only_in_check_all();
	path = xasprintf("%s/a", (char *)*state);
	/* Merged functions have several names, and each tool shows another one. */
	shell("CXX='c++ -fno-ipa-icf' KINDS=0 COPIES=6 tests/bench/build_big '%s'", path);
	assert_agrees_on(NR_RANDOM_OF_MANY, "addr2line", path, *state, 2.0);
	free(path);
}

/* With link-time optimization most references of a unit lead to another unit. */
static void units_that_refer_to_each_other_are_followed(void **state)
{
	char *path = xasprintf("%s/a", (char *)*state);

	build(*state, "b.c", "true",
	      "static inline int add(int a, int b) { return a + b * 3; }\n"
	      "int half(int x) { return add(x, 1) / 2; }\n"
	      "int third(int x) { int s = 0; for (int i = 0; i < x; i++) s += half(i) / 3;\n"
	      "return s; }\n");
	build(*state, "a.c", "gcc -O2 -g -flto=2 -flto-partition=max -o a a.c b.c",
	      "#include <stdlib.h>\n"
	      "int half(int), third(int);\n"
	      "__attribute__((noinline)) int work(int n) { return half(n) + third(n); }\n"
	      "__attribute__((noinline)) int more(int n) { return third(n * 2) - work(n); }\n"
	      "int main(int c, char **v) { return more(c) + work(atoi(v[0])); }\n");
	/* addr2line calls every file of such a unit <artificial>. */
	if (is_installed("llvm-symbolizer"))
		assert_agrees("llvm-symbolizer --output-style=GNU", path, *state, 1.3);
	free(path);
}

/*
 * Debian builds packages this way: code that the linker generates has paths that the units of the
 * sources have shortened.
 */
static void lines_survive_paths_that_are_mapped_in_some_units(void **state)
{
	char *path = xasprintf("%s/a", (char *)*state);
	struct profile *p = profile_new();
	struct symbolizer_stats stats;
	const char *lines;
	uint32_t frame;

	build(*state, "a.c",
	      "gcc -O2 -g -flto -ffile-prefix-map=\"$PWD\"=. -c a.c && gcc -flto=2 -o a a.o",
	      "__attribute__((noipa)) int work(int n) { return n * 3; }\n"
	      "int main(int c, char **v) { return work(c) + !v; }\n");
	frame = profile_frame(p, file_module(p, path), symbol_offset(path, "work"));
	symbolizer_run(p, NULL, &stats);
	lines = frame_lines(p, frame);
	assert_string_equal(lines, "work:1");
	profile_free(p);
	free(path);
}

static void rust_program_has_readable_names(void **state)
{
	char *path = xasprintf("%s/a", (char *)*state);
	struct profile *p = profile_new();
	struct symbolizer_stats stats;
	uint32_t frame;

	if (!is_installed("rustc")) {
		free(path);
		profile_free(p);
		skip();
	}
	build(*state, "a.rs", "rustc -O -g a.rs",
	      "mod deep { #[inline(never)] pub fn spin(n: u64) -> u64\n"
	      "{ (0..n).map(|x| x ^ std::process::id() as u64).fold(0, |a, b| a + b) } }\n"
	      "#[no_mangle] #[inline(never)] pub extern \"C\" fn edge(n: u64) -> u64\n"
	      "{ deep::spin(n) + 1 }\n"
	      "fn main() { println!(\"{}\", edge(10)); }\n");
	frame = profile_frame(p, file_module(p, path), symbol_offset(path, "edge"));
	symbolizer_run(p, NULL, &stats);
	assert_string_equal(frame_names(p, frame), "edge");
	assert_agrees("addr2line", path, *state, 1.5);
	profile_free(p);
	free(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_chains_of_a_cxx_program),
		cmocka_unit_test(no_inlines_gives_names_only),
		cmocka_unit_test(source_file_of_a_function_is_recorded),
		cmocka_unit_test_setup_teardown(
			random_addresses_of_a_cxx_program_agree_with_addr2line, fixture_setup,
			fixture_teardown),
		cmocka_unit_test_setup_teardown(
			random_addresses_of_this_c_program_agree_with_addr2line, fixture_setup,
			fixture_teardown),
		cmocka_unit_test_setup_teardown(every_dwarf_version_agrees_with_addr2line,
						fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(clang_and_dwarf64_agree_with_llvm_symbolizer,
						fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(units_read_in_parallel_agree_with_addr2line,
						fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(units_that_refer_to_each_other_are_followed,
						fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(lines_survive_paths_that_are_mapped_in_some_units,
						fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(rust_program_has_readable_names, fixture_setup,
						fixture_teardown),
	};

	log_set_level(LOG_QUIET);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
