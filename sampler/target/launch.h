/*
 * Starts a program so that it is stopped just before its exec: the sampler attaches in between and
 * sees it from its first instruction.
 */
#ifndef SPROF_LAUNCH_H
#define SPROF_LAUNCH_H

#include <sys/types.h>

struct launch {
	pid_t pid;
	int go_fd, error_fd;
};

/*
 * Can a program of that name be run? 0, -ENOENT or -EACCES, as execvp(3) would find. *ret_path (NULL: not asked) is its
 * file, to free().
 */
int launch_find(const char *name, char **ret_path);
/* Forks. 0 or -errno. argv is searched in PATH and ends with NULL. */
int launch_prepare(struct launch *launch, char *const argv[]);
/* Puts NAME=VALUE into its environment. 0 or -errno. */
int launch_set_environment(struct launch *launch, const char *assignment);
/* Lets it exec. 0, or the -errno of exec (the child has ended then). */
int launch_go(struct launch *launch);
/* Instead of launch_go(): the child ends without having run anything. */
void launch_cancel(struct launch *launch);

#endif
