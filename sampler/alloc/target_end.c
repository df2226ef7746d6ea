/*
 * The exit code has the layout of wait(2): the low 7 bits are the signal, the next byte above 8 the
 * status.
 */
#include "sampler/alloc/target_end.h"

#include <ctype.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/profile/process_end.h"

/* struct pidfd_info of linux/pidfd.h, version 0, and its request (Linux 6.13). */
struct pidfd_exit {
	uint64_t mask, cgroup;
	uint32_t ids[11];
	int32_t exit_code;
};
_Static_assert(sizeof(struct pidfd_exit) == 64, "as in linux/pidfd.h");
#define PIDFD_ASK _IOWR(0xff, 11, struct pidfd_exit)
#define PIDFD_ASK_EXIT (1u << 3) /* Linux 6.15: known once the process has been reaped */

#define TEXT_MAX 4096

static bool read_text(int fd, char text[TEXT_MAX])
{
	ssize_t size = fd < 0 ? -1 : pread(fd, text, TEXT_MAX - 1, 0);

	if (size <= 0)
		return false;
	text[size] = '\0';
	return true;
}

/* A file of /proc or /sys. */
static int open_file(const char *name)
{
	return open(name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
}

/* ---- kills for memory */

bool target_end_parse_count(const char *text, const char *key, uint64_t *ret)
{
	size_t length = strlen(key);

	for (const char *at = text; at; at = strchr(at, '\n')) {
		at += *at == '\n';
		if (!strncmp(at, key, length) && at[length] == ' ' &&
		    isdigit((unsigned char)at[length + 1])) {
			*ret = strtoull(at + length + 1, NULL, 10);
			return true;
		}
	}
	return false;
}

static uint64_t count_kills(int fd)
{
	char text[TEXT_MAX];
	uint64_t nr = 0;

	if (read_text(fd, text))
		target_end_parse_count(text, "oom_kill", &nr);
	return nr;
}

/* Opens the file of a cgroup if it counts kills. `path` ends with the line. */
static int open_count(const char *root, const char *path, const char *file)
{
	char text[TEXT_MAX], *name;
	uint64_t nr;
	int fd;

	name = xasprintf("%s%.*s/%s", root, (int)strcspn(path, "\n"), path, file);
	/* A path outside of our cgroup namespace begins with "/..". */
	fd = strstr(name, "/../") ? -1 : open_file(name);
	free(name);
	if (fd >= 0 && read_text(fd, text) && target_end_parse_count(text, "oom_kill", &nr))
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

/* The process's cgroup of version 1 or 2; without any, the whole machine counts. */
static int open_kills(pid_t pid)
{
	char name[64], text[TEXT_MAX];
	int fd, found = -1;

	snprintf(name, sizeof(name), "/proc/%d/cgroup", (int)pid);
	fd = open_file(name);
	if (!read_text(fd, text))
		text[0] = '\0';
	if (fd >= 0)
		close(fd);
	for (const char *line = text; line && found < 0; line = strchr(line, '\n')) {
		const char *path;

		line += *line == '\n';
		path = strchr(line, '/');
		if (path && !strncmp(line, "0::", 3)) {
			found = open_count("/sys/fs/cgroup", path, "memory.events");
			if (found < 0)
				found = open_count("/sys/fs/cgroup/unified", path, "memory.events");
		} else if (path && strstr(line, ":memory:") && strstr(line, ":memory:") < path) {
			found = open_count("/sys/fs/cgroup/memory", path, "memory.oom_control");
		}
	}
	return found >= 0 ? found : open_count("/proc", "", "vmstat");
}

/* ---- life and end */

void target_end_watch(struct target_end *end, pid_t pid)
{
	*end = (struct target_end){
		.pid = pid,
		.pidfd = (int)syscall(SYS_pidfd_open, pid, 0),
		.kills = open_kills(pid),
	};
	end->nr_kills_before = count_kills(end->kills);
}

void target_end_fini(struct target_end *end)
{
	if (!end->pid)
		return;
	if (end->pidfd >= 0)
		close(end->pidfd);
	if (end->kills >= 0)
		close(end->kills);
	*end = (struct target_end){ 0 };
}

bool target_end_has_come(const struct target_end *end)
{
	struct pollfd p = { .fd = end->pidfd, .events = POLLIN };

	return end->pid && end->pidfd >= 0 && poll(&p, 1, 0) == 1;
}

bool target_end_parse_stat(const char *text, int *ret_code)
{
	const char *state = strrchr(text, ')'), *last;

	/* Behind the name, which may hold anything; the code is the last field, number 52. */
	if (!state || state[1] != ' ' || (state[2] != 'Z' && state[2] != 'X'))
		return false;
	last = strrchr(text, ' ');
	if (!last || !isdigit((unsigned char)last[1]))
		return false;
	*ret_code = atoi(last + 1);
	return true;
}

static bool ask_proc(pid_t pid, int *ret_code)
{
	char name[64], text[TEXT_MAX];
	bool known;
	int fd;

	snprintf(name, sizeof(name), "/proc/%d/stat", (int)pid);
	fd = open_file(name);
	known = read_text(fd, text) && target_end_parse_stat(text, ret_code);
	if (fd >= 0)
		close(fd);
	return known;
}

static bool ask_code(const struct target_end *end, int *ret_code)
{
	struct pidfd_exit info = { .mask = PIDFD_ASK_EXIT };

	if (end->pidfd >= 0 && !ioctl(end->pidfd, PIDFD_ASK, &info) && info.mask & PIDFD_ASK_EXIT) {
		*ret_code = info.exit_code;
		return true;
	}
	return ask_proc(end->pid, ret_code);
}

void target_end_ask(const struct target_end *end, struct fact_process_end *ret)
{
	int code;

	ret->how = PROCESS_END_UNKNOWN;
	ret->code = 0;
	if (!ask_code(end, &code)) {
		if (count_kills(end->kills) > end->nr_kills_before) {
			ret->how = PROCESS_END_NO_MEMORY;
			ret->code = SIGKILL;
		}
		return;
	}
	ret->how = code & 0x7f ? PROCESS_END_SIGNAL : PROCESS_END_EXIT;
	ret->code = code & 0x7f ? (uint64_t)(code & 0x7f) : (uint64_t)(code >> 8 & 0xff);
	if (ret->how == PROCESS_END_SIGNAL && ret->code == SIGKILL &&
	    count_kills(end->kills) > end->nr_kills_before)
		ret->how = PROCESS_END_NO_MEMORY;
}
