/*
 * Rules from .debug_frame: they are those that .eh_frame gives for the same code, and they are used
 * only where .eh_frame has none.
 */
#include "tests/unit/unit.h"
#include "tests/unit/cfi_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "sampler/unwind/debug_frame.h"
#include "sampler/unwind/rule_set.h"
#include "sampler/unwind/unwind_table.h"

#define USUAL_CIE 0x0c, 7, 8, 0x90, 1

static const char source[] = "int leaf(int x) { return x * 3; }\n"
			     "int sum(volatile int *of, int nr) {\n"
			     "	volatile int copy[200]; int all = 0;\n"
			     "	for (int i = 0; i < nr; i++) copy[i % 200] = of[i];\n"
			     "	for (int i = 0; i < 200; i++) all += copy[i];\n"
			     "	return all; }\n"
			     "int on_stack(int nr) {\n"
			     "	volatile int *room = __builtin_alloca(nr * 4);\n"
			     "	for (int i = 0; i < nr; i++) room[i] = leaf(i);\n"
			     "	return sum(room, nr) + on_stack(nr / 2); }\n"
			     "int _start(int a, int b) {\n"
			     "	if (a > b) return on_stack(a) + sum(&b, 1);\n"
			     "	__builtin_trap(); }\n"
			     "#ifdef GO\n"
			     "asm(\".pushsection .gopclntab, \\\"a\\\"; .long 1; .popsection\");\n"
			     "#endif\n";

static int set_up_folder(void **state)
{
	char *folder = xstrdup("/tmp/sprof-debug-frame-XXXXXX"), *path;
	FILE *file;

	if (!mkdtemp(folder))
		return -1;
	path = xasprintf("%s/a.c", folder);
	file = fopen(path, "w");
	fputs(source, file);
	fclose(file);
	free(path);
	*state = folder;
	return 0;
}

/* Runs a command in the test's folder. */
static void in_folder(void **state, const char *command)
{
	char *line = xasprintf("cd '%s' && %s", (char *)*state, command);

	if (system(line))
		fail_msg("failed: %s", line);
	free(line);
}

static int tear_down_folder(void **state)
{
	in_folder(state, "rm -rf \"$PWD\"");
	free(*state);
	return 0;
}

static int open_file(void **state, const char *name)
{
	char *path = xasprintf("%s/%s", (char *)*state, name);
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	free(path);
	return fd;
}

static struct unwind_table *table_of(void **state, const char *name, struct rule_set *rules)
{
	int fd = open_file(state, name);
	struct unwind_table *table;

	assert_int_equal(unwind_table_build(fd, NULL, rules, &table), 0);
	close(fd);
	return table;
}

/* Do both files have the same rules, none of them derived, at every byte? */
static void expect_same_rules(void **state, const char *name, const char *other)
{
	struct rule_set *rules = rule_set_new();
	struct unwind_table *a = table_of(state, name, rules), *b = table_of(state, other, rules);
	unsigned int nr_by_fp = 0, nr;

	assert_int_equal(a->nr_derived_functions, 0);
	assert_int_equal(b->nr_derived_functions, 0);
	assert_in_range(a->nr_fdes, 4, 5); /* gcc puts the trap into a function of its own */
	assert_int_equal(a->nr_fdes, b->nr_fdes);
	assert_int_equal(a->base, b->base);
	assert_int_equal(a->nr_pages, b->nr_pages);
	for (uint64_t at = a->base; at < a->base + a->nr_pages * 1024ul; at++) {
		uint32_t number = unwind_table_find(a, at);

		assert_int_equal(number, unwind_table_find(b, at));
		nr_by_fp += rule_set_rules(rules, &nr)[number].cfa == WALK_CFA_FP;
	}
	assert_in_range(nr_by_fp, 20, 10000);
	unwind_table_free(a);
	unwind_table_free(b);
	rule_set_free(rules);
}

/* -no-pie and a fixed address: the text is the same with and without the other sections. */
#define BUILD                                                                                      \
	"cc -g -O2 -Wno-unused-command-line-argument -ffreestanding -nostdlib -static -no-pie "    \
	"-Wl,-Ttext=0x410000 "
#define NO_EH_FRAME " -fno-asynchronous-unwind-tables -fno-unwind-tables -fno-exceptions "

static void its_rules_are_those_of_eh_frame(void **state)
{
	static const char *const compilers[] = {
		"gcc",
		"gcc -gdwarf-4",
		"gcc -gz",
		"clang",
	};

	for (size_t i = 0; i < sizeof(compilers) / sizeof(*compilers); i++) {
		char *build = xasprintf("CC='%s'; cc() { $CC \"$@\"; }; " BUILD
					" -o with a.c && " BUILD NO_EH_FRAME "-o without a.c && "
					"! readelf -SW without | grep -q '[.]eh_frame'",
					compilers[i]);

		in_folder(state, build);
		expect_same_rules(state, "with", "without");
		free(build);
	}
}

/* The linker of Go writes what is wrong in assembly that switches stacks. */
static void that_of_go_is_not_used(void **state)
{
	struct rule_set *rules = rule_set_new();
	struct unwind_table *table;

	in_folder(state, BUILD NO_EH_FRAME "-DGO -o go a.c");
	table = table_of(state, "go", rules);
	assert_int_equal(table->nr_fdes, 0);
	unwind_table_free(table);
	rule_set_free(rules);
}

struct folder_files {
	struct debug_files files;
	void **state;
	unsigned int nr_asked;
};

/* The candidates are the files "0" and "1" of the folder. */
static int open_in_folder(struct debug_files *files, const struct debug_names *names,
			  unsigned int candidate)
{
	struct folder_files *f = (struct folder_files *)files;
	char *path = xasprintf("%s/%u", (char *)*f->state, candidate);
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	assert_in_range(names->build_id_size, 0, BUILD_ID_MAX);
	f->nr_asked++;
	free(path);
	return candidate >= 2 ? -ENODATA : fd < 0 ? -ENOENT : fd;
}

/* The number of FDEs that are found for the file "stripped". */
static unsigned int nr_fdes(void **state, unsigned int *ret_nr_asked)
{
	struct folder_files f = { { open_in_folder }, state, 0 };
	struct rule_set *rules = rule_set_new();
	int fd = open_file(state, "stripped");
	struct unwind_table *table;
	unsigned int nr;

	assert_int_equal(unwind_table_build(fd, &f.files, rules, &table), 0);
	nr = table->nr_fdes;
	*ret_nr_asked = f.nr_asked;
	unwind_table_free(table);
	rule_set_free(rules);
	close(fd);
	return nr;
}

static void the_debug_file_with_the_build_id_is_used(void **state)
{
	unsigned int nr_asked;

	in_folder(state,
		  BUILD NO_EH_FRAME "-Wl,--build-id=0x1234 -o a a.c && "
				    "objcopy --only-keep-debug --compress-debug-sections a 1 && "
				    "strip -g -o stripped a && " BUILD NO_EH_FRAME
				    "-Wl,--build-id=0x1235 -o other a.c && "
				    "objcopy --only-keep-debug other 0");
	assert_in_range(nr_fdes(state, &nr_asked), 4, 5);
	assert_int_equal(nr_asked, 2); /* the first is another file's */
	in_folder(state, "rm 1");
	assert_int_equal(nr_fdes(state, &nr_asked), 0);
	in_folder(state, BUILD "-Wl,--build-id=0x1236 -o stripped a.c");
	assert_in_range(nr_fdes(state, &nr_asked), 4, 5);
	assert_int_equal(nr_asked, 0); /* .eh_frame describes all of it */
}

static void without_build_id_the_checksum_decides(void **state)
{
	unsigned int nr_asked;

	in_folder(state, BUILD NO_EH_FRAME "-Wl,--build-id=none -o a a.c && "
					   "objcopy --only-keep-debug a 1 && "
					   "objcopy -g --add-gnu-debuglink=1 a stripped");
	assert_in_range(nr_fdes(state, &nr_asked), 4, 5);
	in_folder(state, "echo >>1");
	assert_int_equal(nr_fdes(state, &nr_asked), 0);
	in_folder(state, "objcopy -g a stripped"); /* without any name */
	assert_int_equal(nr_fdes(state, &nr_asked), 0);
	assert_int_equal(nr_asked, 0);
}

/* The offset of the CFA from rsp at a place in the text, -1 where no such rule is. */
static int offset_at(const struct fixture *f, uint64_t text_offset)
{
	uint32_t nr, number = unwind_table_find(f->table, MAKER_TEXT + text_offset);
	struct walk_rule rule = rule_set_rules(f->rules, &nr)[number];

	return rule.cfa == WALK_CFA_SP ? rule.cfa_off : -1;
}

static void eh_frame_comes_first(void **state)
{
	struct fixture *f = *state;

	maker_cie(&f->maker, BYTES(USUAL_CIE));
	maker_fde(&f->maker, 0x100, 0x100, BYTES(0x0e, 24));
	maker_begin_debug_frame(&f->maker);
	maker_cie(&f->maker, BYTES(USUAL_CIE));
	maker_fde(&f->maker, 0x80, 0x80, BYTES(0x0e, 32));   /* before it */
	maker_fde(&f->maker, 0x100, 0x100, BYTES(0x0e, 48)); /* the same */
	maker_fde(&f->maker, 0x180, 0x100, BYTES(0x0e, 56)); /* its second half, and more */
	maker_fde(&f->maker, 0x200, 0x40, BYTES(0x0e, 40));  /* behind it */
	maker_fde(&f->maker, 0x240, 0, BYTES(0x0e, 64));     /* empty */
	maker_fde(&f->maker, 0x9000, 0x10, BYTES(0x0e, 64)); /* not in the text */
	assert_int_equal(build(f), 0);
	assert_int_equal(offset_at(f, 0x90), 32);
	assert_int_equal(offset_at(f, 0x100), 24);
	assert_int_equal(offset_at(f, 0x1ff), 24);
	assert_int_equal(offset_at(f, 0x200), 40);
	assert_int_equal(offset_at(f, 0x240), -1);
}

static void put_wide_entry(struct cfi_maker *m, uint64_t id, const uint8_t *rest, size_t size)
{
	maker_put_number(m, 0xffffffff, 4);
	maker_put_number(m, 8 + size, 8);
	maker_put_number(m, id, 8);
	maker_put(m, rest, size);
}

static void entries_of_64_bit_dwarf_and_version_4_are_read(void **state)
{
	struct fixture *f = *state;
	struct cfi_maker *m = &f->maker;
	const uint64_t range[2] = { MAKER_TEXT + 0x100, 0x100 };

	maker_begin_debug_frame(m);
	/* version 4, no augmentation, addresses of 8 bytes, no segments */
	put_wide_entry(m, UINT64_MAX, BYTES(4, 0, 8, 0, 1, 0x78, 16, USUAL_CIE));
	put_wide_entry(m, 0, (const uint8_t *)range, sizeof(range));
	/* addresses of 4 bytes */
	put_wide_entry(m, UINT64_MAX, BYTES(4, 0, 4, 0, 1, 0x78, 16, USUAL_CIE));
	/* a CIE beyond the section */
	put_wide_entry(m, UINT64_MAX - 1, (const uint8_t *)range, sizeof(range));
	assert_int_equal(build(f), 0);
	assert_int_equal(f->table->nr_fdes, 1);
	assert_int_equal(f->table->nr_broken_fdes, 2);
	assert_int_equal(offset_at(f, 0x100), 8);
}

static void sizes_that_cannot_be_are_refused(void **state)
{
	struct fixture *f = *state;
	Elf64_Shdr *section = (Elf64_Shdr *)(f->maker.image + 0x6100) + 3;
	size_t size;

	maker_begin_debug_frame(&f->maker);
	maker_cie(&f->maker, BYTES(USUAL_CIE));
	maker_fde(&f->maker, 0x100, 0x100, BYTES(0x0e, 24));
	maker_put_number(&f->maker, 0xfffffff0, 4); /* the length of an entry */
	assert_int_equal(build(f), 0);
	assert_int_equal(offset_at(f, 0x100), 24);
	assert_int_equal(f->table->nr_broken_fdes, 1);
	size = maker_finish(&f->maker);
	unwind_table_free(f->table);
	f->table = NULL;
	section->sh_size = 1ull << 40;
	assert_int_equal(unwind_table_build_memory(f->maker.image, size, f->rules, &f->table),
			 -ENODATA);
	section->sh_size = 64;
	section->sh_flags = SHF_COMPRESSED; /* the CIE is taken for a header */
	assert_int_equal(unwind_table_build_memory(f->maker.image, size, f->rules, &f->table),
			 -ENODATA);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
#define TEST_OF_FILES(name) cmocka_unit_test_setup_teardown(name, set_up_folder, tear_down_folder)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_OF_FILES(its_rules_are_those_of_eh_frame),
		TEST_OF_FILES(that_of_go_is_not_used),
		TEST_OF_FILES(the_debug_file_with_the_build_id_is_used),
		TEST_OF_FILES(without_build_id_the_checksum_decides),
		TEST(eh_frame_comes_first),
		TEST(entries_of_64_bit_dwarf_and_version_4_are_read),
		TEST(sizes_that_cannot_be_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
