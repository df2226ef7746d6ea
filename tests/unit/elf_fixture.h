/*
 * What tests of symbols in ELF files share: a small program, compiled with flags of the test's, and
 * the functions with lines that the symbolizer finds at an offset of it.
 */
#ifndef SPROF_TESTS_ELF_FIXTURE_H
#define SPROF_TESTS_ELF_FIXTURE_H

#include "tests/unit/symbol_fixture.h"

#include <inttypes.h>

static inline char *in_dir(void **state, const char *name)
{
	return xasprintf("%s/%s", (char *)*state, name);
}

/*
 * Returns the functions at a file offset, with lines, to free(); "" where there is only an address.
 */
static inline char *lines_at(const char *path, uint64_t offset, const char *debug_dir)
{
	const struct symbolizer_opts opts = { .debug_dir = debug_dir ? debug_dir : "/nonexistent" };
	struct profile *p = profile_new();
	struct symbolizer_stats stats;
	char *lines;
	uint32_t frame;

	frame = profile_frame(p, file_module(p, path), offset);
	symbolizer_run(p, &opts, &stats);
	lines = xstrdup(frame_lines(p, frame));
	if (lines[0] && p->functions[0].kind == FUNCTION_UNKNOWN)
		lines[0] = '\0';
	assert_int_equal(stats.nr_unnamed, lines[0] == '\0');
	profile_free(p);
	return lines;
}

static inline void assert_lines(const char *path, uint64_t offset, const char *debug_dir,
				const char *want)
{
	char *lines = lines_at(path, offset, debug_dir);

	assert_string_equal(lines, want);
	free(lines);
}

static const char program[] = "#include <stdio.h>\n"
			      "#include <string.h>\n"
			      "static int __attribute__((noipa)) inner(int x)\n"
			      "{\n"
			      "	return x + 1;\n"
			      "}\n"
			      "int __attribute__((noipa)) exported(int x)\n"
			      "{\n"
			      "	return inner(x) * 2;\n"
			      "}\n"
			      "int main(int argc, char **argv)\n"
			      "{\n"
			      "	puts(argv[0]);\n"
			      "	return exported(argc) + (int)strlen(argv[argc - 1]);\n"
			      "}\n";

/* Compiles the program as DIR/a with these flags; returns its path, to be freed. */
static inline char *compiled(void **state, const char *flags)
{
	char *source = in_dir(state, "a.c"), *path = in_dir(state, "a");
	FILE *file = fopen(source, "w");

	fputs(program, file);
	fclose(file);
	shell("gcc -g -O2 -rdynamic -fno-builtin %s -o '%s' '%s'", flags, path, source);
	free(source);
	return path;
}

#endif
