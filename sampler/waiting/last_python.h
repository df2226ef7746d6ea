/*
 * Python frames of threads that still wait when the recording ends. The kernel side copies their
 * native stacks without waking them; here their Python frames are read, also without stopping
 * them, and count only if the thread has not run since.
 */
#ifndef SPROF_LAST_PYTHON_H
#define SPROF_LAST_PYTHON_H

#include <stdbool.h>

#include "sampler/runtimes/python/merge_frames.h"

struct last_python;
struct py_layout;
struct python_codes;
struct snapshot_event;

/* `codes` must outlive it. */
struct last_python *last_python_new(struct python_codes *codes);
void last_python_free(struct last_python *l); /* NULL is fine */

/*
 * Reads the frames of the waiting thread that the snapshot is of, by the layout of its process. All
 * these reads together take a second at most, or a little longer where a read does not return. What
 * ret_runs->words points to is valid until the next call. `ret_broken`: there are Python frames,
 * or may be, that could not be read.
 */
void last_python_read(struct last_python *l, const struct py_layout *layout,
		      const struct snapshot_event *e, struct python_runs *ret_runs,
		      bool *ret_broken);

#endif
