/*
 * Interprets the CFA program of one function. It yields rows: each is a rule of
 * core/portable/walk.h and the address from which it is in force. What no rule can express becomes
 * WALK_CFA_UNSUPPORTED.
 *
 * Source: DWARF 5 sections 6.4.2 and 6.4.3; GNU extensions from LSB 5.0. Programs are untrusted;
 * every instruction has at least one byte, so a program takes at most as many steps as it has
 * bytes.
 */
#ifndef SPROF_CFI_H
#define SPROF_CFI_H

#include <stdbool.h>
#include <stdint.h>

#include "core/portable/walk.h"
#include "sampler/unwind/eh_frame.h"

/* The program's state: how the CFA, the caller's rbp and the return address are found. */
struct cfi_state {
	uint8_t cfa; /* enum walk_cfa; SP, FP and REG are register cfa_reg + cfa_off */
	uint8_t cfa_reg;
	uint8_t fp; /* enum walk_fp, or CFI_FP_OTHER */
	uint8_t ra; /* enum cfi_ra */
	uint8_t ra_reg;
	int32_t fp_off;
	int64_t cfa_off;
};

#define CFI_MAX_REMEMBERED 32 /* DW_CFA_remember_state nesting; compilers use one or two */

struct cfi_program {
	const struct eh_frame *frame;
	const struct eh_cie *cie;
	const struct cfi_state *initial; /* after the CIE's instructions, for "restore" */
	struct cursor bytes;
	uint64_t location, end; /* virtual addresses; the next row begins at location */
	struct cfi_state state;
	struct cfi_state remembered[CFI_MAX_REMEMBERED];
	uint32_t nr_remembered;
	bool broken; /* an invalid instruction: from there on the function has no rule */
};

struct cfi_row {
	uint64_t vaddr;
	struct walk_rule rule;
};

/* Runs the initial instructions of a CIE. After a broken CIE the rule is WALK_CFA_UNSUPPORTED. */
void cfi_init_cie(const struct eh_frame *frame, const struct eh_cie *cie,
		  struct cfi_state *ret_state);

/* All that the arguments point to must outlive the program. */
void cfi_begin(struct cfi_program *program, const struct eh_frame *frame, const struct eh_cie *cie,
	       const struct cfi_state *initial, const struct eh_fde *fde);

/* The next row; addresses ascend from the start of the FDE. false after the last. */
bool cfi_next(struct cfi_program *program, struct cfi_row *ret_row);

#endif
