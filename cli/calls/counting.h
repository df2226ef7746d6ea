/*
 * sprof record --calls: counts the calls of chosen functions while samples are taken, and writes
 * the sums to the recording.
 */
#ifndef SPROF_COUNTING_H
#define SPROF_COUNTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct record_calls;
struct sandbox;
struct sink;

/*
 * `specs` are the arguments of --calls: [MODULE:]FUNCTION, where MODULE is a path or a glob of a
 * file's name and FUNCTION a glob, or "python" for all Python functions, "gc" and "imports" for
 * Python's. They must outlive the result, as must the sandbox, in which symbols are read. The
 * functions that `program` (NULL: none) will map are found now, those of other processes when they
 * are added. Returns 0 or -errno, reported.
 */
int record_calls_new(const char *const *specs, size_t nr_specs, bool system_wide, bool no_children,
		     const char *program, const struct sandbox *sandbox,
		     struct record_calls **ret_calls);
/* Every function below accepts NULL and then does nothing. */
void record_calls_free(struct record_calls *calls);

/*
 * Counts in our child that will exec the program, and in its children. Returns 0 or -errno,
 * reported.
 */
int record_calls_add_child(struct record_calls *calls, pid_t pid);
/* The same for a process that runs already; `pid` may be one of its threads. */
int record_calls_add_process(struct record_calls *calls, pid_t pid);
/*
 * Waits until all known files are searched: for files that the caller named without a limit, for
 * those that processes have mapped at most 5 s. A signal that stops the recording ends the wait.
 */
void record_calls_await(struct record_calls *calls);
/* The capabilities that counting uses after record_calls_start(). */
uint64_t record_calls_privileges(const struct record_calls *calls);
/* Calls from begin_ns up to end_ns (CLOCK_MONOTONIC) are counted. */
void record_calls_start(struct record_calls *calls, uint64_t begin_ns, uint64_t end_ns);
/* Takes new events, and looks for newly mapped files when it is time. Call it often. */
void record_calls_follow(struct record_calls *calls, struct sink *sink);
/* Ends counting and writes the counts. Reports functions that were found in no file. */
void record_calls_stop(struct record_calls *calls, struct sink *sink);

#endif
