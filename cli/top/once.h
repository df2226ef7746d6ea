/* Prints one picture of sprof top as text, for scripts and without a terminal. */
#ifndef SPROF_ONCE_H
#define SPROF_ONCE_H

struct live_answer;
struct top_opts;

void once_print(const struct live_answer *answer, const struct top_opts *opts);

#endif
