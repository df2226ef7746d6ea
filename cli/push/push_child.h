/*
 * Pushes a recording while it is made. A child process sends, and a child of that reads the file
 * that the recorder writes; both have low priority. The recorder never waits for them before it has
 * finished its file, and if it is killed they push what it had written, and end.
 */
#ifndef SPROF_PUSH_CHILD_H
#define SPROF_PUSH_CHILD_H

#include <stdint.h>

struct push_child;
struct push_record_opts;

/*
 * Starts them, early: what the caller opens or maps later is not theirs. 0 or -errno, reported,
 * also where a file of the options cannot be read or libcurl is missing.
 */
int push_child_new(const struct push_record_opts *opts, struct push_child **ret_child);

/*
 * A recording is there, and something is in it soon; or it is finished, if the options say so. This
 * never waits: where hundreds of recordings wait to be pushed, it is left out, and a warning says
 * so. `child` may be NULL here and below.
 */
void push_child_begin(struct push_child *child, const char *path);

/*
 * The recording is finished: waits until all of it has been sent, kept, or given up, and for no
 * longer than the options allow two requests with their further tries. Returns 0, or -EIO where
 * something is lost, reported.
 */
int push_child_end(struct push_child *child);

/* Ends both if push_child_end() has not; what was not sent is gone. */
void push_child_free(struct push_child *child);

#endif
