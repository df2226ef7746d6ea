/*
 * Python in a target of the timer source: what the walks inside it need to know of its interpreter,
 * and what it sends of the code objects that the walks met.
 */
#ifndef SPROF_TIMER_PYTHON_H
#define SPROF_TIMER_PYTHON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/portable/pylayout.h"

struct code_reader;
struct python_codes;
struct python_files;
struct timer_process;
struct walked;

#define TIMER_MAX_NATIVE 4096 /* frames; only a runaway recursion has more */

/* A part of struct timer_process, written by timer_python.c only. */
struct timer_python {
	struct py_layout layout;    /* as published; .runtime 0: it runs no Python */
	struct python_codes *codes; /* code objects that were sent; NULL: none was */
};

/*
 * Looks for an interpreter among the mappings, before they are published. `files` may be NULL: not
 * wanted.
 */
void timer_python_find(struct timer_process *p, struct python_files *files);
void timer_python_fini(struct timer_process *p);
/*
 * Takes a record of a code object: `nr_words` words that the target wrote. The reader, of all
 * targets, must outlive `p`.
 */
void timer_python_add_code(struct timer_process *p, struct code_reader *reader,
			   const uint64_t *words, size_t nr_words);
/* Is the code object of every Python frame among these words known? */
bool timer_python_knows(const struct timer_process *p, const uint64_t *words, size_t nr);

/*
 * Words of the room that timer_python_merge() needs; the first TIMER_MAX_NATIVE hold the native
 * frames.
 */
size_t timer_python_room_words(void);
/*
 * Makes one stack of the native frames of a snapshot, in `room`, and the Python frames that came
 * with it: at most MAX_USER_FRAMES into `frames`, w->nr_user and w->gap. `sps` may be NULL: then
 * the native frames alone.
 */
void timer_python_merge(const struct timer_process *p, uint64_t *room, const uint64_t *sps,
			const uint64_t *words, size_t nr_words, uint64_t *frames, struct walked *w);

#endif
