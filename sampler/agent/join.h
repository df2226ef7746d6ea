/* How a process that loaded libsprof.so gets its region. */
#ifndef SPROF_AGENT_JOIN_H
#define SPROF_AGENT_JOIN_H

#include <linux/types.h>

struct agent_region;

/* Meets the recorder of that name and maps what it gives. 0 or -errno. */
long agent_join(__u64 name, struct agent_region **ret_region) __attribute__((visibility("hidden")));
/* Has the recorder of that name take the samples of this process, and waits a moment for it. */
void agent_ask_to_settle(__u64 name) __attribute__((visibility("hidden")));
/* Tells the recorder of that name that this process is another's. */
void agent_say_busy(__u64 name) __attribute__((visibility("hidden")));
/* Unmaps it all again. */
void agent_leave(struct agent_region *region) __attribute__((visibility("hidden")));

#endif
