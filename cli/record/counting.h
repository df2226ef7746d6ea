/* sprof record --calls: counts calls of chosen functions, and records the sums. */
#ifndef SPROF_COUNTING_H
#define SPROF_COUNTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct record_calls;
struct sink;

/*
 * `specs` are what was given with --calls: [MODULE:]FUNCTION, where MODULE is a path or a glob of a file's name and
 * FUNCTION a glob, or "python" for all Python functions, "gc" and "imports" for Python's; they must outlive the result.
 * The functions of what `program` (NULL: none) will map are found now, those of other processes once they are added.
 * 0 or -errno, reported.
 */
int record_calls_new(const char *const *specs, size_t nr_specs, bool system_wide,
		     const char *program, struct record_calls **ret_calls);
/* From here on NULL is fine everywhere, and does nothing. */
void record_calls_free(struct record_calls *calls);

/* Counts in our child, which is to become the program, and in what it forks. 0 or -errno, reported. */
int record_calls_add_child(struct record_calls *calls, pid_t pid);
/* The same for a process, or the process of a thread, that runs already. */
int record_calls_add_process(struct record_calls *calls, pid_t pid);
/* Calls from begin_ns up to end_ns (CLOCK_MONOTONIC) are counted. */
void record_calls_start(struct record_calls *calls, uint64_t begin_ns, uint64_t end_ns);
/*
 * Takes what has happened, and looks for files that processes have mapped since, where it is time for it. To be called
 * often.
 */
void record_calls_follow(struct record_calls *calls, struct sink *sink);
/* Ends the counting, and writes what was counted. Says which functions were found nowhere. */
void record_calls_stop(struct record_calls *calls, struct sink *sink);

/* False where text is no such spec. */
bool record_calls_is_spec(const char *text);

#endif
