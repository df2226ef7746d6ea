/* The interpreters among the files that processes map. Each file is looked into once. */
#ifndef SPROF_INTERPRETER_FILES_H
#define SPROF_INTERPRETER_FILES_H

#include <stdbool.h>

struct process;
struct py_layout;
struct python_files;

struct python_files *python_files_new(void);
void python_files_free(struct python_files *files); /* NULL is fine */

/*
 * Looks for an interpreter among the mappings of a process: its layout, at the addresses of the
 * process. false: there is none whose frames can be walked; of one that is known and cannot be, a
 * warning says why, once.
 */
bool python_files_find(struct python_files *files, const struct process *p,
		       struct py_layout *ret_layout);

#endif
