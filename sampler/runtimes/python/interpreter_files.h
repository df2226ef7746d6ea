/*
 * Finds the interpreter among the files that a process maps, and remembers for each file what it
 * is, so that each is read once however many processes map it.
 */
#ifndef SPROF_INTERPRETER_FILES_H
#define SPROF_INTERPRETER_FILES_H

#include <stdbool.h>

struct process;
struct py_layout;
struct python_files;

struct python_files *python_files_new(void);
void python_files_free(struct python_files *files); /* NULL is fine */

/*
 * The layout of the interpreter in a process, at the addresses of the process. false: it has none
 * whose frames can be walked. An interpreter that is found but unsupported is reported once, with
 * the reason.
 */
bool python_files_find(struct python_files *files, const struct process *p,
		       struct py_layout *ret_layout);

#endif
