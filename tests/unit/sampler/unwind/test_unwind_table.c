/* The table builder on CFI made by hand, one property each, and on broken input. */
#include "tests/unit/unit.h"
#include "tests/unit/cfi_fixture.h"

#include <errno.h>

#include "sampler/unwind/rule_set.h"
#include "sampler/unwind/unwind_table.h"

/* The initial instructions of compilers' CIEs: CFA = rsp + 8, return address at CFA - 8. */
#define USUAL_CIE 0x0c, 7, 8, 0x90, 1

static struct walk_rule rule_at(struct fixture *f, uint64_t text_offset)
{
	uint32_t nr, number = unwind_table_find(f->table, MAKER_TEXT + text_offset);
	const struct walk_rule *rules = rule_set_rules(f->rules, &nr);

	assert_true(number < nr);
	return rules[number];
}

static void check(struct fixture *f, uint64_t text_offset, int cfa, int cfa_off, int fp, int fp_off)
{
	struct walk_rule rule = rule_at(f, text_offset);

	assert_int_equal(rule.cfa, cfa);
	assert_int_equal(rule.cfa_off, cfa_off);
	assert_int_equal(rule.fp, fp);
	assert_int_equal(rule.fp_off, fp_off);
}

#define CHECK_SP(f, at, off) check(f, at, WALK_CFA_SP, off, WALK_FP_SAME, 0)

/* Builds a table with one FDE [0x100, 0x200) that has this program, after a usual CIE. */
static void build_one(struct fixture *f, const uint8_t *program, size_t size)
{
	maker_cie(&f->maker, BYTES(USUAL_CIE));
	maker_fde(&f->maker, 0x100, 0x100, program, size);
	assert_int_equal(build(f), 0);
	assert_int_equal(f->table->nr_fdes, 1);
}

static void a_frame_pointer_prologue_gives_its_rows(void **state)
{
	struct fixture *f = *state;

	/* push %rbp; mov %rsp,%rbp; ... leave */
	build_one(f, BYTES(0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6, 0x02, 0x50, 0x0c, 7, 8));
	check(f, 0xff, WALK_CFA_NONE, 0, 0, 0);
	CHECK_SP(f, 0x100, 8);
	check(f, 0x101, WALK_CFA_SP, 16, WALK_FP_CFA, -16);
	check(f, 0x103, WALK_CFA_SP, 16, WALK_FP_CFA, -16);
	check(f, 0x104, WALK_CFA_FP, 16, WALK_FP_CFA, -16);
	check(f, 0x153, WALK_CFA_FP, 16, WALK_FP_CFA, -16);
	check(f, 0x154, WALK_CFA_SP, 8, WALK_FP_CFA, -16);
	check(f, 0x1ff, WALK_CFA_SP, 8, WALK_FP_CFA, -16);
	check(f, 0x200, WALK_CFA_NONE, 0, 0, 0);
	assert_int_equal(f->table->nr_rows, 5);
	assert_int_equal(f->table->nr_broken_fdes, 0);
}

static void every_way_to_advance_is_understood(void **state)
{
	struct fixture *f = *state;

	build_one(f, BYTES(0x44, 0x0e, 16, 0x02, 4, 0x0e, 24, 0x03, 4, 0, 0x0e, 32, 0x04, 4, 0, 0,
			   0, 0x0e, 40, 0x01, 0x80, 0x01, 1, 0, 0, 0, 0, 0, 0x0e, 48));
	CHECK_SP(f, 0x103, 8);
	CHECK_SP(f, 0x104, 16);
	CHECK_SP(f, 0x108, 24);
	CHECK_SP(f, 0x10c, 32);
	CHECK_SP(f, 0x110, 40);
	CHECK_SP(f, 0x17f, 40);
	CHECK_SP(f, 0x180, 48);
}

static void remembered_states_nest(void **state)
{
	struct fixture *f = *state;

	build_one(f, BYTES(0x0e, 16, 0x0a, 0x41, 0x0e, 24, 0x0a, 0x41, 0x0e, 32, 0x41, 0x0b, 0x41,
			   0x0b));
	CHECK_SP(f, 0x100, 16);
	CHECK_SP(f, 0x101, 24);
	CHECK_SP(f, 0x102, 32);
	CHECK_SP(f, 0x103, 24);
	CHECK_SP(f, 0x104, 16);
}

static void restore_goes_back_to_what_the_cie_said(void **state)
{
	struct fixture *f = *state;

	build_one(f, BYTES(0x86, 2, 0x41, 0xc6, 0x41, 0x05, 6, 3, 0x41, 0x06, 6, 0x41, 0x07, 6,
			   0x41, 0x08, 6));
	check(f, 0x100, WALK_CFA_SP, 8, WALK_FP_CFA, -16);
	check(f, 0x101, WALK_CFA_SP, 8, WALK_FP_SAME, 0);
	check(f, 0x102, WALK_CFA_SP, 8, WALK_FP_CFA, -24);
	check(f, 0x103, WALK_CFA_SP, 8, WALK_FP_SAME, 0);
	check(f, 0x104, WALK_CFA_SP, 8, WALK_FP_UNDEF, 0);
	check(f, 0x105, WALK_CFA_SP, 8, WALK_FP_SAME, 0);
}

static void signed_and_negative_offsets_are_factored(void **state)
{
	struct fixture *f = *state;

	/*
	 * offset_extended_sf -2 * -8; GNU_negative_offset_extended; def_cfa_sf, def_cfa_offset_sf
	 */
	build_one(f, BYTES(0x11, 6, 0x7e, 0x41, 0x2f, 6, 3, 0x41, 0x12, 6, 0x7c, 0x41, 0x13, 0x7b));
	check(f, 0x100, WALK_CFA_SP, 8, WALK_FP_CFA, 16);
	check(f, 0x101, WALK_CFA_SP, 8, WALK_FP_CFA, 24);
	check(f, 0x102, WALK_CFA_FP, 32, WALK_FP_CFA, 24);
	check(f, 0x103, WALK_CFA_FP, 40, WALK_FP_CFA, 24);
}

static void the_plt_expression_keeps_its_limit(void **state)
{
	struct fixture *f = *state;

	build_one(f,
		  BYTES(0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22, 0x50,
			0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3a, 0x2a, 0x33, 0x24, 0x22));
	check(f, 0x100, WALK_CFA_PLT, 11, 0, 0);
	check(f, 0x110, WALK_CFA_PLT, 10, 0, 0);
}

static void dereferenced_and_realigned_frames_have_rules(void **state)
{
	struct fixture *f = *state;

	/* *(rbp - 8); *(rsp + 0x90) + 8; rbp saved at (rbp + 0); CFA = r10 */
	build_one(f, BYTES(0x0f, 3, 0x76, 0x78, 0x06, 0x41, 0x0f, 6, 0x77, 0x90, 1, 0x06, 0x23, 8,
			   0x41, 0x10, 6, 2, 0x76, 0, 0x41, 0x0c, 10, 0, 0x41, 0x0c, 7, 16));
	check(f, 0x100, WALK_CFA_FP_DEREF, 0xfff8, 0, 0);
	check(f, 0x101, WALK_CFA_SP_DEREF, 8 << 16 | 0x90, 0, 0);
	check(f, 0x102, WALK_CFA_SP_DEREF, 8 << 16 | 0x90, WALK_FP_FP, 0);
	check(f, 0x103, WALK_CFA_REG, 10, WALK_FP_FP, 0);
	check(f, 0x104, WALK_CFA_SP, 16, WALK_FP_FP, 0);
}

static void leaf_code_of_libraries_has_rules(void **state)
{
	struct fixture *f = *state;

	/* libcrypto: *(rsp + 8 + r9 * 8) + 8; vfork: the return address in rdi */
	build_one(f, BYTES(0x0f, 10, 0x77, 8, 0x79, 0, 0x38, 0x1e, 0x22, 0x06, 0x23, 8, 0x41, 0x0c,
			   7, 0, 0x09, 16, 5));
	check(f, 0x100, WALK_CFA_SP_INDEX_DEREF, 8 << 16 | 8 << 8 | 9, 0, 0);
	check(f, 0x101, WALK_CFA_RA_REG, 5, 0, 0);
}

static void what_no_rule_says_is_unsupported_and_counted(void **state)
{
	struct fixture *f = *state;

	/* an unsupported expression; return address elsewhere; rbp in a register; usual again */
	build_one(f, BYTES(0x0f, 3, 0x77, 0, 0x19, 0x41, 0x0c, 7, 8, 0x90, 2, 0x41, 0x90, 1, 0x09,
			   6, 8, 0x41, 0x08, 6, 0x41, 0x0c, 0x20, 8, 0x41, 0x16, 6, 2, 0x76, 0,
			   0x0c, 7, 8));
	for (uint64_t at = 0x100; at < 0x103; at++)
		check(f, at, WALK_CFA_UNSUPPORTED, 0, 0, 0);
	CHECK_SP(f, 0x103, 8);
	check(f, 0x104, WALK_CFA_UNSUPPORTED, 0, 0, 0);
	check(f, 0x105, WALK_CFA_UNSUPPORTED, 0, 0, 0);
	assert_int_equal(f->table->nr_unsupported, 2);
}

static void an_undefined_return_address_is_the_root(void **state)
{
	struct fixture *f = *state;

	build_one(f, BYTES(0x07, 16));
	check(f, 0x100, WALK_CFA_END, 0, 0, 0);
	assert_int_equal(unwind_table_find(f->table, MAKER_TEXT + 0x1ff), WALK_RULE_END);
}

static void a_signal_trampoline_begins_one_byte_early(void **state)
{
	struct fixture *f = *state;

	maker_cie(&f->maker, BYTES(USUAL_CIE));
	maker_fde(&f->maker, 0x100, 0x80, BYTES(0));
	f->maker.augmentation = "zRS";
	maker_cie(&f->maker, BYTES(USUAL_CIE));
	maker_fde(&f->maker, 0x184, 9, BYTES(0));
	maker_fde(&f->maker, 0x18d, 9, BYTES(0));
	assert_int_equal(build(f), 0);
	CHECK_SP(f, 0x182, 8);
	check(f, 0x183, WALK_CFA_SIGNAL, 0, 0, 0);
	check(f, 0x195, WALK_CFA_SIGNAL, 0, 0, 0);
	check(f, 0x196, WALK_CFA_NONE, 0, 0, 0);
}

/* The byte before the trampoline is on the page before the first function's. */
static void a_signal_trampoline_may_be_the_first_function(void **state)
{
	struct fixture *f = *state;

	f->maker.augmentation = "zRS";
	maker_cie(&f->maker, BYTES(USUAL_CIE));
	maker_fde(&f->maker, WALK_PAGE_SIZE, 9, BYTES(0));
	assert_int_equal(build(f), 0);
	check(f, WALK_PAGE_SIZE - 2, WALK_CFA_NONE, 0, 0, 0);
	check(f, WALK_PAGE_SIZE - 1, WALK_CFA_SIGNAL, 0, 0, 0);
	check(f, WALK_PAGE_SIZE + 8, WALK_CFA_SIGNAL, 0, 0, 0);
	check(f, WALK_PAGE_SIZE + 9, WALK_CFA_NONE, 0, 0, 0);
}

static void a_trampoline_without_cfi_is_known_by_its_bytes(void **state)
{
	static const uint8_t rax[] = { 0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05 };
	static const uint8_t eax[] = { 0xb8, 15, 0, 0, 0, 0x0f, 0x05 };
	struct fixture *f = *state;

	memcpy(maker_text(&f->maker, 0x300), rax, sizeof(rax));
	memcpy(maker_text(&f->maker, 0x340), eax, sizeof(eax));
	memcpy(maker_text(&f->maker, 0x120), rax, sizeof(rax)); /* covered by an FDE */
	build_one(f, BYTES(0));
	CHECK_SP(f, 0x120, 8);
	check(f, 0x2fe, WALK_CFA_NONE, 0, 0, 0);
	check(f, 0x2ff, WALK_CFA_SIGNAL, 0, 0, 0);
	check(f, 0x307, WALK_CFA_SIGNAL, 0, 0, 0);
	check(f, 0x33f, WALK_CFA_SIGNAL, 0, 0, 0);
	check(f, 0x345, WALK_CFA_SIGNAL, 0, 0, 0);
	check(f, 0x350, WALK_CFA_NONE, 0, 0, 0);
}

static void a_function_without_cfi_has_the_rules_of_its_code(void **state)
{
	/* aligned, after padding only: push %rbp; pop %rbp; ret */
	static const uint8_t code[] = { 0x55, 0x5d, 0xc3, 0x53 };
	struct fixture *f = *state;

	memcpy(maker_text(&f->maker, 0x300), code, sizeof(code));
	build_one(f, BYTES(0));
	check(f, 0x2ff, WALK_CFA_NONE, 0, 0, 0);
	CHECK_SP(f, 0x300, 8);
	check(f, 0x301, WALK_CFA_SP, 16, WALK_FP_SAME, 0);
	CHECK_SP(f, 0x302, 8);
	check(f, 0x303, WALK_CFA_NONE, 0, 0, 0);
	assert_int_equal(f->table->nr_derived_functions, 1);
}

static void an_entry_point_without_fde_is_the_root(void **state)
{
	struct fixture *f = *state;

	maker_ehdr(&f->maker)->e_entry = MAKER_TEXT + 0x400;
	maker_cie(&f->maker, BYTES(USUAL_CIE));
	maker_fde(&f->maker, 0x420, 0x20, BYTES(0));
	assert_int_equal(build(f), 0);
	check(f, 0x3ff, WALK_CFA_NONE, 0, 0, 0);
	check(f, 0x400, WALK_CFA_END, 0, 0, 0);
	check(f, 0x41f, WALK_CFA_END, 0, 0, 0);
	CHECK_SP(f, 0x420, 8);
	maker_ehdr(&f->maker)->e_entry = MAKER_TEXT + 0x430;
	assert_int_equal(build(f), 0);
	CHECK_SP(f, 0x430, 8);
}

static void a_file_without_cfi_still_has_its_entry_point(void **state)
{
	struct fixture *f = *state;

	maker_put_number(&f->maker, 0, 4);
	assert_int_equal(build(f), -ENODATA);
	maker_ehdr(&f->maker)->e_entry = MAKER_TEXT;
	assert_int_equal(build(f), 0);
	check(f, 0, WALK_CFA_END, 0, 0, 0);
	check(f, 64, WALK_CFA_NONE, 0, 0, 0);
}

static void small_gaps_belong_to_the_function_before(void **state)
{
	struct fixture *f = *state;

	maker_cie(&f->maker, BYTES(USUAL_CIE));
	maker_fde(&f->maker, 0x11f, 0x10, BYTES(0x0e, 32)); /* out of order */
	maker_fde(&f->maker, 0x100, 0x10, BYTES(0x0e, 16));
	maker_fde(&f->maker, 0x13f, 0x10, BYTES(0x0e, 48));
	assert_int_equal(build(f), 0);
	CHECK_SP(f, 0x11e, 16);			 /* a gap of 15 */
	check(f, 0x12f, WALK_CFA_NONE, 0, 0, 0); /* one of 16 */
	check(f, 0x13e, WALK_CFA_NONE, 0, 0, 0);
	CHECK_SP(f, 0x13f, 48);
}

static void of_overlapping_functions_the_later_start_wins(void **state)
{
	struct fixture *f = *state;

	maker_cie(&f->maker, BYTES(USUAL_CIE));
	maker_fde(&f->maker, 0x100, 0x100, BYTES(0x0e, 16, 0x60, 0x0e, 24));
	maker_fde(&f->maker, 0x110, 0x20, BYTES(0x0e, 32));
	assert_int_equal(build(f), 0);
	CHECK_SP(f, 0x10f, 16);
	CHECK_SP(f, 0x110, 32);
	CHECK_SP(f, 0x12f, 32);
	check(f, 0x130, WALK_CFA_NONE, 0, 0, 0);
}

static void a_row_at_every_byte_fits_a_run(void **state)
{
	struct fixture *f = *state;
	uint8_t program[3 * 0x1000];

	/* the offset alternates at every byte over four pages */
	for (size_t i = 0; i < sizeof(program); i += 3)
		memcpy(program + i, (const uint8_t[]){ 0x0e, i % 2 ? 16 : 24, 0x41 }, 3);
	maker_cie(&f->maker, BYTES(USUAL_CIE));
	maker_fde(&f->maker, 0x401, 0x1000, program, sizeof(program));
	assert_int_equal(build(f), 0);
	for (uint64_t i = 0; i < 0x1000; i++)
		CHECK_SP(f, 0x401 + i, i % 2 ? 16 : 24);
	check(f, 0x1401, WALK_CFA_NONE, 0, 0, 0);
	assert_int_equal(f->table->words[f->table->pages[1]] >> 16, WALK_MAX_RUN);
}

static void pages_without_rows_say_their_rule(void **state)
{
	struct fixture *f = *state;

	maker_cie(&f->maker, BYTES(USUAL_CIE));
	maker_fde(&f->maker, 0x3f0, 0x2000, BYTES(0x0e, 16));
	assert_int_equal(build(f), 0);
	assert_int_equal(f->table->base, MAKER_TEXT);
	assert_int_equal(f->table->nr_pages, 9);
	assert_true(f->table->pages[1] & WALK_ONE_RULE);
	assert_true(f->table->pages[7] & WALK_ONE_RULE);
	CHECK_SP(f, 0x400, 16);
	CHECK_SP(f, 0x23ef, 16);
	check(f, 0x23f0, WALK_CFA_NONE, 0, 0, 0);
	assert_int_equal(unwind_table_find(f->table, MAKER_TEXT - 1), WALK_RULE_NONE);
	assert_int_equal(unwind_table_find(f->table, MAKER_TEXT + 0x100000), WALK_RULE_NONE);
}

static void pc_relative_pointers_and_64_bit_lengths_are_read(void **state)
{
	struct fixture *f = *state;
	struct cfi_maker *m = &f->maker;
	size_t at;

	m->encoding = 0x1b; /* pcrel sdata4, as compilers write */
	maker_cie(m, BYTES(USUAL_CIE));
	maker_fde(m, 0x100, 0x40, BYTES(0x0e, 16));
	/* the 64-bit form of an FDE: its CIE pointer stays 4 bytes in .eh_frame */
	maker_put_number(m, 0xffffffff, 4);
	maker_put_number(m, 4 + 4 + 4 + 1 + 2 + 1, 8);
	at = m->size;
	maker_put_number(m, at - m->cie, 4);
	maker_put_number(m, MAKER_TEXT + 0x140 - (m->size + 0x100000), 4);
	maker_put_number(m, 0x40, 4);
	maker_put(m, BYTES(0, 0x0e, 24, 0));
	assert_int_equal(build(f), 0);
	CHECK_SP(f, 0x100, 16);
	CHECK_SP(f, 0x140, 24);
	assert_int_equal(f->table->nr_broken_fdes, 0);
}

static void a_terminator_in_the_middle_does_not_end_the_section(void **state)
{
	struct fixture *f = *state;

	maker_cie(&f->maker, BYTES(USUAL_CIE));
	maker_fde(&f->maker, 0x100, 0x40, BYTES(0x0e, 16));
	maker_put_number(&f->maker, 0, 4);
	maker_fde(&f->maker, 0x140, 0x40, BYTES(0x0e, 24));
	assert_int_equal(build(f), 0);
	CHECK_SP(f, 0x140, 24);
}

static void a_broken_function_is_counted_and_the_rest_stands(void **state)
{
	struct fixture *f = *state;
	struct cfi_maker *m = &f->maker;

	maker_cie(m, BYTES(USUAL_CIE));
	maker_fde(m, 0x100, 0x40, BYTES(0x0e, 16, 0x44, 0x3d)); /* no such instruction */
	maker_fde(m, 0x140, 0x40, BYTES(0x0b));			/* nothing to restore */
	maker_fde(m, 0x180, 0x40, BYTES(0x0f, 0x7f));		/* a block longer than the entry */
	maker_fde(m, 0x5000, 0x40, BYTES(0));			/* not in the text */
	maker_fde(m, 0x1c0, 0x40, BYTES(0x0e, 32));
	m->cie -= 8; /* an FDE whose CIE pointer leads to no CIE */
	maker_fde(m, 0x200, 0x40, BYTES(0x0e, 32));
	assert_int_equal(build(f), 0);
	CHECK_SP(f, 0x100, 16);
	check(f, 0x104, WALK_CFA_NONE, 0, 0, 0);
	check(f, 0x140, WALK_CFA_NONE, 0, 0, 0);
	check(f, 0x180, WALK_CFA_NONE, 0, 0, 0);
	CHECK_SP(f, 0x1c0, 32);
	check(f, 0x220, WALK_CFA_NONE, 0, 0, 0);
	assert_int_equal(f->table->nr_broken_fdes, 5);
}

static void other_files_and_absurd_sizes_are_refused(void **state)
{
	struct fixture *f = *state;
	struct cfi_maker *m = &f->maker;
	Elf64_Phdr *phdr = (Elf64_Phdr *)(m->image + sizeof(Elf64_Ehdr));

	maker_cie(m, BYTES(USUAL_CIE));
	maker_fde(m, 0x100, 0x40, BYTES(0x0e, 16));
	maker_ehdr(m)->e_machine = EM_AARCH64;
	assert_int_equal(build(f), -ENOEXEC);
	maker_ehdr(m)->e_machine = EM_X86_64;
	maker_ehdr(m)->e_phoff = 1ull << 60;
	assert_int_equal(build(f), -ENOEXEC);
	maker_ehdr(m)->e_phoff = sizeof(Elf64_Ehdr);
	phdr->p_flags = PF_R;
	assert_int_equal(build(f), -ENODATA);
	phdr->p_flags = PF_R | PF_X;
	assert_int_equal(build(f), 0);
	/* two parts of the text further apart than a table can span */
	maker_ehdr(m)->e_phnum = 3;
	phdr[2] = phdr[0];
	phdr[2].p_vaddr = 1ull << 33;
	assert_int_equal(build(f), -EFBIG);
	assert_int_equal(unwind_table_build_memory(m->image, 10, f->rules, &f->table), -ENOEXEC);
}

static void equal_rules_have_one_number(void **state)
{
	struct fixture *f = *state;
	struct walk_rule rule = { .cfa = WALK_CFA_SP };
	uint32_t first, number, nr;

	for (int32_t i = 0; i < (int32_t)(WALK_MAX_RULES - WALK_FIRST_RULE); i++) {
		rule.cfa_off = i * 8;
		assert_true(rule_set_intern(f->rules, rule, &number));
		assert_int_equal(number, WALK_FIRST_RULE + (uint32_t)i);
	}
	rule.cfa_off = 8;
	assert_true(rule_set_intern(f->rules, rule, &first));
	assert_int_equal(first, WALK_FIRST_RULE + 1);
	rule.cfa_off = -8; /* the set is full */
	assert_false(rule_set_intern(f->rules, rule, &number));
	assert_int_equal(number, WALK_RULE_OVER_LIMIT);
	rule_set_rules(f->rules, &nr);
	assert_int_equal(nr, WALK_MAX_RULES);
	build_one(f, BYTES(0x13, 1));
	assert_int_equal(f->table->nr_rules_dropped, 1);
	check(f, 0x100, WALK_CFA_OVER_LIMIT, 0, 0, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_frame_pointer_prologue_gives_its_rows),
		TEST(every_way_to_advance_is_understood),
		TEST(remembered_states_nest),
		TEST(restore_goes_back_to_what_the_cie_said),
		TEST(signed_and_negative_offsets_are_factored),
		TEST(the_plt_expression_keeps_its_limit),
		TEST(dereferenced_and_realigned_frames_have_rules),
		TEST(leaf_code_of_libraries_has_rules),
		TEST(what_no_rule_says_is_unsupported_and_counted),
		TEST(an_undefined_return_address_is_the_root),
		TEST(a_signal_trampoline_begins_one_byte_early),
		TEST(a_signal_trampoline_may_be_the_first_function),
		TEST(a_trampoline_without_cfi_is_known_by_its_bytes),
		TEST(a_function_without_cfi_has_the_rules_of_its_code),
		TEST(an_entry_point_without_fde_is_the_root),
		TEST(a_file_without_cfi_still_has_its_entry_point),
		TEST(small_gaps_belong_to_the_function_before),
		TEST(of_overlapping_functions_the_later_start_wins),
		TEST(a_row_at_every_byte_fits_a_run),
		TEST(pages_without_rows_say_their_rule),
		TEST(pc_relative_pointers_and_64_bit_lengths_are_read),
		TEST(a_terminator_in_the_middle_does_not_end_the_section),
		TEST(a_broken_function_is_counted_and_the_rest_stands),
		TEST(other_files_and_absurd_sizes_are_refused),
		TEST(equal_rules_have_one_number),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
