/*
 * symbolizer/function_names.c: functions found by name, in programs made with the assembler and
 * objcopy.
 */
#include "tests/unit/symbol_fixture.h"
#include "tests/unit/child.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>

#include "core/sandbox/sandbox.h"
#include "symbolizer/confined_functions.h"

static const char assembly[] =
	"	.text\n"
	"	.globl	plain, __plain, cet, resolver, late, _ZN4part5twiceEi, "
	"_ZN4part5twiceEd\n"
	"	.irp	name, plain, __plain, cet, cet_mov, late, _ZN4part5twiceEi, "
	"_ZN4part5twiceEd\n	.type	\\name, @function\n	.endr\n"
	"	.type	resolver, @gnu_indirect_function\n"
	"	.fill	16,1,0x90\n"
	"plain:\n__plain:\n	push	%rbp\n	ret\n	.size	plain, .-plain\n	.size	"
	"__plain, .-plain\n"
	"	.balign	16,0x90\n"
	"cet:\n	endbr64\n	push	%r12\n	ret\n	.size	cet, .-cet\n"
	"	.balign	16,0x90\n"
	"cet_mov:\n	endbr64\n	mov	%rdi,%rax\n	ret\n	.size	cet_mov, "
	".-cet_mov\n"
	"	.balign	16,0x90\n"
	"resolver:\n	ret\n	.size	resolver, .-resolver\n"
	"	.balign	16,0x90\n"
	"_ZN4part5twiceEi:\n	ret\n	.size	_ZN4part5twiceEi, .-_ZN4part5twiceEi\n"
	"	.balign	16,0x90\n"
	"_ZN4part5twiceEd:\n	ret\n	.size	_ZN4part5twiceEd, .-_ZN4part5twiceEd\n"
	"label:\n	ret\n"
	"	.data\nlate:\n	.quad	0\n	.size	late, 8\n";

static char *program;
static struct sandbox *sandbox;

static int make_program(void **state)
{
	char *source;
	FILE *f;

	if (fixture_setup(state) || sandbox_new(&sandbox))
		return -1;
	source = xasprintf("%s/names.s", (char *)*state);
	program = xasprintf("%s/names", (char *)*state);
	f = fopen(source, "w");
	assert_non_null(f);
	fputs(assembly, f);
	fclose(f);
	shell("cc -shared -nostdlib -o %s %s", program, source);
	free(source);
	return 0;
}

static int remove_program(void **state)
{
	free(program);
	sandbox_free(sandbox);
	return fixture_teardown(state);
}

static int find_functions(int fd, const char *const *globs, size_t nr_globs,
			  struct named_function **ret_functions, size_t *ret_nr)
{
	struct functions_search *search;
	int err;

	err = functions_search_start(sandbox, fd, 0, program, globs, nr_globs, &search);
	if (err)
		return err;
	do {
		struct pollfd wanted = { functions_search_socket(search), POLLIN, 0 };

		poll(&wanted, 1, 1000);
		err = functions_search_go_on(search, ret_functions, ret_nr);
	} while (err == -EAGAIN);
	functions_search_free(search);
	return err;
}

/*
 * Returns "NAME+DISTANCE ..." of the functions that fit; distances are from the first instruction
 * of plain().
 */
static char *find(const char *const *globs, size_t nr_globs)
{
	struct named_function *plain, *f;
	char *text = xstrdup("");
	size_t nr_plain, nr;
	int fd = open(program, O_RDONLY);

	assert_int_equal(find_functions(fd, (const char *const[]){ "plain" }, 1, &plain, &nr_plain),
			 0);
	assert_int_equal(nr_plain, 1);
	assert_int_equal(find_functions(fd, globs, nr_globs, &f, &nr), 0);
	for (size_t i = 0; i < nr; i++) {
		char *longer = xasprintf("%s%s%s+%d/%zu%s", text, i ? " " : "", f[i].name,
					 (int)(f[i].offset - plain[0].offset), f[i].glob,
					 f[i].is_resolver ? "!" : "");

		free(text);
		text = longer;
	}
	function_names_free(plain, nr_plain);
	function_names_free(f, nr);
	close(fd);
	return text;
}

static void assert_found(const char *glob, const char *want)
{
	char *text = find(&glob, 1);

	assert_string_equal(text, want);
	free(text);
}

/* Behind an endbr64, what is left of the function. */
static void sizes_and_binding(void **state)
{
	static const char *const globs[] = { "cet", "cet_mov" };
	struct named_function *f;
	size_t nr;
	int fd = open(program, O_RDONLY);

	(void)state;
	assert_int_equal(find_functions(fd, globs, 2, &f, &nr), 0);
	assert_int_equal(nr, 2);
	for (size_t i = 0; i < nr; i++) {
		assert_int_equal(f[i].size, f[i].glob ? 8 : 3);
		assert_int_equal(f[i].is_local, f[i].glob == 1);
	}
	function_names_free(f, nr);
	close(fd);
}

static void names_and_globs(void **state)
{
	static const char *const several[] = { "nothing", "ce*", "cet" };
	char *text;

	(void)state;
	assert_found("plain", "plain+0/0");
	assert_found("__plain", "plain+0/0"); /* the name that reports show */
	assert_found("nothing", "");
	assert_found("label", "");
	assert_found("late", ""); /* no code */
	assert_found("part::twice(int)", "part::twice(int)+64/0");
	assert_found("_ZN4part5twiceEd", "part::twice(double)+80/0");
	assert_found("part::twice", "part::twice(int)+64/0 part::twice(double)+80/0");
	assert_found("*twice(?*)", "part::twice(int)+64/0 part::twice(double)+80/0");
	assert_found("resolver", "resolver+48/0!");
	text = find(several, 3);
	assert_string_equal(text, "cet+20/1 cet_mov+32/1");
	free(text);
}

static void a_probe_is_put_on_the_push_behind_an_endbr64(void **state)
{
	(void)state;
	assert_found("cet", "cet+20/0");
	assert_found("cet_mov", "cet_mov+32/0");
}

static void stripped_files_have_the_names_that_the_linker_needs(void **state)
{
	(void)state;
	shell("strip %s", program);
	assert_found("plain", "plain+0/0");
	assert_found("cet_mov", "");
}

static void what_is_no_elf_file_is_refused(void **state)
{
	struct named_function *f;
	size_t nr;
	int fd = open("/proc/self/cmdline", O_RDONLY);

	(void)state;
	assert_true(find_functions(fd, (const char *const[]){ "a" }, 1, &f, &nr) < 0);
	close(fd);
}

static void a_child_that_dies_finds_nothing(void **state)
{
	/* The starter forks no child any more. */
	struct named_function *f;
	int fd = open(program, O_RDONLY);
	pid_t starter = child_of(getpid());
	size_t nr;

	(void)state;
	assert_true(starter > 0);
	assert_int_equal(kill(starter, SIGKILL), 0);
	assert_int_equal(find_functions(fd, (const char *const[]){ "plain" }, 1, &f, &nr), -ECHILD);
	sandbox_free(sandbox);
	assert_int_equal(sandbox_new(&sandbox), 0);
	close(fd);
}

/* One row of an answer: offset, glob, kind, size, size of the name, name. */
static size_t put_row(uint8_t *to, uint64_t offset, uint32_t glob, uint64_t size, const char *name)
{
	uint32_t kind = 0;

	memcpy(to, &offset, 8);
	memcpy(to + 8, &glob, 4);
	memcpy(to + 12, &kind, 4);
	memset(to + 16, 0, 8);
	memcpy(to + 24, &size, 8);
	memcpy(to + 32, name, strlen(name));
	return 32 + strlen(name);
}

static int read_rows(uint64_t first, uint64_t second, uint32_t glob, uint64_t size)
{
	struct named_function *f = NULL;
	uint8_t bytes[128];
	size_t nr = 0, at;
	int err;

	at = put_row(bytes, first, 0, 3, "abc");
	at += put_row(bytes + at, second, glob, size, "de");
	err = functions_answer_read(bytes, at, 2, &f, &nr);
	if (!err)
		function_names_free(f, nr);
	return err;
}

static void nonsense_in_an_answer_is_refused(void **state)
{
	(void)state;
	assert_int_equal(read_rows(1, 2, 1, 2), 0);
	assert_int_equal(read_rows(2, 2, 1, 2), -EBADMSG); /* not rising */
	assert_int_equal(read_rows(1, 2, 2, 2), -EBADMSG); /* no such glob */
	assert_int_equal(read_rows(1, 2, 1, 3), -EBADMSG); /* a name beyond the end */
	assert_int_equal(read_rows(1, 2, 1, 1), -EBADMSG); /* a rest that is no row */
	assert_int_equal(read_rows(1, 2, 1, UINT64_MAX), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_and_globs),
		cmocka_unit_test(sizes_and_binding),
		cmocka_unit_test(a_probe_is_put_on_the_push_behind_an_endbr64),
		cmocka_unit_test(a_child_that_dies_finds_nothing),
		cmocka_unit_test(nonsense_in_an_answer_is_refused),
		cmocka_unit_test(stripped_files_have_the_names_that_the_linker_needs),
		cmocka_unit_test(what_is_no_elf_file_is_refused),
	};

	return cmocka_run_group_tests(tests, make_program, remove_program);
}
