/*
 * What every command that samples holds: the source, what the source needs, and the program that
 * was started, if any. The functions are called in the order in which they stand here. The command
 * owns the sink.
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
	enum source_runtime runtime; /* of the targets */
	struct sandbox *sandbox;     /* where files of targets are parsed */
	struct table_cache *cache;   /* of unwind tables; NULL = there is none */
	struct record_gpu *gpu;	     /* NULL: no GPU data */
	struct started_program program;
};

/*
 * Starts the process that reads the memory of targets: without it a hostile target could stop the
 * recorder for good. Called before anything is opened and before the options are read. 0 or -errno,
 * reported.
 */
int recorder_begin(void);
/*
 * Finds the targets, catches the signals that end a recording, and chooses the source. 0 or -errno,
 * reported, as for all functions here that return an int.
 */
int recorder_prepare(struct recorder *r, struct record_opts *opts);
/* Forks the program, if there is one; it waits. */
int recorder_launch(struct recorder *r);
/* Attaches to the targets. */
int recorder_open(struct recorder *r);
/* Gives the unwind tables of what runs already a moment to be ready. */
void recorder_await_tables(struct recorder *r);
/* Sampling begins. `privileges` are those that the command needs beside the source's. */
int recorder_start(struct recorder *r, uint64_t privileges);
/* Gives the program its environment and lets it run. 0 or the -errno of exec, not reported. */
int recorder_go(struct recorder *r);

/* Closes the source: no file of a target can be opened from then on. */
void recorder_close_source(struct recorder *r);
void recorder_fini(struct recorder *r);

#endif
