/*
 * What the Python code objects are called that a walk numbered: fed by its records, asked for the
 * frames of stacks. Bounded: when it is full it is emptied, and records come in again.
 */
#ifndef SPROF_CODE_OBJECTS_H
#define SPROF_CODE_OBJECTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buffer;
struct code_record;
struct code_string;
struct python_codes;
struct sink;

struct python_codes *python_codes_new(void);
void python_codes_free(struct python_codes *codes);

/*
 * Takes a record, `size` bytes with what follows it. false: the table was full and has been emptied
 * before this one went in; the walker must forget what it sent.
 */
bool python_codes_add(struct python_codes *codes, const struct code_record *code, size_t size);

/* Is the code object of a frame word (FRAME_PYTHON) known? */
bool python_codes_know(const struct python_codes *codes, uint64_t frame);

/* Adds a string of the target as UTF-8; "[unknown]" for one that could not be read. */
void code_string_add_text(struct buffer *b, const struct code_string *s);

/* The sink's id of a frame word (FRAME_PYTHON), or PROFILE_NONE: its code object is not known. */
uint32_t python_codes_frame(struct python_codes *codes, struct sink *sink, uint64_t frame);

#endif
