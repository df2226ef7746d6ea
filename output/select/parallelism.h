/* How many threads ran when a sample was taken: sprof record --latency labels samples with it. */
#ifndef SPROF_PARALLELISM_H
#define SPROF_PARALLELISM_H

struct profile;

/* Makes the stack of each sample one frame: "1 thread", "2 threads", "[unknown]". */
void parallelism_replace(struct profile *p);
/* Puts that frame at the root of each stack. */
void parallelism_add_root(struct profile *p);

#endif
