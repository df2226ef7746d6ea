/* What stacks rest on where no file says how to unwind them, in one line. */
#ifndef SPROF_DERIVED_RULES_NOTE_H
#define SPROF_DERIVED_RULES_NOTE_H

#include <stddef.h>

struct buffer;
struct profile;

/*
 * Appends an empty line and "Unwind rules read from machine code: libtorch_cpu.so (1626 functions), [jit] (14), 3 files more",
 * the files with most functions, as many as fit in `columns` (0: it is no terminal), but one at least; nothing where there are none.
 */
void derived_rules_note_add(struct buffer *b, const struct profile *profile, size_t columns);

#endif
