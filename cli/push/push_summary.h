/* What became of what was pushed, in words. */
#ifndef SPROF_PUSH_SUMMARY_H
#define SPROF_PUSH_SUMMARY_H

struct push_opts;
struct pusher;

/* Says it. Returns 0, or -EAGAIN where something was kept, -EIO where something is lost. */
int push_summary(const struct push_opts *opts, struct pusher *pusher);

#endif
