/*
 * A line below a report that says how much of the stacks depends on rules that sprof derived from
 * machine code, because the file has none.
 */
#ifndef SPROF_DERIVED_RULES_NOTE_H
#define SPROF_DERIVED_RULES_NOTE_H

#include <stddef.h>

struct buffer;
struct profile;

/*
 * Appends an empty line and "Unwind rules read from machine code: libtorch_cpu.so (1626 functions),
 * [jit] (14), 3 files more": the files with the most such functions, up to three, as many as fit in
 * `columns` (0: no terminal), but at least one. Appends nothing if there are none.
 */
void derived_rules_note_add(struct buffer *b, const struct profile *profile, size_t columns);

#endif
