/*
 * The names of a module's addresses as bytes: how a child process without rights, which has read
 * untrusted files for them, hands them to the recorder.
 */
#ifndef SPROF_NAMES_ANSWER_H
#define SPROF_NAMES_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/profile/profile.h"

struct buffer;
struct wanted_name;

/*
 * Writes the locations of frames 0 to nr_frames - 1, with their functions and strings, and those of
 * all further frames as runs (symbolizer_opts.with_runs). All frames are of one module.
 */
void names_answer_write(struct buffer *b, const struct profile *p, size_t nr_frames);

/*
 * Gives the frames of `wants` the locations that an untrusted writer names for them, in that order.
 * `kind` is that of the module's functions. -EBADMSG: the bytes are no sound answer; frames before
 * the fault may have locations then. *ret_named: how many frames have a name that is no address.
 * Runs are only sound where they are wanted, and near the addresses of `wants`, which are sorted.
 */
int names_answer_read(const uint8_t *bytes, size_t size, struct profile *p, enum function_kind kind,
		      const struct wanted_name *wants, size_t nr, bool with_runs,
		      size_t *ret_named);

#endif
