/* A whole profile in memory becomes a recording, names included: what sprof merge and top write. */
#ifndef SPROF_PROFILE_SAVE_H
#define SPROF_PROFILE_SAVE_H

struct process_rows;
struct profile;

/*
 * Creates the file as recfile_create() does. `processes` are what is known of processes, with
 * strings of `p`; NULL: those that `p` itself knows. 0 or -errno, reported.
 */
int profile_save(const char *path, const struct profile *p, const struct process_rows *processes);

#endif
