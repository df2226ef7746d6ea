/*
 * Tells the sink of each sampled process what it belongs to: cgroup, container, user, parent
 * (struct fact_process). /proc is read at a process's first sample; one that has ended by then has
 * what its parent had.
 */
#ifndef SPROF_PROCESS_FACTS_H
#define SPROF_PROCESS_FACTS_H

#include <sys/types.h>

struct process_facts;
struct sink;

struct process_facts *process_facts_new(void);
void process_facts_free(struct process_facts *facts); /* NULL is fine */

/* A sample of this process goes to the sink. Does nothing for a process that is known. */
void process_facts_sampled(struct process_facts *facts, struct sink *sink, pid_t pid);
/* A process was forked: whatever had that number before is forgotten. */
void process_facts_forked(struct process_facts *facts, pid_t parent, pid_t child);
/*
 * The recording ends: processes that were new when they were read are read again, because engines
 * move a process to its cgroup after they have started it, and servers change their user.
 */
void process_facts_end(struct process_facts *facts, struct sink *sink);

#endif
