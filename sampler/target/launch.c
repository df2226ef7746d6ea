/*
 * The child waits at a socket before its exec: it takes assignments for its environment, then an
 * empty string that lets it go. A pipe that exec closes carries the errno of an exec that failed.
 */
#include "sampler/target/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "sampler/target/exec_environment.h"

static bool is_program(const char *path, int *ret_err, char **ret_path)
{
	struct stat st;

	if (stat(path, &st))
		*ret_err = errno == EACCES ? -EACCES : *ret_err;
	else if (!S_ISREG(st.st_mode) || access(path, X_OK))
		*ret_err = -EACCES;
	else if (!ret_path || (*ret_path = xstrdup(path)))
		return true;
	return false;
}

int launch_find(const char *name, char **ret_path)
{
	const char *path = getenv("PATH"), *end;
	int err = -ENOENT;

	if (strchr(name, '/'))
		return is_program(name, &err, ret_path) ? 0 : err;
	if (!*name)
		return -ENOENT;
	/* As execvp(3): without PATH these two; an empty element is the current folder. */
	for (path = path ? path : "/bin:/usr/bin"; path; path = *end ? end + 1 : NULL) {
		char *file;
		bool found;

		end = path + strcspn(path, ":");
		file = xasprintf("%.*s%s%s", (int)(end - path), path, end > path ? "/" : "", name);
		found = is_program(file, &err, ret_path);
		free(file);
		if (found)
			return 0;
	}
	return err;
}

/* In the child: signals as the recorder inherited them; those it catches get their default. */
static void restore_signals(const sigset_t *mask)
{
	for (int i = 1; i < NSIG; i++) {
		struct sigaction a;

		if (sigaction(i, NULL, &a) || a.sa_handler == SIG_IGN || a.sa_handler == SIG_DFL)
			continue;
		a = (struct sigaction){ .sa_handler = SIG_DFL };
		sigaction(i, &a, NULL);
	}
	sigprocmask(SIG_SETMASK, mask, NULL);
}

/* The next string from the recorder, on the heap; NULL at the end. */
static char *read_string(int fd)
{
	size_t size = 0, capacity = 0;
	char *text = NULL;

	do {
		ssize_t n;

		text = xgrow(text, &capacity, size + 1, 1);
		do
			n = read(fd, text + size, 1);
		while (n < 0 && errno == EINTR);
		if (n != 1) {
			free(text);
			return NULL;
		}
	} while (text[size++]);
	return text;
}

/* Takes assignments until the empty string, then executes the program. */
static void __attribute__((noreturn)) run_child(int go_fd, int error_fd, char *const argv[])
{
	char *assignment, **as_given = exec_environment();
	int err;

	if (as_given)
		environ = as_given;

	while ((assignment = read_string(go_fd)) && *assignment)
		putenv(assignment);
	if (!assignment) /* cancelled, or the recorder died */
		_exit(125);
	execvp(argv[0], argv);
	err = errno;
	if (write(error_fd, &err, sizeof(err)) != sizeof(err))
		_exit(126);
	_exit(127);
}

int launch_prepare(struct launch *l, char *const argv[])
{
	int go[2], error[2];
	sigset_t all, mask;
	int err;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, go))
		return -errno;
	if (pipe2(error, O_CLOEXEC)) {
		err = -errno;
		close(go[0]);
		close(go[1]);
		return err;
	}
	/* A signal to the group must not run the recorder's handlers in the child. */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &mask);
	l->pid = fork();
	err = -errno;
	if (!l->pid) {
		close(go[1]); /* so that the read ends if the recorder dies */
		restore_signals(&mask);
		run_child(go[0], error[1], argv);
	}
	sigprocmask(SIG_SETMASK, &mask, NULL);
	close(go[0]);
	close(error[1]);
	l->go_fd = go[1];
	l->error_fd = error[0];
	if (l->pid > 0)
		return 0;
	l->pid = 0;
	close(go[1]);
	close(error[0]);
	return err;
}

int launch_set_environment(struct launch *l, const char *assignment)
{
	const char *end = assignment + strlen(assignment) + 1;

	while (assignment < end) {
		ssize_t n = send(l->go_fd, assignment, (size_t)(end - assignment), MSG_NOSIGNAL);

		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0)
			assignment += n;
	}
	return 0;
}

int launch_go(struct launch *l)
{
	int err = 0;
	ssize_t n;

	n = send(l->go_fd, "", 1, MSG_NOSIGNAL); /* the child may have been killed */
	close(l->go_fd);
	if (n == 1) {
		do
			n = read(l->error_fd, &err, sizeof(err)); /* ends when exec closes it */
		while (n < 0 && errno == EINTR);
	}
	close(l->error_fd);
	if (!err)
		return 0;
	waitpid(l->pid, NULL, 0);
	return -err;
}

void launch_cancel(struct launch *l)
{
	close(l->go_fd);
	close(l->error_fd);
	waitpid(l->pid, NULL, 0);
}
