/*
 * Finds the files that a program maps from its first instruction on: the program or its
 * interpreter, and the libraries that it is linked to.
 */
#ifndef SPROF_NEEDED_FILES_H
#define SPROF_NEEDED_FILES_H

/*
 * Calls fn with the path of each. `name` is looked up in PATH as exec does. The program's dynamic
 * linker is asked (ld.so --list): it maps the libraries and runs none of their code. If it does not
 * answer, only the program itself is named.
 */
void needed_files(const char *name, void (*fn)(void *context, const char *path), void *context);

#endif
