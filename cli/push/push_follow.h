/* Reads a recording while it is written, and makes requests of what came in each interval. */
#ifndef SPROF_PUSH_FOLLOW_H
#define SPROF_PUSH_FOLLOW_H

struct push_record_opts;

/*
 * Reads paths of recordings from `control`, each followed by a NUL, and writes requests into the
 * pipe `requests`. With opts->finished a recording is finished when its path comes; otherwise when
 * `control` can be read again, or ends. Returns the exit status of the process.
 */
int push_follow(const struct push_record_opts *opts, int control, int requests);

#endif
