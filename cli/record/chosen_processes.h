/*
 * Which processes the options of sprof record mean: looks up the names given to -p, and says which
 * processes they are.
 */
#ifndef SPROF_RECORD_TARGETS_H
#define SPROF_RECORD_TARGETS_H

struct record_opts;

/*
 * Adds the processes of each of opts->names to opts->pids, finds opts->started, and puts the
 * folders of cgroups in place of their names. For a caller who may not look at others, processes of
 * other users are left out. 0, or -errno, reported: -ESRCH where no process has such a name.
 */
int record_targets_find(struct record_opts *opts);

/* Puts the target in words, as opts->description, once the numbers of all processes are known. */
void record_targets_describe(struct record_opts *opts);

#endif
