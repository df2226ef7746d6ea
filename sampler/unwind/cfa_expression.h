/*
 * Recognises the DWARF expressions for a CFA that compilers, linkers and hand-written assembly use.
 * There is no evaluator: an expression that no rule of core/portable/walk.h can express is
 * unsupported.
 *
 * Source: DWARF 5 section 2.5 and 7.7.1.
 */
#ifndef SPROF_CFA_EXPRESSION_H
#define SPROF_CFA_EXPRESSION_H

#include <stdint.h>

#include "core/base/cursor.h"

struct cfa_expression {
	uint8_t cfa; /* enum walk_cfa; WALK_CFA_REG: any register, sp and fp too */
	uint8_t reg; /* WALK_CFA_REG */
	int64_t off; /* WALK_CFA_REG: added to the register; otherwise walk_rule.cfa_off */
};

struct cfa_expression cfa_expression_parse(struct cursor expression);

#endif
