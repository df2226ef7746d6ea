/* Reads a recording while it is written, and makes requests of what came in each interval. */
#ifndef SPROF_PUSH_FOLLOW_H
#define SPROF_PUSH_FOLLOW_H

struct push_record_opts;

/*
 * Reads messages from `control` and writes requests into the pipe `requests`: the path of the
 * recording first, and a NUL; then anything, or the end, says that the recording is finished.
 * Returns the exit status of the process.
 */
int push_follow(const struct push_record_opts *opts, int control, int requests);

#endif
