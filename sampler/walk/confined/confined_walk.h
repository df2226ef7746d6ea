/*
 * Walks copied stacks (snapshot_unwind.h) in a child process without rights (core/sandbox), because
 * libunwind interprets what files of targets say. For callers that have no unwind tables: dumps,
 * and the search for a safe point. A child walks stacks of one process only, so a file that takes
 * it over falsifies no stack of another process.
 */
#ifndef SPROF_CONFINED_WALK_H
#define SPROF_CONFINED_WALK_H

#include <stddef.h>
#include <stdint.h>

#include "sampler/walk/confined/walk_questions.h"
#include "sampler/walk/snapshot_unwind.h"

struct confined_walk;
struct sandbox;

#define CONFINED_FRAMES_MAX 4096u /* of one stack */

/*
 * Of the hooks, find_mapping and open_module are asked, by this process. The sandbox must outlive
 * the result; NULL: stacks are walked in this process.
 */
struct confined_walk *confined_walk_new(const struct snapshot_ops *ops, void *context,
					const struct sandbox *sandbox);
/* Ends the child. NULL is fine. */
void confined_walk_free(struct confined_walk *walk);

/*
 * As snapshot_unwind(), of at most CONFINED_FRAMES_MAX frames and without guesses. Where the child
 * dies, takes too long or answers nonsense, the result is the leaf and MARKER_PARSER_FAILED; the
 * next stack has a new child, until several have failed.
 */
struct snapshot_result confined_walk_run(struct confined_walk *walk,
					 const struct snapshot_sample *sample, uint64_t *frames,
					 size_t max);
/* Why the last stack was not walked, as sandbox_failure() has it; 0: it was. */
int confined_walk_error(const struct confined_walk *walk);

/*
 * Takes a walked stack of at most `max` frames out of a message. 0 or -EBADMSG. ret_sps has room
 * for `max`.
 */
int walk_word_take(const void *message, size_t size, size_t max, uint64_t *ret_frames,
		   uint64_t *ret_sps, struct snapshot_result *ret_result);

#endif
