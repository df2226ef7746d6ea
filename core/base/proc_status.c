/* A status has a line for each value: a name, a colon, a tab, the value. */
#include "core/base/proc_status.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

DIR *proc_processes(void)
{
	return opendir("/proc");
}

DIR *proc_threads(pid_t pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	return opendir(path);
}

pid_t proc_next(DIR *folder)
{
	struct dirent *entry;

	while (folder && (entry = readdir(folder)))
		if (atoi(entry->d_name) > 0)
			return atoi(entry->d_name);
	return 0;
}

void proc_close(DIR *folder)
{
	if (folder)
		closedir(folder);
}

int proc_text(char *text, size_t size, const char *format, ...)
{
	char path[64];
	ssize_t n;
	va_list args;
	int fd;

	text[0] = '\0';
	va_start(args, format);
	vsnprintf(path, sizeof(path), format, args);
	va_end(args);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	n = read(fd, text, size - 1);
	close(fd);
	if (n <= 0)
		return -ESRCH;
	text[n] = '\0';
	return 0;
}

bool proc_name(pid_t pid, pid_t tid, char *name, size_t size)
{
	bool found = !proc_text(name, size, "/proc/%d/task/%d/comm", (int)pid, (int)tid);

	name[strcspn(name, "\n")] = '\0';
	return found;
}

/* The search for "\nNAME:" cannot be misled: the kernel escapes a newline in a thread's name. */
const char *proc_status_value(const char *text, const char *name)
{
	size_t length = strlen(name);

	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (!strncmp(line, name, length) && line[length] == ':')
			return line + length + 1 + strspn(line + length + 1, " \t");
	}
	return NULL;
}

int proc_status_parse(const char *text, struct proc_status *ret)
{
	const char *process = proc_status_value(text, "Tgid"),
		   *state = proc_status_value(text, "State");
	const char *threads = proc_status_value(text, "Threads");
	int number = process ? atoi(process) : 0;

	if (number <= 0)
		return -EINVAL;
	*ret = (struct proc_status){
		.process = number,
		.nr_threads = threads ? atoi(threads) : 0,
		.has_memory = proc_status_value(text, "VmSize"),
		.ended = state && (*state == 'Z' || *state == 'X'),
	};
	return 0;
}

int proc_status_text(pid_t id, char *text, size_t size)
{
	return proc_text(text, size, "/proc/%d/status", (int)id);
}

int proc_status_read(pid_t id, struct proc_status *ret)
{
	char text[8192];
	int err = proc_status_text(id, text, sizeof(text));

	return err ? err : proc_status_parse(text, ret);
}

pid_t proc_status_inner(pid_t tid, int *ret_nr)
{
	char text[8192];
	const char *value;
	pid_t inner = 0;
	int nr = 0;

	if (proc_status_text(tid, text, sizeof(text)))
		return 0;
	value = proc_status_value(text, "NSpid");
	while (value && *value && *value != '\n') {
		char *end;
		long number = strtol(value, &end, 10);

		if (end == value)
			break;
		inner = (pid_t)number;
		nr++;
		value = end + strspn(end, " \t");
	}
	*ret_nr = nr;
	return inner;
}
