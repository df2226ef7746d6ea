/*
 * How a process that loaded libsprof.so talks to the recorder with that name, and gets and returns
 * its region. All of it may run in a signal handler.
 */
#ifndef SPROF_AGENT_JOIN_H
#define SPROF_AGENT_JOIN_H

#include <linux/types.h>

struct agent_region;

/* Comes to the rendezvous and maps what it gives. 0 or -errno. */
long agent_join(__u64 name, struct agent_region **ret_region) __attribute__((visibility("hidden")));
/* Has the recorder read the samples of this process, and waits for that, 0.2 s at most. */
void agent_ask_to_settle(__u64 name) __attribute__((visibility("hidden")));
/* Tells the recorder that this process has another one. */
void agent_say_busy(__u64 name) __attribute__((visibility("hidden")));
/* Unmaps the region and the arena. */
void agent_leave(struct agent_region *region) __attribute__((visibility("hidden")));

#endif
