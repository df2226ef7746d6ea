/*
 * Runtime code that a process has before it is sampled. Its rules would come only after samples had
 * landed in each region of it, so the start of each small mapping without a file is looked at as if
 * a sample had landed there: that is where oneDNN's kernels begin.
 */
#ifndef SPROF_EXPECTED_CODE_H
#define SPROF_EXPECTED_CODE_H

#include <stdint.h>

struct process;
struct runtime_unwind;

/* Notes the code; runtime_unwind_look() reads it. */
void expected_code_note(struct runtime_unwind *unwind, struct process *process, uint64_t now_ns);
/* Sampling begins: what was expected in vain does not make looks rarer. */
void expected_code_end(struct process *process);

#endif
