/*
 * The processes whose allocations are sampled, as they change: modules that they load are hooked,
 * and so are the programs that they start or become. Processes are looked at twice a second, so
 * what a child allocates before the first look is missed.
 */
#ifndef SPROF_FOLLOW_ALLOC_H
#define SPROF_FOLLOW_ALLOC_H

#include <stdbool.h>
#include <sys/types.h>

struct allocations;
struct follow_alloc;
struct profile;
struct sandbox;
struct sink;

/*
 * `wanted`: bits of enum alloc_wanted (alloc_functions.h). A process without PyTorch is watched
 * until it loads that, if nothing else is wanted. Both pointers must outlive the result.
 */
struct follow_alloc *follow_alloc_new(struct allocations *allocations, unsigned int wanted,
				      const struct sandbox *sandbox, bool children);
void follow_alloc_free(struct follow_alloc *follow); /* NULL is fine */

/* Hooks a process, whose children are followed from then on. 0 or -errno, reported. */
int follow_alloc_add(struct follow_alloc *follow, pid_t pid);
/* To be called often; looks at the processes when it is time. */
void follow_alloc_look(struct follow_alloc *follow, struct sink *sink);
/* Says how many of the processes that were sampled otherwise were missed. */
void follow_alloc_say_missed(const struct follow_alloc *follow, const struct profile *profile);

#endif
