/*
 * Has libunwind continue copied stacks in a child process without rights (core/sandbox), where the
 * tables of a recorder have no rule, because libunwind interprets what files of targets say.
 *
 * There is one child for all processes of a user: a child for each process would read the functions
 * of libc and of the program again for each of the thousand processes of a build. So a file that
 * takes it over can falsify stacks of processes of the user who has mapped it, and of no one else.
 */
#ifndef SPROF_CONFINED_TURNS_H
#define SPROF_CONFINED_TURNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/walk/snapshot_unwind.h"

struct confined_turns;
struct sandbox;

#define TURN_CHILDREN 8u      /* at once, one of them root's; with more users, the oldest ends */
#define TURN_FRAMES_MAX 4096u /* that one turn finds */

/* Of the hooks, find_mapping and open_module are asked. The sandbox must outlive the result. */
struct confined_turns *confined_turns_new(const struct snapshot_ops *ops, void *context,
					  const struct sandbox *sandbox);
/* Ends the children. NULL is fine. */
void confined_turns_free(struct confined_turns *turns);
/* The number of the module is going to belong to another file. */
void confined_turns_forget(struct confined_turns *turns, uint64_t module);

/*
 * snapshot_ops.take_turn of a struct confined_turns. false: the child died, was late or answered
 * nonsense, now or before for the same user and module; where it was late, a child is asked again
 * after a time. A user who has many such files, or whose turns take long, is not asked for for a
 * time.
 */
bool confined_turns_take(void *turns, const struct snapshot_sample *sample,
			 struct snapshot_turn *turn);

/*
 * Takes a child's answer of `size` bytes over into a turn. 0 or -EBADMSG; then the turn is as it
 * was, but for its arrays.
 */
int turn_answer_take(const void *message, size_t size, const struct snapshot_sample *sample,
		     struct snapshot_turn *turn);

#endif
