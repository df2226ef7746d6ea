/*
 * Reads of another process's memory, and of the files in /proc that the kernel makes out of it
 * (maps, cmdline, environ). Such a read may never return: the page may be handed to userfaultfd(2)
 * or lie in a file whose FUSE server does not answer, and the process may hold the lock of its own
 * memory. So child processes, the readers, make these reads. One that does not answer in time is
 * left behind, and its target is given up: it is not read again for a minute. A later process with
 * the same number is.
 */
#ifndef SPROF_REMOTE_READ_H
#define SPROF_REMOTE_READ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "core/base/buffer.h"

/*
 * Starts the readers. To be called early, with one thread: they are forked from here, and keep the
 * rights that the caller has now. 0 or -errno, not reported; without readers, as in tests, the
 * calling thread makes the reads itself.
 */
int remote_read_start(void);
/*
 * For a forked child that runs beside its parent, as the readers are the parent's. It may start its
 * own. Without them it makes its reads itself, but only of processes of its own user, which must
 * not be user 0; others are refused with -EACCES, so that none can have it wait for ever.
 */
void remote_read_leave(void);
/* Ends the readers. Reports how many processes were given up without a message. */
void remote_read_end(void);

/*
 * Reads memory. Returns how many bytes could be read, less than `size` if a page in between is not
 * there; or -errno: -ETIMEDOUT where the process was given up, -EBUSY where there is no reader, as
 * all are stuck or the process that starts them was killed. Any thread may call it.
 */
ssize_t remote_read(pid_t pid, uint64_t address, void *to, size_t size);
/*
 * Returns a stream of /proc/PID/NAME, of which up to 64 MiB have been read into memory. NULL with
 * errno, ETIMEDOUT as above.
 */
FILE *remote_open(pid_t pid, const char *name);

/* Appends such a file, or the beginning of one longer than `limit`. 0 or -errno as above. */
int remote_file(pid_t pid, const char *name, size_t limit, struct buffer *to);

/* Reads the beginning of such a file, NUL-terminated. 0 or -errno as above; -ESRCH: it is empty. */
int remote_text(pid_t pid, const char *name, char *text, size_t size);

/*
 * Reads several such files at once, whose names newlines separate: waking a reader takes longer
 * than reading a file. Until remote_files_end(), reads of these files of this process are answered
 * by what was read here; those that did not fit into 64 KiB are read when they are asked for. Where
 * one of them does not return, the process is given up.
 */
void remote_files_begin(pid_t pid, const char *names);
void remote_files_end(void);

/*
 * Follows the link /proc/PID/NAME, such as one in map_files. Returns an O_PATH descriptor, or
 * -errno as above.
 */
int remote_open_link(pid_t pid, const char *name);

/* Like readlink(2), for such a link; or -errno as above. */
ssize_t remote_read_link(pid_t pid, const char *name, char *to, size_t size);

/*
 * Opens /proc/PID/NAME with the flags of open(2). Returns a descriptor or -errno as above. While a
 * process is in exec(2), opens of its mem, exe, root and ns wait. Reads through a descriptor of mem
 * may wait for the lock of the memory.
 */
int remote_open_file(pid_t pid, const char *name, int flags);

/* How many times a process was given up. */
uint64_t remote_read_nr_given_up(void);

#endif
