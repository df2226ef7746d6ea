/*
 * Reads /proc/PID/maps: for processes that ran before the recorder, and for those whose events were
 * lost. Says of each mapping what is behind it.
 */
#ifndef SPROF_PROC_MAPS_H
#define SPROF_PROC_MAPS_H

#include <stdbool.h>
#include <stdint.h>

#include "sampler/target/mapped_file.h"
#include "sampler/target/process.h"

/*
 * Adds the executable mappings of /proc/PID/maps to those of the process. It removes none, because
 * a process that ends meanwhile shows only a part of them. Calls on_file for each file that is new
 * to the table. A kernel thread has no mappings. 0 or -errno (-ESRCH: it has ended).
 */
int process_read_maps(struct process *process, struct file_table *files,
		      void (*on_file)(void *context, struct mapped_file *file), void *context);

/*
 * Parses one line of /proc/PID/maps, and cuts off its newline; false if it is malformed. Fills all
 * of `m` but the pid; the path points into the line.
 */
bool proc_maps_parse(char *line, struct file_mapping *m, bool *ret_executable);

/* What is behind a mapping of this name. */
enum mapping_backing {
	BACKING_FILE,
	BACKING_MEMFD,
	BACKING_RUNTIME,
	BACKING_VDSO,
	BACKING_IGNORED
};
enum mapping_backing mapping_backing(const char *path, uint64_t ino);
/* Is it the stack of the first thread? It may be executable. */
bool mapping_is_stack(const char *path);
/*
 * The entry of a mapping of that process; *ret_new as in mapped_file.h. NULL: the mapping is
 * ignored.
 */
struct mapped_file *mapping_code(struct file_table *files, const struct file_mapping *mapping,
				 pid_t process, bool *ret_new);

#endif
