/*
 * Which processes the options of sprof record mean: looks up the names given to -p, and says which
 * processes they are.
 */
#ifndef SPROF_RECORD_TARGETS_H
#define SPROF_RECORD_TARGETS_H

struct record_opts;

/*
 * Adds the processes of opts->names to opts->pids, finds opts->started, and replaces names of
 * cgroups by their folders. Leaves out processes that the caller may not look at. 0, or -errno,
 * reported: -ESRCH if no process has such a name.
 */
int record_targets_find(struct record_opts *opts);

/* Describes the targets in opts->description. Must be called after record_targets_find(). */
void record_targets_describe(struct record_opts *opts);

#endif
