/*
 * Starts a program in two steps: a child that waits just before its exec, and the exec. The sampler
 * attaches in between and so sees the program from its first instruction.
 */
#ifndef SPROF_LAUNCH_H
#define SPROF_LAUNCH_H

#include <sys/types.h>

struct launch {
	pid_t pid;
	int go_fd, error_fd;
};

/*
 * Can execvp(3) run a program of that name? 0, -ENOENT or -EACCES. *ret_path, unless ret_path is
 * NULL, is its file, to be freed.
 */
int launch_find(const char *name, char **ret_path);
/*
 * Forks. 0 or -errno. argv is searched in PATH and ends with NULL. The program gets the environment
 * that this program was started with, whatever was changed in environ since.
 */
int launch_prepare(struct launch *launch, char *const argv[]);
/* Puts NAME=VALUE into its environment. 0 or -errno. */
int launch_set_environment(struct launch *launch, const char *assignment);
/* Lets the child exec. 0, or the -errno of exec, after which the child has ended. */
int launch_go(struct launch *launch);
/* Instead of launch_go(): ends the child before its exec. */
void launch_cancel(struct launch *launch);

#endif
