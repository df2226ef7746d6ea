/*
 * The hierarchy of version 2 is one file system (cgroup2), mounted at /sys/fs/cgroup, or in a
 * folder of it where version 1 is in use too. Any user may have made what lies below a cgroup that
 * is delegated to that user, so the walk is bounded in depth and number.
 */
#include "sampler/selection/cgroups.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "core/base/alloc.h"

#define ROOT "/sys/fs/cgroup"
#define MAX_DEPTH 32
#define MAX_GROUPS 65536

/* Where cgroup2 is mounted; the caller frees it. */
static char *find_mount(void)
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	char *line = NULL, *found = NULL;
	size_t size = 0;

	while (f && !found && getline(&line, &size, f) > 0) {
		char *type = strstr(line, " - cgroup2 ");

		if (type && sscanf(line, "%*s %*s %*s %*s %ms", &found) != 1)
			found = NULL;
	}
	free(line);
	if (f)
		fclose(f);
	return found ? found : xstrdup(ROOT);
}

bool cgroup_exists(const char *folder)
{
	struct statfs fs;

	return !statfs(folder, &fs) && fs.f_type == CGROUP2_SUPER_MAGIC;
}

static int check(const char *path, char **ret_folder)
{
	char *folder = realpath(path, NULL);
	DIR *dir;

	if (!folder)
		return -errno;
	if (!cgroup_exists(folder)) {
		free(folder);
		return -ENOTSUP;
	}
	dir = opendir(folder);
	if (!dir) {
		int err = -errno;

		free(folder);
		return err;
	}
	closedir(dir);
	*ret_folder = folder;
	return 0;
}

int cgroup_find(const char *name, char **ret_folder)
{
	char *mount = find_mount(), *path = NULL;
	int err = -ENOENT;

	if (!strncmp(name, ROOT "/", strlen(ROOT "/")) || !strncmp(name, mount, strlen(mount)))
		err = check(name, ret_folder);
	else
		path = xasprintf("%s/%s", mount, name + strspn(name, "/"));
	if (path)
		err = check(path, ret_folder);
	free(path);
	free(mount);
	return err;
}

int cgroup_open(const char *folder)
{
	int fd = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct statfs fs;

	if (fd < 0)
		return -errno;
	if (!fstatfs(fd, &fs) && fs.f_type == CGROUP2_SUPER_MAGIC)
		return fd;
	close(fd);
	return -ENOTSUP;
}

struct visit {
	void (*fn)(void *context, pid_t pid);
	void *context;
	size_t nr_groups;
};

static void visit_processes(struct visit *v, int folder)
{
	int fd = openat(folder, "cgroup.procs", O_RDONLY | O_CLOEXEC), pid;
	FILE *f = fd >= 0 ? fdopen(fd, "re") : NULL;

	/* A process of another PID namespace has the number 0. */
	while (f && fscanf(f, "%d", &pid) == 1)
		if (pid > 0)
			v->fn(v->context, pid);
	if (f)
		fclose(f);
	else if (fd >= 0)
		close(fd);
}

static void visit_group(struct visit *v, int fd, int depth)
{
	struct dirent *entry;
	DIR *dir;

	visit_processes(v, fd);
	dir = fdopendir(fd);
	if (!dir) {
		close(fd);
		return;
	}
	while (depth < MAX_DEPTH && (entry = readdir(dir))) {
		int below;

		if (entry->d_type != DT_DIR || entry->d_name[0] == '.' ||
		    ++v->nr_groups > MAX_GROUPS)
			continue;
		below = openat(fd, entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (below >= 0)
			visit_group(v, below, depth + 1);
	}
	closedir(dir);
}

void cgroup_visit(const char *folder, void (*fn)(void *context, pid_t pid), void *context)
{
	struct visit v = { .fn = fn, .context = context };
	int fd = cgroup_open(folder);

	if (fd >= 0)
		visit_group(&v, fd, 0);
}
