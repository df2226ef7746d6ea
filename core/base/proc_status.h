/* What /proc/ID/status says of a process or a thread. */
#ifndef SPROF_PROC_STATUS_H
#define SPROF_PROC_STATUS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct proc_status {
	pid_t process;	 /* the process that the thread belongs to; itself for its first thread */
	int nr_threads;	 /* that live */
	bool has_memory; /* false: a kernel thread, or one that has ended */
	bool ended;	 /* and waits for its parent to ask how */
};

/* 0, or -errno: -ESRCH where there is none of that number. */
int proc_status_read(pid_t id, struct proc_status *ret_status);
/* The same from the file's text. -EINVAL where it does not name the process. */
int proc_status_parse(const char *text, struct proc_status *ret_status);

/* The text itself, NUL-terminated, cut to the buffer. 0, or -errno as above. */
int proc_status_text(pid_t id, char *text, size_t size);
/* The value of a line "NAME:\tVALUE", up to the end of the text; NULL: there is none. */
const char *proc_status_value(const char *text, const char *name);

/*
 * The number of a thread in the innermost PID namespace that it is in, which is how it knows itself;
 * *ret_nr is how many numbers it has, one where it is in ours. 0: not known, *ret_nr as it was or 0.
 */
pid_t proc_status_inner(pid_t id, int *ret_nr);

#endif
