/*
 * Notices that a process has ended, and finds out how. Its parent alone is told the status; the
 * kernel keeps it for others in the process's descriptor (Linux 6.15), and /proc shows it as long
 * as the parent has not asked. That it was killed for memory is known by the count of such kills
 * that its cgroup keeps.
 */
#ifndef SPROF_TARGET_END_H
#define SPROF_TARGET_END_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct fact_process_end;

struct target_end {
	pid_t pid;
	int pidfd; /* -1: the kernel has none (before Linux 5.3), or the process had ended */
	int kills; /* the file that counts kills for memory, or -1 */
	uint64_t nr_kills_before;
};

void target_end_watch(struct target_end *end, pid_t pid);
/* Of a struct of zeros, too, in which nothing is watched. */
void target_end_fini(struct target_end *end);

/* Has the process ended? false where that cannot be known. */
bool target_end_has_come(const struct target_end *end);
/* Fills in .how and .code of a process that has ended. */
void target_end_ask(const struct target_end *end, struct fact_process_end *ret);

/*
 * For tests: the count behind `key` ("oom_kill") at the beginning of a line of a file's text.
 * false: there is none.
 */
bool target_end_parse_count(const char *text, const char *key, uint64_t *ret);
/* The exit code of a zombie, in the text of /proc/PID/stat. false: it is no zombie. */
bool target_end_parse_stat(const char *text, int *ret_code);

#endif
