/*
 * DWARF outside the binary: .dwo files, packages of them, and dwz. Programs are built twice from
 * the same sources, and every address must have the same frames, files and lines in both.
 */
#include "tests/unit/symbol_fixture.h"

#include "core/base/log.h"

static const char program[] =
	"#include <stdlib.h>\n"
	"struct box { int w; };\n"
	"int other(int x);\n"
	"static inline int twice(struct box b) { return abs(b.w) * 2; }\n"
	"static int sum(const int *v, int n)\n"
	"{ int s = 0; for (int i = 0; i < n; i++) s += twice((struct box){ v[i] }); return s; }\n"
	"__attribute__((noinline)) int f0(int *v, int n) { return sum(v, n) + other(n); }\n"
	"int main(int c, char **v) { int a[9] = { c, 2, 3 }; return f0(a, 9) + sum(a, c) + !v; }\n";

static const char other[] =
	"#include <stdlib.h>\n"
	"static inline int add(int a, int b) { return abs(a) + b * 3; }\n"
	"__attribute__((noinline)) int half(int x) { return add(x, 1) / 2; }\n"
	"int other(int x) { int s = 0; for (int i = 0; i < x; i++) s += half(i) + add(s, i);\n"
	"return s; }\n";

static int setup(void **state)
{
	int err = fixture_setup(state);

	if (err)
		return err;
	write_text(*state, "a.c", program);
	write_text(*state, "b.c", other);
	return 0;
}

/* Adds frames for addresses all over .text, a few bytes apart. */
static size_t frames_of(struct profile *p, const char *dir, const char *name, uint32_t **ret_frames)
{
	char *path = xasprintf("%s/%s", dir, name);
	FILE *out = output_of("readelf -SW '%s' | sed -n 's/.* \\.text  *PROGBITS  *[0-9a-f]* //p'",
			      path);
	uint32_t module = file_module(p, path), *frames = NULL;
	unsigned long offset, size;
	size_t nr = 0, capacity = 0;

	assert_int_equal(fscanf(out, "%lx %lx", &offset, &size), 2);
	pclose(out);
	for (unsigned long at = 0; at < size; at += 3) {
		frames = xgrow(frames, &capacity, nr + 1, sizeof(*frames));
		frames[nr++] = profile_frame(p, module, offset + at);
	}
	free(path);
	*ret_frames = frames;
	return nr;
}

static const char *file_of(const struct profile *p, uint32_t frame, uint32_t location)
{
	const struct profile_location *l =
		&p->locations[p->frames[frame].first_location + location];

	return profile_str(p, p->functions[l->function].file);
}

/*
 * Returns whether a frame is named by its address; its file is named differently in the other
 * program.
 */
static bool is_address(const struct profile *p, uint32_t frame)
{
	const struct profile_frame *f = &p->frames[frame];

	return f->nr_locations == 1 &&
	       p->functions[p->locations[f->first_location].function].kind == FUNCTION_UNKNOWN;
}

/*
 * Returns how many frames of the two files differ; *ret_inlined: frames with inlined functions in
 * the second file.
 */
static size_t differences(const char *dir, const char *whole, const char *split,
			  size_t *ret_inlined)
{
	struct profile *p = profile_new();
	struct symbolizer_stats stats;
	uint32_t *a, *b;
	size_t nr = frames_of(p, dir, whole, &a), differ = 0, inlined = 0;

	assert_int_equal(frames_of(p, dir, split, &b), nr);
	symbolizer_run(p, NULL, &stats);
	for (size_t i = 0; i < nr; i++) {
		char *want = xstrdup(frame_lines(p, a[i]));
		uint32_t nr_locations = p->frames[b[i]].nr_locations;
		bool same = !strcmp(want, frame_lines(p, b[i]));

		for (uint32_t l = 0; same && l < nr_locations; l++)
			same = !strcmp(file_of(p, a[i], l), file_of(p, b[i], l));
		inlined += nr_locations > 1;
		differ += !same && !(is_address(p, a[i]) && is_address(p, b[i]));
		free(want);
	}
	free(a);
	free(b);
	profile_free(p);
	*ret_inlined = inlined;
	return differ;
}

/* `package`: a command that collects the .dwo files, which are then removed; or NULL. */
static void check_split(const char *dir, const char *compile, const char *package)
{
	size_t inlined;

	shell("cd '%s' && rm -f *.dwo *.dwp && %s -o whole a.c b.c && %s -gsplit-dwarf -o split "
	      "a.c b.c && ls *.dwo >/dev/null",
	      dir, compile, compile);
	if (package)
		shell("cd '%s' && %s -e split -o split.dwp && rm -f *.dwo", dir, package);
	assert_int_equal(differences(dir, "whole", "split", &inlined), 0);
	assert_true(inlined > 20);
}

static void dwo_files_give_the_same_frames(void **state)
{
	check_split(*state, "gcc -O2 -gdwarf-5", NULL);
	check_split(*state, "gcc -O2 -gdwarf-4", NULL);
	check_split(*state, "gcc -O2 -gdwarf-5 -gdwarf64", NULL);
	check_split(*state, "gcc -O2 -gdwarf-5 -fdebug-types-section", NULL);
	check_split(*state, "gcc -O2 -gdwarf-4 -fdebug-types-section", NULL);
	check_split(*state, "gcc -O2 -gdwarf-5 -gz", NULL);
	if (!is_installed("clang"))
		skip();
	check_split(*state, "clang -O2 -gdwarf-5", NULL);
	check_split(*state, "clang -O2 -gdwarf-4", NULL);
}

static void packages_give_the_same_frames(void **state)
{
	if (is_installed("dwp"))
		check_split(*state, "gcc -O2 -gdwarf-4", "dwp");
	if (!is_installed("llvm-dwp"))
		skip();
	check_split(*state, "gcc -O2 -gdwarf-5", "llvm-dwp");
	check_split(*state, "gcc -O2 -gdwarf-4", "llvm-dwp");
	check_split(*state, "gcc -O2 -gdwarf-5 -fdebug-types-section", "llvm-dwp");
	if (is_installed("clang"))
		check_split(*state, "clang -O2 -gdwarf-5", "llvm-dwp");
}

static void dwo_of_another_build_is_refused(void **state)
{
	const char *dir = *state;
	size_t inlined;

	shell("cd '%s' && gcc -O2 -g -gsplit-dwarf -o split a.c b.c && cp split old && "
	      "gcc -O1 -g -DX -gsplit-dwarf -o split a.c b.c",
	      dir);
	differences(dir, "old", "old", &inlined);
	assert_int_equal(inlined, 0);
}

static void dwo_beside_a_moved_program_is_found(void **state)
{
	const char *dir = *state;
	size_t inlined;

	shell("cd '%s' && mkdir build && cd build && gcc -O2 -g -gsplit-dwarf -o split ../a.c "
	      "../b.c && gcc -O2 -g -o ../whole ../a.c ../b.c && cd .. && mv build moved && "
	      "mv moved/* .",
	      dir);
	differences(dir, "whole", "split", &inlined);
	assert_true(inlined > 20);
}

/* dwz moves what two files share to a third file, to which both refer. */
static void dwz_gives_the_same_frames(void **state)
{
	const char *dir = *state;
	size_t inlined;

	if (!is_installed("dwz"))
		skip();
	shell("cd '%s' && g++ -O2 -g -x c++ -o whole a.c b.c && cp whole alone && dwz alone && "
	      "cp whole one && cp whole two && dwz -m common one two && "
	      "readelf -SW one | grep -q gnu_debugaltlink",
	      dir);
	assert_int_equal(differences(dir, "whole", "alone", &inlined), 0);
	assert_int_equal(differences(dir, "whole", "one", &inlined), 0);
	assert_true(inlined > 20);
	/* Without the shared file the names are gone, and nothing else. */
	shell("cd '%s' && rm common", dir);
	assert_true(differences(dir, "whole", "two", &inlined) > 0);
}

static void type_units_do_not_disturb(void **state)
{
	const char *dir = *state;
	size_t inlined;

	for (int version = 4; version <= 5; version++) {
		shell("cd '%s' && g++ -O2 -gdwarf-%d -x c++ -o whole a.c b.c && "
		      "g++ -O2 -gdwarf-%d -fdebug-types-section -x c++ -o types a.c b.c",
		      dir, version, version);
		assert_int_equal(differences(dir, "whole", "types", &inlined), 0);
		assert_true(inlined > 20);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(dwo_files_give_the_same_frames, setup,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(packages_give_the_same_frames, setup,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(dwo_of_another_build_is_refused, setup,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(dwo_beside_a_moved_program_is_found, setup,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(dwz_gives_the_same_frames, setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(type_units_do_not_disturb, setup, fixture_teardown),
	};

	log_set_level(LOG_QUIET);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
