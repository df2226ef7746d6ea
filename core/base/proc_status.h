/*
 * Processes and threads in /proc: which there are, the text of their small files, and what their
 * status says.
 */
#ifndef SPROF_PROC_STATUS_H
#define SPROF_PROC_STATUS_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Folders with an entry for each process, and for each thread of one. NULL with errno. */
DIR *proc_processes(void);
DIR *proc_threads(pid_t pid);
/* The next id in the folder; 0 after the last one, and where it is NULL. */
pid_t proc_next(DIR *folder);
void proc_close(DIR *folder); /* NULL is fine */

/*
 * Reads a file that one read(2) returns as a whole; `format` gives its path, as for printf. The
 * text is NUL-terminated and cut to the buffer, "" on failure. 0 or -errno; -ESRCH if the process
 * or the thread has ended.
 */
int proc_text(char *text, size_t size, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* The name of a thread, cut to the buffer; false and "" where it has ended. */
bool proc_name(pid_t pid, pid_t tid, char *name, size_t size);

struct proc_status {
	pid_t process;	 /* the thread group: the process of the thread */
	int nr_threads;	 /* living threads */
	bool has_memory; /* false: a kernel thread, or one that has ended */
	bool ended;	 /* it is a zombie */
};

/* 0 or -errno; -ESRCH where no process or thread has that id. */
int proc_status_read(pid_t id, struct proc_status *ret_status);
/* The same from the file's text. -EINVAL where the text does not name the process. */
int proc_status_parse(const char *text, struct proc_status *ret_status);

/* Reads the text as proc_text() does. */
int proc_status_text(pid_t id, char *text, size_t size);
/*
 * Returns the value of the line "NAME:\tVALUE", up to the end of the text; NULL where there is
 * none.
 */
const char *proc_status_value(const char *text, const char *name);

/*
 * Returns the id of a thread in its innermost PID namespace, as the thread itself sees it; 0 where
 * it is not known. *ret_nr is the number of nested namespaces that give it an id: 1 where it is in
 * ours.
 */
pid_t proc_status_inner(pid_t id, int *ret_nr);

#endif
