/*
 * Names of Python code objects. A walk gives each code object a number and sends a record of it
 * once; stacks name it by the number. Bounded: a full table is emptied, and the records must come
 * again.
 */
#ifndef SPROF_CODE_OBJECTS_H
#define SPROF_CODE_OBJECTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct code_reader;
struct code_record;
struct python_codes;
struct sink;

/* What records say is read by the reader, which must outlive the result; NULL: in this process. */
struct python_codes *python_codes_new(struct code_reader *reader);
void python_codes_free(struct python_codes *codes);
/* The sink's ids of code objects are void. */
void python_codes_forget_ids(struct python_codes *codes);

/* After the end of a process, stacks that name its code objects may still come for so long. */
#define PYTHON_CODES_KEPT_NS (15ull * 1000 * 1000 * 1000)

/*
 * Adds a record of the process `group`, any number that differs between processes; `size` includes
 * the line table that follows it. false: the table was full and was emptied first, so the walker
 * must forget what it has sent.
 */
bool python_codes_add(struct python_codes *codes, uint64_t group, const struct code_record *code,
		      size_t size);

/*
 * The process has ended: what was added of it is forgotten after
 * PYTHON_CODES_KEPT_NS, and what is added from now on is of another process with its number.
 */
void python_codes_end(struct python_codes *codes, uint64_t group);
/* To be called often: forgets what is due. */
void python_codes_tidy(struct python_codes *codes, uint64_t now_ns);

/* The name of a function whose code object could not be decoded. */
#define PYTHON_UNREADABLE "[Python name not readable]"

/* Is the code object of a frame word (FRAME_PYTHON) known? */
bool python_codes_know(const struct python_codes *codes, uint64_t frame);

/* The sink's frame of a frame word (FRAME_PYTHON); PROFILE_NONE: its code object is not known. */
uint32_t python_codes_frame(struct python_codes *codes, struct sink *sink, uint64_t frame);

#endif
