/*
 * Tells the sink of each sampled process what it belongs to: cgroup, container, user, parent
 * (struct fact_process), its rank in a distributed job (struct fact_rank), and what it is to
 * OpenTelemetry (struct fact_resource). /proc is read at a process's first sample; one that has
 * ended by then has what its parent had, but nothing of the environment. What a process publishes
 * of itself in its memory is looked for later, too.
 */
#ifndef SPROF_PROCESS_FACTS_H
#define SPROF_PROCESS_FACTS_H

#include <stddef.h>
#include <sys/types.h>

struct process_facts;
struct sink;

struct process_facts *process_facts_new(void);
void process_facts_free(struct process_facts *facts); /* NULL is fine */
/* The sink knows no process any more: all are read and told again. */
void process_facts_forget(struct process_facts *facts);

/*
 * A thread of this process, under a name that it did not have before, has a sample for the sink. Of
 * a process that is known only the environment is read again: a launcher forks, which gives the
 * child the environment of the parent, and then has it execute the program with its own, which
 * renames it.
 */
void process_facts_sampled(struct process_facts *facts, struct sink *sink, pid_t pid);
/*
 * To be called often: now and then looks whether processes have published what they are
 * (process_contexts.h).
 */
void process_facts_poll(struct process_facts *facts, struct sink *sink);
/* A process was forked: whatever had that number before is forgotten. */
void process_facts_forked(struct process_facts *facts, pid_t parent, pid_t child);
/* A process has ended. Samples of it may still come: it stays known until it is forgotten. */
void process_facts_ended(struct process_facts *facts, pid_t pid);
/* Forgets a process that has ended; not one that was forked since and has that number now. */
void process_facts_forget_ended(struct process_facts *facts, pid_t pid);
/* How many processes are looked at for what they publish. */
size_t process_facts_nr_contexts(const struct process_facts *facts);
/*
 * The recording ends: processes that were new when they were read are read again, because engines
 * move a process to its cgroup after they have started it, and servers change their user. The same
 * holds for what they have published.
 */
void process_facts_end(struct process_facts *facts, struct sink *sink);

#endif
