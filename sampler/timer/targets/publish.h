/*
 * What the walks inside all targets of a recording read: the rules of each mapped file, in the
 * arena that they share, and per target its mappings, in its walk_space. Rules are compiled on a
 * thread of their own (table_builder).
 */
#ifndef SPROF_PUBLISH_H
#define SPROF_PUBLISH_H

#include <stdbool.h>
#include <stdint.h>

struct file_table;
struct limits;
struct process;
struct profile_stats;
struct runtime_unwind;
struct sandbox;
struct table_builder;
struct table_cache;
struct timer_process;
struct walk_arena_writer;

struct timer_publish {
	struct file_table *files;
	struct walk_arena_writer *arena;
	struct table_builder *builder;
	struct runtime_unwind *runtime;
	bool has_copies; /* a target sends copies of stacks through runtime code */
	struct profile_stats *stats; /* the source's, as the limits */
	struct limits *limits;
};

/*
 * Files are parsed in the sandbox, which must outlive this (NULL: in this process). 0, or -errno,
 * reported; timer_publish_fini() is called in either case.
 */
int timer_publish_init(struct timer_publish *publish, struct profile_stats *stats,
		       struct limits *limits, const struct sandbox *sandbox,
		       struct table_cache *cache);
/*
 * Ends the compiling, which reads the mapped files; the files and the rules stay until
 * timer_publish_fini().
 */
void timer_publish_stop(struct timer_publish *publish);
void timer_publish_fini(struct timer_publish *publish);
/* Once in a round: puts the tables that are finished into the arena. */
void timer_publish_poll(struct timer_publish *publish);
/*
 * Once in a round: derives rules of runtime code that samples have landed in. Walks inside the
 * target do not use these rules, which could be outdated there: they end where they would need one,
 * and send a copy of the stack, which is unwound here.
 */
void timer_publish_look(struct timer_publish *publish, struct timer_process *p, uint64_t now_ns);
/*
 * Reads the mappings of now->pid and has the rules of new files compiled. 0 or -errno, as
 * process_read_maps().
 */
int timer_publish_read_maps(struct timer_publish *publish, struct process *now);
/* Writes the mappings of a process, and where its interpreter is, to where its walks find them. */
void timer_publish_maps(struct timer_publish *publish, struct timer_process *p);

#endif
