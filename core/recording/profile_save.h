/* Writes a whole profile from memory to a recording, names included: for sprof merge and top. */
#ifndef SPROF_PROFILE_SAVE_H
#define SPROF_PROFILE_SAVE_H

struct process_rows;
struct profile;

/*
 * Creates the file as recfile_create() does. `processes`: what is known of processes, with strings
 * of `p`; NULL: what `p` itself knows. 0 or -errno, reported.
 */
int profile_save(const char *path, const struct profile *p, const struct process_rows *processes);

#endif
