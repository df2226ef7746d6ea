/*
 * usage FILE COMMAND...: runs the command and writes to FILE its CPU seconds (including those of
 * the children it waited for) and its peak memory in MB. Exits with the command's status. Passes
 * SIGINT and SIGTERM on to the command.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t child;

static void pass_on(int signal)
{
	kill(child, signal);
}

static double seconds(struct timeval t)
{
	return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

int main(int argc, char **argv)
{
	struct rusage usage;
	FILE *file;
	int status;

	if (argc < 3)
		return 2;
	child = fork();
	if (child == 0) {
		execvp(argv[2], argv + 2);
		perror(argv[2]);
		_exit(127);
	}
	signal(SIGINT, pass_on);
	signal(SIGTERM, pass_on);
	while (wait4(child, &status, 0, &usage) < 0)
		if (errno != EINTR)
			return 1;
	file = fopen(argv[1], "we");
	if (!file)
		return 1;
	fprintf(file, "%.3f %.1f\n", seconds(usage.ru_utime) + seconds(usage.ru_stime),
		(double)usage.ru_maxrss / 1024);
	fclose(file);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
