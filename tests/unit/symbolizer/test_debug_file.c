/*
 * symbolizer/lookup/debug_file.c: separate debug files are found in the places that distributions
 * use, in the root of the target, and nothing but a regular file is opened there.
 */
#include "tests/unit/elf_fixture.h"
#include "tests/unit/open_watch.h"

static void debug_file_is_found_by_build_id(void **state)
{
	char *path = compiled(state, "-Wl,--build-id=0x0123456789abcdef");
	uint64_t inner = symbol_offset(path, "inner");

	shell("cd '%s' && mkdir -p .build-id/01 && "
	      "objcopy --only-keep-debug a .build-id/01/23456789abcdef.debug && strip a",
	      (char *)*state);
	assert_lines(path, inner, NULL, "");
	assert_lines(path, inner, *state, "inner:5");
	/* A file of another build in that place is ignored. */
	shell("cd '%s' && gcc -g -O2 -Wl,--build-id=0x01ff -o other a.c && "
	      "cp other .build-id/01/23456789abcdef.debug",
	      (char *)*state);
	assert_lines(path, inner, *state, "");
	free(path);
}

static void debug_file_is_found_by_link(void **state)
{
	static const char *const places[] = { "a.debug", ".debug/a.debug", "D%s/a.debug" };
	char *path = compiled(state, "-Wl,--build-id=none");
	char *dir = *state, *debug_dir = in_dir(state, "D");
	uint64_t inner = symbol_offset(path, "inner");

	shell("cd '%s' && mkdir -p .debug 'D%s' && objcopy --only-keep-debug a x && mv x a.debug "
	      "&& strip a && objcopy --add-gnu-debuglink=a.debug a && mv a.debug x",
	      dir, dir);
	assert_lines(path, inner, debug_dir, "");
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		char *place = i < 2 ? xstrdup(places[i]) : xasprintf("D%s/a.debug", dir);

		shell("cd '%s' && cp x '%s'", dir, place);
		assert_lines(path, inner, debug_dir, "inner:5");
		/* Its checksum must be that in the link. */
		shell("cd '%s' && echo >>'%s'", dir, place);
		assert_lines(path, inner, debug_dir, "");
		shell("cd '%s' && rm '%s'", dir, place);
		free(place);
	}
	free(debug_dir);
	free(path);
}

/* Names a binary for its debug file by a section, and returns whether the FIFO there was opened. */
static bool opens_fifo_of(void **state, const char *path, const char *section, const char *fifo)
{
	uint64_t inner = symbol_offset(path, "inner");
	char *copy = in_dir(state, "copy"), *at = in_dir(state, fifo);
	int watch = open_watch_fifo(at);
	bool opened;

	shell("cd '%s' && objcopy --add-section %s=name a copy", (char *)*state, section);
	assert_lines(copy, inner, NULL, "inner:5");
	opened = open_watch_end(watch, at);
	free(copy);
	free(at);
	return opened;
}

static void what_is_no_regular_file_is_not_opened_as_debug_file(void **state)
{
	char *path = compiled(state, ""), *link = in_dir(state, "fifo");
	uint64_t inner = symbol_offset(path, "inner");
	int watch;

	/* dwz: a name, its NUL and a build-id. */
	shell("cd '%s' && printf 'fifo\\000%%020d' 7 >name", (char *)*state);
	assert_false(opens_fifo_of(state, path, ".gnu_debugaltlink", "fifo"));
	/* A package of split DWARF lies beside the program. */
	assert_false(opens_fifo_of(state, path, ".other", "copy.dwp"));
	shell("cd '%s' && echo >fifo && strip a && objcopy --add-gnu-debuglink=fifo a && rm fifo",
	      (char *)*state);
	watch = open_watch_fifo(link);
	assert_lines(path, inner, NULL, "");
	assert_false(open_watch_end(watch, link));
	free(link);
	free(path);
}

/* The module was mapped in another root, where the same path is another directory. */
static int open_other_root(void *context, uint32_t module, size_t *ret_prefix)
{
	(void)module;
	*ret_prefix = strlen("/x");
	return context ? open(context, O_PATH | O_CLOEXEC) : -ESRCH;
}

static int open_program(void *context, uint32_t module)
{
	(void)context, (void)module;
	return open("program", O_RDONLY | O_CLOEXEC);
}

/* The line of `inner` in the file "program", which was /x/program in ours and /program in that root; 0 = has none. */
static uint32_t line_in_root(const char *root, uint64_t inner)
{
	const struct symbolizer_opts opts = {
		.open_module = open_program,
		.open_root = open_other_root,
		.context = (void *)root,
		.debug_dir = "/nonexistent",
	};
	struct profile_module module = { .kind = MODULE_ELF };
	struct profile *p = profile_new();
	struct symbolizer_stats stats;
	uint32_t frame, line;

	module.path = profile_cstring(p, "/x/program");
	frame = profile_frame(p, profile_module(p, &module), inner);
	symbolizer_run(p, &opts, &stats);
	line = p->frames[frame].nr_locations ? p->locations[p->frames[frame].first_location].line
					     : 0;
	profile_free(p);
	return line;
}

static void debug_files_are_looked_up_in_the_root_of_the_target(void **state)
{
	char *path = compiled(state, ""), *root = in_dir(state, "root");
	uint64_t inner = symbol_offset(path, "inner");
	int before = open(".", O_PATH | O_CLOEXEC);

	shell("cd '%s' && mkdir -p root/debug root/.debug && objcopy --only-keep-debug a p.debug "
	      "&& objcopy -S --add-gnu-debuglink=p.debug a program",
	      (char *)*state);
	assert_int_equal(chdir(*state), 0);
	assert_int_equal(line_in_root(root, inner), 0);
	/* An absolute link means the target's root, and one that leads upwards ends there. */
	shell("cd root && cp ../p.debug debug/file && ln -s /debug/file p.debug");
	assert_int_equal(line_in_root(root, inner), 5);
	shell("ln -sf ../../../../debug/file root/p.debug");
	assert_int_equal(line_in_root(root, inner), 5);
	/* One that leads out of it finds nothing, and without a root nothing is looked for. */
	shell("ln -sf '%s/p.debug' root/p.debug", (char *)*state);
	assert_int_equal(line_in_root(root, inner), 0);
	shell("cp p.debug root/.debug");
	assert_int_equal(line_in_root(root, inner), 5);
	assert_int_equal(line_in_root(NULL, inner), 0);
	assert_int_equal(fchdir(before), 0);
	close(before);
	free(root);
	free(path);
}

int main(void)
{
#define IN_DIR(test) cmocka_unit_test_setup_teardown(test, fixture_setup, fixture_teardown)
	const struct CMUnitTest tests[] = {
		IN_DIR(debug_file_is_found_by_build_id),
		IN_DIR(debug_file_is_found_by_link),
		IN_DIR(what_is_no_regular_file_is_not_opened_as_debug_file),
		IN_DIR(debug_files_are_looked_up_in_the_root_of_the_target),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
