/*
 * symbolizer/function_names.c: functions found by name, in programs made with the assembler and
 * objcopy.
 */
#include "tests/unit/symbol_fixture.h"

#include "symbolizer/function_names.h"

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

static int make_program(void **state)
{
	char *source;
	FILE *f;

	if (fixture_setup(state))
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
	return fixture_teardown(state);
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

	assert_int_equal(function_names_find(fd, 0, program, (const char *const[]){ "plain" }, 1,
					     &plain, &nr_plain),
			 0);
	assert_int_equal(nr_plain, 1);
	assert_int_equal(function_names_find(fd, 0, program, globs, nr_globs, &f, &nr), 0);
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
	assert_true(function_names_find(fd, 0, "x", (const char *const[]){ "a" }, 1, &f, &nr) < 0);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_and_globs),
		cmocka_unit_test(a_probe_is_put_on_the_push_behind_an_endbr64),
		cmocka_unit_test(stripped_files_have_the_names_that_the_linker_needs),
		cmocka_unit_test(what_is_no_elf_file_is_refused),
	};

	return cmocka_run_group_tests(tests, make_program, remove_program);
}
