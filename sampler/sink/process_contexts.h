/*
 * What sampled processes have published of themselves (core/untrusted/process_context.h). They do
 * that when they are ready, which may be long after their first sample, so each is looked at again
 * and again, each time after four times as long, also as it has run before its first sample; one
 * that has published is looked at twice a minute, and read where it has changed. At most 40 looks
 * are made in a second, all together; where there are thousands of processes, a thousandth of the
 * time is spent on them.
 */
#ifndef SPROF_PROCESS_CONTEXTS_H
#define SPROF_PROCESS_CONTEXTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct process_contexts;

struct process_contexts *process_contexts_new(void);
void process_contexts_free(struct process_contexts *contexts); /* NULL is fine */

/*
 * This process is sampled, and looked at soon. `age_ns`: for how long it has run, if it is new.
 * Returns whether it is known to have published.
 */
bool process_contexts_add(struct process_contexts *contexts, pid_t pid, uint64_t age_ns);
/*
 * May a process that is about to be added be looked at at once? This is cheap where its maps are
 * read with other files (remote_files_begin), and makes sense for one that has run for a while.
 */
bool process_contexts_may_look(struct process_contexts *contexts, pid_t pid);
/* Looks at it, after it was added. true: it says something. */
bool process_contexts_look(struct process_contexts *contexts, pid_t pid);
void process_contexts_forget(struct process_contexts *contexts, pid_t pid);
/* How many processes are known. */
size_t process_contexts_nr(const struct process_contexts *contexts);

/*
 * What it has published: the service, or "", and attributes as in OTEL_RESOURCE_ATTRIBUTES. Both
 * are good until the next call. false: nothing.
 */
bool process_contexts_find(const struct process_contexts *contexts, pid_t pid,
			   const char **ret_service, const char **ret_attributes);

/* Makes the looks that are due, and calls changed() for each process that says something else. */
void process_contexts_poll(struct process_contexts *contexts,
			   void (*changed)(void *context, pid_t pid), void *context);
/* At the end of a recording: looks at processes that were looked at only a few times. */
void process_contexts_end(struct process_contexts *contexts,
			  void (*changed)(void *context, pid_t pid), void *context);

#endif
