/*
 * Derived rules against the CFI that compilers wrote: of files that are treated as if they had no
 * CFI and no symbols but those of .dynsym, rules are derived as for any other file. Both must agree
 * at every instruction.
 */
#include "tests/unit/unit.h"

#include <elf.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sampler/unwind/eh_frame.h"
#include "sampler/unwind/image.h"
#include "sampler/unwind/unwind_table.h"
#include "sampler/unwind/x86_64/instruction.h"

struct judged {
	const struct walk_rule *rules;
	const struct unwind_table *truth, *derived;
	size_t size; /* of the file */
	unsigned int nr, nr_different, nr_places;
};

/*
 * Compares the CFA where both use the same register, and where rbp is saved if both know. Some CFI
 * of hand-written assembly is wrong: at a ret the CFA must be rsp + 8, and CFI with a CFA in memory
 * does not mention rbp although the code saves it.
 */
static void judge(struct judged *judged, const char *name, uint64_t vaddr, bool ret)
{
	struct walk_rule truth = judged->rules[unwind_table_find(judged->truth, vaddr)];
	struct walk_rule rule = judged->rules[unwind_table_find(judged->derived, vaddr)];

	judged->nr_places++;
	if (rule.cfa != truth.cfa || rule.cfa < WALK_CFA_SP)
		return;
	if (ret && rule.cfa == WALK_CFA_SP && rule.cfa_off == 8)
		return;
	judged->nr++;
	if (rule.cfa == WALK_CFA_SP_DEREF && truth.fp == WALK_FP_SAME)
		truth.fp = rule.fp, truth.fp_off = rule.fp_off;
	if (rule.cfa_off == truth.cfa_off &&
	    (rule.fp != WALK_FP_CFA || (truth.fp == rule.fp && truth.fp_off == rule.fp_off)))
		return;
	judged->nr_different++;
	if (judged->nr_different < 20 || getenv("ALL_DIFFERENCES"))
		print_message("%s %lx: cfa %d %d, fp %d %d; code says %d %d, %d %d\n", name, vaddr,
			      truth.cfa, truth.cfa_off, truth.fp, truth.fp_off, rule.cfa,
			      rule.cfa_off, rule.fp, rule.fp_off);
}

/* At the first byte of each instruction that an FDE covers. */
static void judge_file(struct judged *judged, const char *path, const uint8_t *file)
{
	struct unwind_image image;
	struct eh_frame frame;
	struct eh_reader reader;
	struct eh_fde fde;

	assert_int_equal(unwind_image_open_memory(&image, file, judged->size), 0);
	assert_int_equal(unwind_image_load_eh_frame(&image, &frame), 0);
	eh_reader_init(&reader, &frame);
	while (eh_reader_next(&reader, &fde)) {
		const struct unwind_segment *segment = unwind_image_segment(&image, fde.start);
		uint64_t left;

		if (!segment || !segment->executable)
			continue;
		left = segment->size - (fde.start - segment->vaddr);
		left = fde.length < left ? fde.length : left;
		for (uint64_t at = 0; at < left;) {
			const uint8_t *code = file + segment->offset + (fde.start - segment->vaddr);
			struct instruction in = instruction_decode(code + at, left - at);

			judge(judged, path, fde.start + at, in.kind == INSTRUCTION_RET);
			at += in.length ? in.length : 1;
		}
	}
	eh_reader_fini(&reader);
	free((void *)frame.data);
	unwind_image_close(&image);
}

/* Makes an ELF file look as if it had no .eh_frame, and without .symtab if it is to be stripped. */
static void hide_cfi(uint8_t *file, bool stripped)
{
	Elf64_Ehdr *header = (Elf64_Ehdr *)file;
	Elf64_Phdr *segments = (Elf64_Phdr *)(file + header->e_phoff);
	Elf64_Shdr *sections = (Elf64_Shdr *)(file + header->e_shoff);
	const char *names = (char *)file + sections[header->e_shstrndx].sh_offset;

	for (unsigned int i = 0; i < header->e_phnum; i++) {
		if (segments[i].p_type == PT_GNU_EH_FRAME)
			segments[i].p_type = PT_NULL;
	}
	for (unsigned int i = 0; i < header->e_shnum; i++) {
		if (!strcmp(names + sections[i].sh_name, ".eh_frame") ||
		    (stripped && sections[i].sh_type == SHT_SYMTAB))
			sections[i].sh_type = SHT_NOTE;
	}
}

/* Derives rules for all code of a file as if it had no CFI, then compares with its CFI. */
static void derive_and_judge(const char *path, struct judged *all)
{
	struct judged judged = { 0 };
	struct rule_set *set = rule_set_new();
	struct unwind_table *truth, *derived;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	uint8_t *file;
	uint32_t nr;

	if (fd < 0 || fstat(fd, &st))
		return;
	judged.size = (size_t)st.st_size;
	file = malloc(judged.size);
	assert_int_equal(pread(fd, file, judged.size, 0), st.st_size);
	assert_int_equal(unwind_table_build_memory(file, judged.size, set, &truth), 0);
	hide_cfi(file, true);
	assert_int_equal(unwind_table_build_memory(file, judged.size, set, &derived), 0);
	assert_int_equal(derived->nr_fdes, 0);
	assert_int_equal(pread(fd, file, judged.size, 0), st.st_size);
	judged.truth = truth;
	judged.derived = derived;
	judged.rules = rule_set_rules(set, &nr);
	judge_file(&judged, path, file);
	print_message("%s: %u of %u places judged, %u different, %u functions\n", path, judged.nr,
		      judged.nr_places, judged.nr_different, derived->nr_derived_functions);
	all->nr += judged.nr;
	all->nr_different += judged.nr_different;
	unwind_table_free(truth);
	unwind_table_free(derived);
	rule_set_free(set);
	free(file);
	close(fd);
}

/* Derived rules and CFI may differ at one of so many places, because some CFI is wrong. */
static void judge_all(const char *const *files, size_t nr, uint64_t places_per_difference)
{
	struct judged judged = { 0 };

	for (size_t i = 0; i < nr; i++)
		derive_and_judge(files[i], &judged);
	assert_true(judged.nr > 2000);
	assert_true(judged.nr_different * places_per_difference <= judged.nr);
}

/*
 * A function of libcrypto (ChaCha20_ssse3) forgets in its CFI to say what it takes from rsp, at two
 * instructions.
 */
static void code_says_what_the_cfi_of_compilers_says(void **state)
{
	static const char *const files[] = {
		"/proc/self/exe",
		"/usr/lib/x86_64-linux-gnu/libgmp.so.10",
		"/usr/lib/x86_64-linux-gnu/libcrypto.so.3",
	};

	(void)state;
	judge_all(files, sizeof(files) / sizeof(files[0]), 100000);
}

/*
 * Megabytes of code, for check-all. glibc's __mpn_mul_1 pushes two registers that its CFI does not
 * mention, at 134 places. 33 of 7 million places are in parts for errors of C++ programs, behind
 * calls of imported functions that never return.
 */
static void code_of_large_libraries_says_what_their_cfi_says(void **state)
{
	static const char *const files[] = {
		"/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
		"/usr/bin/perl",
		"/usr/bin/python3.11",
		"/usr/lib/x86_64-linux-gnu/libpython3.11.so.1.0",
		"/usr/bin/gdb",
		"/usr/lib/gcc/x86_64-linux-gnu/12/cc1",
		"/usr/lib/x86_64-linux-gnu/libc.so.6",
	};

	(void)state;
	only_in_check_all();
	judge_all(files, sizeof(files) / sizeof(files[0]), 40000);
}

#define TEST(name) cmocka_unit_test(name)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(code_says_what_the_cfi_of_compilers_says),
		TEST(code_of_large_libraries_says_what_their_cfi_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
