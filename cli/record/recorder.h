/*
 * What every command that samples holds: the source, what the source needs, and the program that
 * was started, if any. Call the functions in the order of this file. The command owns the sink.
 */
#ifndef SPROF_RECORDER_H
#define SPROF_RECORDER_H

#include <stdint.h>

#include "cli/record/started_program.h"
#include "core/profile/source.h"

struct record_gpu;
struct record_opts;
struct sandbox;
struct table_cache;

struct recorder {
	struct record_opts *opts;
	const struct source_ops *ops; /* the source that was chosen */
	struct source *source;
	enum source_runtime runtime; /* the runtime of the targets */
	struct sandbox *sandbox;     /* where files of targets are parsed */
	struct table_cache *cache;   /* of unwind tables; NULL = there is none */
	struct record_gpu *gpu;	     /* NULL: no GPU data */
	struct started_program program;
};

/*
 * Starts the process that reads the memory of targets, because such a read may never return. Must
 * be called before anything is opened, and before the options are parsed. 0 or -errno, reported.
 */
int recorder_begin(void);
/*
 * Finds the targets, catches the signals that end a recording, and chooses the source. 0 or -errno,
 * reported, as for all functions here that return an int.
 */
int recorder_prepare(struct recorder *r, struct record_opts *opts);
/* Forks the program to start, if any; it waits until recorder_go(). */
int recorder_launch(struct recorder *r);
/* Attaches to the targets. */
int recorder_open(struct recorder *r);
/* Waits a moment until unwind tables of running targets are ready. */
void recorder_await_tables(struct recorder *r);
/* Begins to sample. `privileges` are those that the command needs besides the source's. */
int recorder_start(struct recorder *r, uint64_t privileges);
/* Gives the program its environment and lets it run. 0 or the -errno of exec, not reported. */
int recorder_go(struct recorder *r);

/* Closes the source: no file of a target can be opened from then on. */
void recorder_close_source(struct recorder *r);
void recorder_fini(struct recorder *r);

#endif
