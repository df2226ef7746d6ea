/*
 * The environment that the caller gave to this program. If the program's file has capabilities, the
 * dynamic linker removes LD_LIBRARY_PATH, TMPDIR and the like from environ, which is right for
 * sprof; but a program that sprof starts for its caller gets them all.
 */
#ifndef SPROF_EXEC_ENVIRONMENT_H
#define SPROF_EXEC_ENVIRONMENT_H

/*
 * Returns the assignments NAME=VALUE in the caller's order, then NULL; the array is the caller's to
 * free, the strings are not. NULL where the kernel does not say where they are.
 */
char **exec_environment(void);

/* Returns the value of a variable in that environment; NULL where it is not set. */
const char *exec_environment_value(const char *name);

#endif
