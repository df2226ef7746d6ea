/* What became of what was pushed, in words. */
#ifndef SPROF_PUSH_SUMMARY_H
#define SPROF_PUSH_SUMMARY_H

struct push_opts;
struct pusher;

/*
 * Prints it. Returns 0, -EAGAIN if some requests wait in the spool, or -EIO if something is lost.
 */
int push_summary(const struct push_opts *opts, struct pusher *pusher);

#endif
