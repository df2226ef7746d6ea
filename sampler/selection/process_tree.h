/*
 * The processes that a process has started, and those that these have started, as /proc shows them.
 * A server that forks its workers before it works is sampled with all of them.
 */
#ifndef SPROF_PROCESS_TREE_H
#define SPROF_PROCESS_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/base/number_map.h"

struct source_config;

struct tree_member {
	pid_t pid;
	uint64_t start; /* as proc_life.start */
};

/* Zeroed is a valid empty tree. */
struct process_tree {
	struct tree_member *members; /* the roots, then what they have started; parents first */
	size_t nr, capacity, nr_roots;
	struct number_map places; /* index in members[], by pid */
	bool full;		  /* there may be more than are kept */
};

/* Adds a root that is alive. One that is a member already stays where it is. */
void process_tree_add_root(struct process_tree *tree, pid_t pid);
void process_tree_fini(struct process_tree *tree);

/*
 * Has a source add the processes of config->pids, and the tree its roots: `add` does both, and
 * returns 0 or -errno, reported. Returns the first error; where config->some_may_fail, only if no
 * process could be added.
 */
int process_tree_add_named(struct process_tree *tree, const struct source_config *config,
			   int (*add)(void *context, pid_t id, struct process_tree *tree),
			   void *context);

/*
 * Reads the children of all members and adds those that are new. Returns how many are new; they
 * are the last ones of members[].
 */
size_t process_tree_look(struct process_tree *tree);

/*
 * Looks until a look finds no process that is new, so that one forked meanwhile is found too, and
 * calls `add` for each process but the roots. `add` returns 0 or -errno; -ESRCH is no failure,
 * other errors are counted and reported here, as is how many processes were found.
 */
void process_tree_follow(struct process_tree *tree, int (*add)(void *context, pid_t pid),
			 void *context);

#endif
