/*
 * Loads libsprof-gpu.so into a process that runs already. Every reason not to is checked before a
 * thread is stopped: the target's mounts must show the same file, its C library must be the one
 * that ours is linked to, and its sockets and process numbers must be those that we see.
 */
#include "cli/gpu/gpu_attach.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/path.h"
#include "core/rights/safe_open.h"
#include "core/untrusted/remote_read.h"
#include "core/untrusted/target_mounts.h"
#include "gpu/region/link.h"
#include "gpu/region/shared_region.h"
#include "sampler/inject/inject_check.h"
#include "sampler/inject/reason.h"
#include "sampler/target/proc_maps.h"
#include "core/base/proc_status.h"
#include "sampler/attach/remote_dlopen.h"

#define ENTRY "sprof_gpu_attach"
#define SAFE_POINT_MS 2000
#define LISTEN_MS 2000

struct mapped {
	bool driver, glibc;
};

static bool is_file(const char *path, const char *name)
{
	return !strncmp(path_base_name(path), name, strlen(name));
}

static int read_maps(pid_t pid, struct mapped *ret)
{
	FILE *f = remote_open(pid, "maps");
	struct file_mapping m;
	char *line = NULL;
	bool executable;
	size_t size = 0;

	*ret = (struct mapped){ false, false };
	if (!f)
		return errno == ENOENT ? -ESRCH : -errno;
	while (getline(&line, &size, f) > 0) {
		if (!proc_maps_parse(line, &m, &executable))
			continue;
		ret->driver |= is_file(m.path, "libcuda.so");
		ret->glibc |= is_file(m.path, "libc.so.6") || is_file(m.path, "libc-2.");
	}
	free(line);
	fclose(f);
	return 0;
}

static bool same_namespace(pid_t pid, const char *name)
{
	char path[64], their_name[64];
	struct stat ours, theirs;
	bool same;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/ns/%s", name);
	if (stat(path, &ours))
		return true; /* a kernel without such namespaces */
	snprintf(their_name, sizeof(their_name), "ns/%s", name);
	fd = remote_open_link(pid, their_name);
	same = fd >= 0 && !fstat(fd, &theirs) && ours.st_dev == theirs.st_dev &&
	       ours.st_ino == theirs.st_ino;
	if (fd >= 0)
		close(fd);
	return same;
}

/* Would the target open the same file as we do? */
static bool sees_file(pid_t pid, const char *path)
{
	int root = target_mounts_open_root(pid), fd = -1;
	struct stat a, b;
	bool sees;

	if (root >= 0)
		fd = safe_open_in_root(root, path, SAFE_OPEN_ELF_MAX);
	sees = fd >= 0 && !stat(path, &a) && !fstat(fd, &b) && a.st_dev == b.st_dev &&
	       a.st_ino == b.st_ino;
	if (fd >= 0)
		close(fd);
	if (root >= 0)
		close(root);
	return sees;
}

static int check(pid_t pid, const char *path, struct inject_reason *reason)
{
	struct mapped mapped;
	int err = read_maps(pid, &mapped), nr_numbers = 1;

	if (err == -EACCES || err == -EPERM)
		return inject_check_rights(pid, reason);
	if (err)
		return inject_refuse(reason, err, "", "its maps cannot be read: %s",
				     strerror(-err));
	if (!mapped.driver)
		return inject_refuse(reason, -ENODEV,
				     "record it once it uses the GPU, or start it under sprof",
				     "it has not loaded CUDA's driver, libcuda.so");
	if (!mapped.glibc)
		return inject_refuse(reason, -ENOTSUP, "",
				     "its C library is not glibc, which " ENTRY "() needs");
	proc_status_inner(pid, &nr_numbers);
	if (!same_namespace(pid, "net") || nr_numbers > 1)
		return inject_refuse(
			reason, -ENOTSUP, "run sprof inside that container",
			"it is in another %s namespace: they would not find each other",
			nr_numbers > 1 ? "PID" : "network");
	if (!sees_file(pid, path))
		return inject_refuse(reason, -ENOENT, "run sprof inside that container",
				     "'%.100s' is not there for it: its mounts are others", path);
	return 0;
}

/* Reads the file into memory first, so that no thread is stopped while the disk is read. */
static void warm_up(const char *path)
{
	char bytes[65536];
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	while (fd >= 0 && read(fd, bytes, sizeof(bytes)) > 0)
		;
	if (fd >= 0)
		close(fd);
}

/* Explains what the library's entry function returned (gpu/agent/agent.c). */
static int refuse_result(int result, struct inject_reason *reason)
{
	if (result == -ECHILD)
		return inject_refuse(reason, result, "",
				     "its parent had the library when it was forked, and CUDA does "
				     "not work in such a child");
	if (result == -EBUSY)
		return inject_refuse(reason, result, "try again", "the library is just starting");
	return inject_refuse(reason, result, "", "the library could not start in it: %s",
			     strerror(result < 0 ? -result : EPROTO));
}

static int load(pid_t pid, const char *path, const struct sandbox *sandbox,
		struct inject_reason *reason)
{
	const struct remote_library library = {
		.path = path,
		.entry = ENTRY,
		.mode = RTLD_NOW,
		.limit_ms = SAFE_POINT_MS,
		.sandbox = sandbox,
	};
	struct remote_dlopen loaded = { 0 };
	int err = check(pid, path, reason);

	if (err)
		return err;
	warm_up(path);
	err = remote_dlopen(pid, &library, &loaded, reason);
	log_debug("a thread of process %d was stopped for %.2f ms to load '%s'", (int)pid,
		  (double)loaded.stop_ns / NS_PER_MS, path);
	if (loaded.stop_ns > REMOTE_DLOPEN_STOP_MS * NS_PER_MS)
		log_warning("a thread of process %d was stopped for %.0f ms, not the usual %u: "
			    "the machine is busy",
			    (int)pid, (double)loaded.stop_ns / NS_PER_MS, REMOTE_DLOPEN_STOP_MS);
	return err || !loaded.result ? err : refuse_result((int)loaded.result, reason);
}

/* Waits until the library that was just loaded has started its thread. */
static int await_peer(pid_t pid, struct gpu_peer *ret)
{
	const struct timespec pause = { 0, 1000000 };
	uint64_t end = monotonic_ns() + LISTEN_MS * 1000000ull;
	int err;

	while ((err = gpu_link_connect(pid, ret)) == -ECONNREFUSED && monotonic_ns() < end)
		nanosleep(&pause, NULL);
	return err;
}

static void report(pid_t pid, const char *path, int err, const struct inject_reason *reason)
{
	if (!reason->why[0]) {
		log_error(-err, "collect GPU data of process %d", (int)pid);
		return;
	}
	log_error(0, "collect GPU data of process %d: %s", (int)pid, reason->why);
	if (reason->hint[0])
		log_hint("%s", reason->hint);
	log_hint("or start it with CUDA_INJECTION64_PATH=%s NVTX_INJECTION64_PATH=%s", path, path);
}

/* Discards what an earlier recorder did not read. */
static void ignore(void *context, const union gpu_any_record *record)
{
	(void)context;
	(void)record;
}

int record_gpu_attach(pid_t pid, const char *path, const struct sandbox *sandbox, bool must,
		      struct gpu_peer *ret)
{
	struct inject_reason reason = { 0 };
	int err = gpu_link_connect(pid, ret);

	if (err == -ECONNREFUSED) {
		err = load(pid, path, sandbox, &reason);
		if (!err)
			err = await_peer(pid, ret);
	}
	if (!err)
		shared_region_drain(ret->region, ignore, NULL);
	if (err && must)
		report(pid, path, err, &reason);
	/*
	 * The source reports a process that has ended or may not be looked at. Whether the latter
	 * uses a GPU is not known.
	 */
	else if (err && err != -ENODEV && err != -ESRCH && err != -EACCES && err != -EPERM)
		log_warning("no GPU data of process %d: %s", (int)pid,
			    reason.why[0] ? reason.why : strerror(-err));
	return err;
}
