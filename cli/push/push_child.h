/*
 * Pushes a recording while it is made. A child process sends, and its own child reads the file that
 * the recorder writes; both have low priority. The recorder waits for them only once its file is
 * finished. If it is killed, they push what it has written, and end.
 */
#ifndef SPROF_PUSH_CHILD_H
#define SPROF_PUSH_CHILD_H

#include <stdint.h>

struct push_child;
struct push_record_opts;

/*
 * Starts the children. Call it early: they do not inherit what the caller opens or maps later. 0 or
 * -errno, reported, also if a file of the options cannot be read or libcurl is missing.
 */
int push_child_new(const struct push_record_opts *opts, struct push_child **ret_child);

/*
 * Tells the children of a recording that begins, or that is finished if opts->finished. Never
 * waits: if hundreds of recordings wait to be pushed, this one is left out, with a warning. If the
 * children have ended, it says so once, and nothing more is pushed. `child` may be NULL here and
 * below.
 */
void push_child_begin(struct push_child *child, const char *path);

/*
 * Waits until all of the finished recording has been sent, kept, or given up, for no longer than
 * two requests with their retries may take. Returns 0, or -EIO, reported, if something is lost.
 */
int push_child_end(struct push_child *child);

/* Ends the children, if push_child_end() has not; what was not sent is lost. */
void push_child_free(struct push_child *child);

#endif
