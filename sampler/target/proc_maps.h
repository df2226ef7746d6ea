/*
 * Reads /proc/PID/maps, for processes that were there before us and for those whose events were
 * lost.
 */
#ifndef SPROF_PROC_MAPS_H
#define SPROF_PROC_MAPS_H

#include <stdbool.h>
#include <stdint.h>

#include "sampler/target/mapped_file.h"
#include "sampler/target/process.h"

/*
 * Adds the executable mappings of /proc/PID/maps to what the process has. Adds only: a process that
 * ends while its file is being read shows a list cut short. `on_code` is told of code seen for the
 * first time. A kernel thread has none. 0 or -errno (-ESRCH: it has ended).
 */
int process_read_maps(struct process *process, struct file_table *codes,
		      void (*on_code)(void *context, struct mapped_file *code), void *context);

/*
 * One line of /proc/PID/maps; false where it is none. Fills all of `m` but the pid; its path lies in
 * the line, which loses its newline.
 */
bool proc_maps_parse(char *line, struct file_mapping *m, bool *ret_executable);

/* What a mapping of this name is backed by. */
enum mapping_backing { BACKING_FILE, BACKING_MEMFD, BACKING_JIT, BACKING_VDSO, BACKING_IGNORED };
enum mapping_backing mapping_backing(const char *path, uint64_t ino);
/* Is it the stack of the first thread? It may be executable. */
bool mapping_is_stack(const char *path);
/*
 * The code behind a mapping of that process; *ret_new as in code.h. NULL where it is none of ours,
 * or the table is full.
 */
struct mapped_file *mapping_code(struct file_table *codes, const struct file_mapping *mapping,
				 pid_t process, bool *ret_new);

#endif
