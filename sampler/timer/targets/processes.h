/*
 * The processes that are sampled: each gets a region, its mappings are published for the walks
 * inside it and its threads are kept up to date, until it ends or becomes another program.
 */
#ifndef SPROF_PROCESSES_H
#define SPROF_PROCESSES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "sampler/timer/targets/publish.h"
#include "sampler/timer/targets/timer_process.h"

struct profile_stats;
struct code_reader;
struct python_files;

struct timer_processes {
	struct timer_process *first; /* newest first */
	struct timer_region_config config;
	struct timer_publish publish;
	struct python_files *pythons; /* NULL: Python frames are not wanted */
	struct code_reader *code_reader;
	struct profile_stats *stats; /* the source's, as the limits */
	struct limits *limits;
	uint64_t names_due_ns; /* when the name of a new process is to be read again */
	bool callers_only;     /* as in source_config */
	pid_t launched;	       /* our child, which comes by itself; 0: none */
	bool launched_came;
	bool no_children; /* what the targets start is not sampled */
	bool stopping;	  /* no process is added, and no thread gets a timer any more */
	/* Called for a process before it is freed. */
	void (*on_drop)(void *context, const struct timer_process *p);
	void *context;
};

/* 0, or -errno, reported; timer_processes_fini() is called in either case. */
int timer_processes_init(struct timer_processes *s, const struct timer_region_config *config,
			 bool wants_python, struct profile_stats *stats, struct limits *limits,
			 const struct sandbox *sandbox, struct table_cache *cache);
void timer_processes_fini(struct timer_processes *s);

/*
 * A process that is about to be sampled: makes its region and publishes its mappings. The caller
 * hands the region to the target. 0 or -errno.
 */
int timer_add_process(struct timer_processes *s, pid_t pid, struct timer_process **ret_process);
/* Forgets a process that could not be reached. */
void timer_drop_process(struct timer_processes *s, struct timer_process *p);
/* Asks for a timer for each thread of a process. */
void timer_want_threads(struct timer_processes *s, struct timer_process *p);
/* Is the process sampled, as the program that it runs now? */
bool timer_is_sampled(const struct timer_processes *s, pid_t pid);
/* Reads the mappings again and publishes them, unless they were read after since_ns. */
void timer_reread(struct timer_processes *s, struct timer_process *p, uint64_t since_ns);
/* Once in a round: heartbeats, finished tables, threads, mappings, the end of processes. */
void timer_processes_poll(struct timer_processes *s);

#endif
