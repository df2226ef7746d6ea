/*
 * The table builder against elfutils on real files: at every row of libdw's CFI reader, both rules
 * are applied to the same random registers and memory and must find the same caller. On files with
 * flipped bits the result must be an error or a well-formed table.
 */
#include "tests/unit/unit.h"
#include "tests/unit/table_form.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/portable/walk.h"
#include "sampler/unwind/unwind_table.h"

#define STACK_BASE 0x7ffd00000000ull

static uint64_t random_state = 88172645463325252ull;

static uint64_t next_random(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

/* Memory without storage: every address contains an aligned address above the stack. */
static uint64_t memory_at(uint64_t address)
{
	return STACK_BASE + 0x20000 + ((address * 0x9e3779b97f4a7c15ull >> 40) & 0x3fff8);
}

static __always_inline int walk_read(void *ctx, __u64 address, __u64 *ret)
{
	(void)ctx;
	*ret = memory_at(address);
	return 0;
}

#include "core/portable/walk_step.h"

/* Evaluates the part of DWARF 5 section 2.5 that libdw returns. false: an unknown operation. */
static bool evaluate(const Dwarf_Op *ops, size_t nr, const struct walk_regs *regs, uint64_t cfa,
		     uint64_t *ret)
{
	uint64_t stack[16] = { 0 };
	size_t top = 0; /* stack[top] is the newest; [0] is not used */

	for (size_t i = 0; i < nr; i++) {
		uint8_t atom = ops[i].atom;

		if (top >= 14)
			return false;
		if (atom == DW_OP_bregx || (atom >= DW_OP_breg0 && atom <= DW_OP_breg31)) {
			uint64_t reg =
				atom == DW_OP_bregx ? ops[i].number : atom - 0ull - DW_OP_breg0;
			uint64_t offset = atom == DW_OP_bregx ? ops[i].number2 : ops[i].number;

			if (reg > 16)
				return false;
			stack[++top] = (reg == 16 ? regs->pc : regs->gpr[reg]) + offset;
		} else if (atom >= DW_OP_lit0 && atom <= DW_OP_lit31) {
			stack[++top] = atom - DW_OP_lit0;
		} else if (atom == DW_OP_call_frame_cfa) {
			stack[++top] = cfa;
		} else if (atom == DW_OP_plus_uconst) {
			stack[top] += ops[i].number;
		} else if (atom == DW_OP_deref) {
			stack[top] = memory_at(stack[top]);
		} else if (top >= 2) {
			uint64_t b = stack[top--], a = stack[top];

			switch (atom) {
			case DW_OP_plus: stack[top] = a + b; break;
			case DW_OP_mul: stack[top] = a * b; break;
			case DW_OP_and: stack[top] = a & b; break;
			case DW_OP_shl: stack[top] = a << (b & 63); break;
			case DW_OP_ge: stack[top] = (int64_t)a >= (int64_t)b; break;
			default: return false;
			}
		} else {
			return false;
		}
	}
	*ret = stack[top];
	return top == 1;
}

/* Where a register of the caller is by libdw: SAVED at an address, or one of these. */
enum place { SAVED, SAME, UNDEFINED, ODD };

static enum place find_register(Dwarf_Frame *frame, int number, const struct walk_regs *regs,
				uint64_t cfa, uint64_t *ret_address)
{
	Dwarf_Op memory[3], *ops;
	size_t nr;

	if (dwarf_frame_register(frame, number, memory, &ops, &nr))
		return ODD;
	if (!nr)
		return ops == memory ? UNDEFINED : SAME;
	if (ops[nr - 1].atom == DW_OP_stack_value || !evaluate(ops, nr, regs, cfa, ret_address))
		return ODD;
	return SAVED;
}

static void randomize(struct walk_regs *regs, uint64_t pc)
{
	memset(regs, 0, sizeof(*regs));
	for (int i = 0; i < WALK_NR_REGS; i++)
		regs->gpr[i] = STACK_BASE + 0x10000 + (next_random() & 0xfff8);
	regs->gpr[WALK_REG_SP] = STACK_BASE + (next_random() & 0xfff8);
	regs->pc = pc;
	regs->sp = regs->gpr[WALK_REG_SP];
	regs->fp = regs->gpr[WALK_REG_FP];
	regs->exact = regs->leaf_regs = 1;
}

struct comparison {
	const char *path;
	unsigned int nr_rows, nr_unsupported, nr_different;
};

/* Compares the caller by libdw's frame with the caller by our rule. */
static bool agree(struct comparison *c, Dwarf_Frame *frame, const struct walk_rule *rule,
		  uint64_t pc)
{
	struct walk_regs regs, start;
	uint64_t cfa, address, fp = 0;
	enum place ra_place, fp_place;
	enum walk_status status;
	bool is_signal;
	Dwarf_Op *ops;
	size_t nr;

	randomize(&start, pc);
	if (rule->cfa == WALK_CFA_SP_INDEX_DEREF) /* an index, not an address */
		start.gpr[rule->cfa_off & (WALK_NR_REGS - 1)] &= 0xff;
	regs = start;
	dwarf_frame_info(frame, NULL, NULL, &is_signal);
	if (is_signal)
		return rule->cfa == WALK_CFA_SIGNAL;
	if (rule->cfa == WALK_CFA_UNSUPPORTED) {
		c->nr_unsupported++;
		return true;
	}
	ra_place = find_register(frame, 16, &start, 0, &address);
	if (ra_place == UNDEFINED)
		return rule->cfa == WALK_CFA_END;
	if (dwarf_frame_cfa(frame, &ops, &nr) || !evaluate(ops, nr, &start, 0, &cfa))
		return false;
	ra_place = find_register(frame, 16, &start, cfa, &address);
	fp_place = find_register(frame, 6, &start, cfa, &fp);
	status = walk_apply(rule, &regs, NULL);
	if (status != WALK_OK || regs.sp != cfa)
		return false;
	if (rule->cfa == WALK_CFA_RA_REG ? ra_place == UNDEFINED
					 : ra_place != SAVED || regs.pc != memory_at(address))
		return false;
	switch (fp_place) {
	case SAVED: return regs.fp == memory_at(fp);
	case SAME: return regs.fp == start.fp;
	case UNDEFINED: return regs.fp == 1;
	default: return false;
	}
}

static void compare_range(struct comparison *c, Dwarf_CFI *cfi, const struct unwind_table *table,
			  const struct walk_rule *rules, uint64_t pc, uint64_t end)
{
	while (pc < end) {
		Dwarf_Frame *frame = NULL;
		Dwarf_Addr row_start, row_end;
		const struct walk_rule *first, *last;

		if (dwarf_cfi_addrframe(cfi, pc, &frame)) {
			pc++;
			continue;
		}
		assert_true(dwarf_frame_info(frame, &row_start, &row_end, NULL) >= 0);
		first = &rules[unwind_table_find(table, pc)];
		last = &rules[unwind_table_find(table, row_end - 1)];
		c->nr_rows++;
		if (!agree(c, frame, first, pc) || first != last) {
			c->nr_different++;
			print_message("%s: 0x%lx: our rule: cfa %u %d, fp %u %d\n", c->path, pc,
				      first->cfa, first->cfa_off, first->fp, first->fp_off);
		}
		free(frame);
		pc = row_end > pc ? row_end : pc + 1;
	}
}

/* Compares every row of every FDE. */
static void compare_file(const char *path, Elf *elf, const struct unwind_table *table,
			 const struct rule_set *set)
{
	struct comparison c = { .path = path };
	Dwarf_CFI *cfi = dwarf_getcfi_elf(elf);
	uint32_t nr_rules;
	const struct walk_rule *rules = rule_set_rules(set, &nr_rules);
	size_t nr_phdrs;

	assert_non_null(cfi);
	assert_int_equal(elf_getphdrnum(elf, &nr_phdrs), 0);
	for (size_t i = 0; i < nr_phdrs; i++) {
		GElf_Phdr phdr;

		assert_non_null(gelf_getphdr(elf, (int)i, &phdr));
		if (phdr.p_type == PT_LOAD && phdr.p_flags & PF_X)
			compare_range(&c, cfi, table, rules, phdr.p_vaddr,
				      phdr.p_vaddr + phdr.p_filesz);
	}
	print_message("%s: %u rows compared, %u unsupported, %u different\n", path, c.nr_rows,
		      c.nr_unsupported, c.nr_different);
	assert_true(c.nr_rows > 0);
	assert_int_equal(c.nr_different, 0);
	assert_true(c.nr_unsupported <= 8); /* longjmp, and libgcc's unwinder into a handler */
	dwarf_cfi_end(cfi);
}

/* false where the file does not exist here. */
static bool compare_path(const char *path)
{
	struct rule_set *set = rule_set_new();
	struct unwind_table *table;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	Elf *elf;

	if (fd < 0) {
		print_message("%s: not here, not compared\n", path);
		rule_set_free(set);
		return false;
	}
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	assert_non_null(elf);
	assert_int_equal(unwind_table_build(fd, NULL, set, &table), 0);
	assert_int_equal(table->nr_broken_fdes, 0);
	compare_file(path, elf, table, set);
	unwind_table_free(table);
	rule_set_free(set);
	elf_end(elf);
	close(fd);
	return true;
}

#define LIB "/lib/x86_64-linux-gnu/"

static void libc_has_the_rows_that_libdw_reads(void **state)
{
	(void)state;
	assert_true(compare_path(LIB "libc.so.6"));
}

static void the_loader_has_the_rows_that_libdw_reads(void **state)
{
	(void)state;
	assert_true(compare_path("/lib64/ld-linux-x86-64.so.2"));
}

static void this_program_has_the_rows_that_libdw_reads(void **state)
{
	(void)state;
	assert_true(compare_path("/proc/self/exe"));
}

static void other_programs_have_the_rows_that_libdw_reads(void **state)
{
	static const char *const paths[] = { LIB "libcrypto.so.3", LIB "libstdc++.so.6",
					     LIB "libgcc_s.so.1",  "/usr/bin/python3.11",
					     "/sbin/ldconfig",	   LIB "libm.so.6" };
	int nr = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++)
		nr += compare_path(paths[i]);
	if (!nr)
		skip();
}

static void the_vdso_in_memory_has_the_rows_that_libdw_reads(void **state)
{
	const Elf64_Ehdr *vdso = (const Elf64_Ehdr *)getauxval(AT_SYSINFO_EHDR);
	struct rule_set *set = rule_set_new();
	struct unwind_table *table;
	size_t size;
	char *copy;
	Elf *elf;

	(void)state;
	if (!vdso)
		skip();
	size = vdso->e_shoff + (size_t)vdso->e_shnum * vdso->e_shentsize;
	copy = malloc(size);
	memcpy(copy, vdso, size);
	assert_int_equal(unwind_table_build_memory(copy, size, set, &table), 0);
	elf = elf_memory(copy, size);
	assert_non_null(elf);
	compare_file("vdso", elf, table, set);
	elf_end(elf);
	unwind_table_free(table);
	rule_set_free(set);
	free(copy);
}

void _init(void); /* the linker's */

static int64_t cfa_of(const struct unwind_table *table, const struct rule_set *set, uint64_t vaddr)
{
	uint32_t nr;
	const struct walk_rule *rule = &rule_set_rules(set, &nr)[unwind_table_find(table, vaddr)];

	return rule->cfa == WALK_CFA_SP ? rule->cfa_off : -1;
}

/* crti.o has no CFI for _init; its code is recognised by its shape. */
static void init_has_rows_without_cfi(void **state)
{
	struct rule_set *set = rule_set_new();
	const uint8_t *code = (const uint8_t *)_init, *body = code;
	/* The program headers follow the ELF header, which is at vaddr 0. */
	uint64_t vaddr = (uint64_t)code - (getauxval(AT_PHDR) - sizeof(Elf64_Ehdr));
	struct unwind_table *table;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	(void)state;
	while (body < code + 8 && memcmp(body, "\x48\x83\xec\x08", 4))
		body++;
	assert_true(body < code + 8);
	body += 4;
	assert_int_equal(unwind_table_build(fd, NULL, set, &table), 0);
	assert_int_equal(cfa_of(table, set, vaddr), 8);
	assert_int_equal(cfa_of(table, set, vaddr + (uint64_t)(body - code)), 16);
	for (int i = 0; i < 64 && memcmp(body, "\x48\x83\xc4\x08\xc3", 5); i++)
		assert_int_equal(cfa_of(table, set, vaddr + (uint64_t)(++body - code)), 16);
	assert_int_equal(cfa_of(table, set, vaddr + (uint64_t)(body - code) + 4), 8);
	unwind_table_free(table);
	rule_set_free(set);
	close(fd);
}

/* sstrip and packers drop the section headers; PT_GNU_EH_FRAME leads to .eh_frame too. */
static void without_section_headers_the_rows_are_the_same(void **state)
{
	int fd = open(LIB "libc.so.6", O_RDONLY | O_CLOEXEC);
	struct rule_set *set = rule_set_new();
	struct unwind_table *with, *without;
	struct stat st;
	uint8_t *image;

	(void)state;
	assert_true(fd >= 0 && !fstat(fd, &st));
	image = malloc((size_t)st.st_size);
	assert_int_equal(read(fd, image, (size_t)st.st_size), st.st_size);
	assert_int_equal(unwind_table_build_memory(image, (size_t)st.st_size, set, &with), 0);
	((Elf64_Ehdr *)image)->e_shnum = 0;
	assert_int_equal(unwind_table_build_memory(image, (size_t)st.st_size, set, &without), 0);
	assert_int_equal(with->nr_fdes, without->nr_fdes);
	assert_int_equal(with->nr_words, without->nr_words);
	assert_memory_equal(with->words, without->words, with->nr_words * sizeof(*with->words));
	unwind_table_free(with);
	unwind_table_free(without);
	rule_set_free(set);
	free(image);
	close(fd);
}

static void broken_files_give_an_error_or_a_sound_table(void **state)
{
	int fd = open("/lib64/ld-linux-x86-64.so.2", O_RDONLY | O_CLOEXEC), nr_tables = 0;
	struct rule_set *set = rule_set_new();
	struct unwind_table *table;
	struct stat st;
	uint8_t *good, *bad;

	(void)state;
	assert_true(fd >= 0 && !fstat(fd, &st));
	good = malloc((size_t)st.st_size);
	assert_int_equal(read(fd, good, (size_t)st.st_size), st.st_size);
	for (int round = 0; round < 400; round++) {
		size_t size = (size_t)st.st_size;
		int nr_flips = 1 << (next_random() % 12);

		if (round % 4 == 0)
			size = next_random() % size;
		bad = malloc(size + 1);
		memcpy(bad, good, size);
		for (int i = 0; size && i < nr_flips; i++) {
			/* some in the headers, most anywhere */
			size_t at = next_random() % (round % 3 ? size : size < 800 ? size : 800);

			bad[at] ^= (uint8_t)(1u << (next_random() & 7));
		}
		if (!unwind_table_build_memory(bad, size, set, &table)) {
			assert_true(table_is_sound(table, set));
			unwind_table_free(table);
			nr_tables++;
		}
		free(bad);
	}
	assert_true(nr_tables > 50);
	free(good);
	rule_set_free(set);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(libc_has_the_rows_that_libdw_reads),
		cmocka_unit_test(the_loader_has_the_rows_that_libdw_reads),
		cmocka_unit_test(this_program_has_the_rows_that_libdw_reads),
		cmocka_unit_test(other_programs_have_the_rows_that_libdw_reads),
		cmocka_unit_test(the_vdso_in_memory_has_the_rows_that_libdw_reads),
		cmocka_unit_test(init_has_rows_without_cfi),
		cmocka_unit_test(without_section_headers_the_rows_are_the_same),
		cmocka_unit_test(broken_files_give_an_error_or_a_sound_table),
	};

	elf_version(EV_CURRENT);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
