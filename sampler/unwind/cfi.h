/*
 * Interprets the CFA program of one function: it yields rows, each a rule of core/portable/walk.h that holds
 * from its offset on. What the rules cannot say becomes WALK_CFA_UNSUPPORTED.
 *
 * Source: DWARF 5 section 6.4.2 and 6.4.3; GNU extensions from LSB 5.0. The programs are hostile:
 * every instruction takes at least a byte, so one ends after as many steps as it has bytes.
 */
#ifndef SPROF_CFI_H
#define SPROF_CFI_H

#include <stdbool.h>
#include <stdint.h>

#include "core/portable/walk.h"
#include "sampler/unwind/eh_frame.h"

/* What the program has said so far: how to find the CFA, the caller's rbp and the return address. */
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
	const struct cfi_state
		*initial; /* after the CIE's instructions: what "restore" goes back to */
	struct cursor bytes;
	uint64_t location, end; /* virtual addresses; location is where the next row begins */
	struct cfi_state state;
	struct cfi_state remembered[CFI_MAX_REMEMBERED];
	uint32_t nr_remembered;
	bool broken; /* an instruction made no sense: from there on the function has no rule */
};

struct cfi_row {
	uint64_t vaddr;
	struct walk_rule rule;
};

/* Runs the initial instructions of a CIE. A broken CIE gives a state whose rule is UNSUPPORTED. */
void cfi_init_cie(const struct eh_frame *frame, const struct eh_cie *cie,
		  struct cfi_state *ret_state);

/* Everything pointed to must outlive the program. */
void cfi_begin(struct cfi_program *program, const struct eh_frame *frame, const struct eh_cie *cie,
	       const struct cfi_state *initial, const struct eh_fde *fde);

/* The next row: ascending addresses inside the FDE, the first at its start. false after the last. */
bool cfi_next(struct cfi_program *program, struct cfi_row *ret_row);

#endif
