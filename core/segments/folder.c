/*
 * All paths are relative to the descriptor of the folder, so files stay in it if it is renamed or
 * replaced by a link.
 */
#include "core/segments/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/rights/list_folder.h"
#include "core/rights/own_folder.h"
#include "core/segments/retention.h"

#define LOCK "lock"
#define MAX_ENTRIES (1u << 20) /* of a folder, further ones are ignored */
#define MAX_SAME_TIME 1000
#define STEP_NS (60ll * 1000 * 1000 * 1000) /* a larger change of the time of day is a step */
#define NAMES_REST_NS (3600ll * 1000 * 1000 * 1000)

struct folder {
	char *path;
	int fd, lock;
	int said; /* why a segment could not be deleted, as reported last, -errno */
	struct retention retention;
	uint64_t names_bytes;
	int64_t zero_realtime_ns; /* the time of day when CLOCK_BOOTTIME was 0, at the start */
};

static int lock_folder(int dir, pid_t *ret_owner, int *ret_lock)
{
	int fd = openat(dir, LOCK, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	struct flock lock = { .l_type = F_WRLCK };
	char text[32] = "";
	struct stat st;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode)) {
		close(fd);
		return -EINVAL;
	}
	if (fcntl(fd, F_OFD_SETLK, &lock)) {
		int err = errno == EACCES || errno == EAGAIN ? EWOULDBLOCK : errno;

		if (pread(fd, text, sizeof(text) - 1, 0) > 0)
			*ret_owner = (pid_t)strtol(text, NULL, 10);
		close(fd);
		return -err;
	}
	snprintf(text, sizeof(text), "%d\n", (int)getpid());
	if (ftruncate(fd, 0) || pwrite(fd, text, strlen(text), 0) < 0)
		*ret_owner = 0; /* on a full disk: the number is only for the message */
	*ret_lock = fd;
	return 0;
}

/* Opens and locks the folder, which is made where it is missing. 0 or -errno. */
static int open_folder(struct folder *f, pid_t *ret_owner)
{
	int fd, lock = -1, err;
	const char *why;

	if (mkdir(f->path, 0700) && errno != EEXIST)
		return -errno;
	fd = open(f->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	err = own_folder_check(fd, S_IWGRP | S_IWOTH, &why);
	err = err ? err : lock_folder(fd, ret_owner, &lock);
	if (!err && mkdirat(fd, NAMES_FOLDER, 0700) && errno != EEXIST) {
		err = -errno;
		close(lock);
	}
	if (err) {
		close(fd);
		return err;
	}
	f->fd = fd;
	f->lock = lock;
	return 0;
}

static void close_folder(struct folder *f)
{
	if (f->fd >= 0)
		close(f->fd);
	if (f->lock >= 0)
		close(f->lock);
	f->fd = f->lock = -1;
}

/* Is it the copy of a segment whose packing was cut short? */
static bool is_left_over(const char *name)
{
	uint64_t began;

	return name[0] == '.' && segment_name_parse(name + 1, &began);
}

static void find_segments(struct folder *f)
{
	int64_t now = boottime_ns();
	uint64_t began, realtime = realtime_ns();
	DIR *d = list_folder(f->fd, ".");
	struct dirent *e;
	struct stat st;

	for (size_t i = 0; d && i < MAX_ENTRIES && (e = readdir(d)); i++)
		if (is_left_over(e->d_name))
			unlinkat(f->fd, e->d_name, 0);
		else if (segment_name_parse(e->d_name, &began) &&
			 !fstatat(f->fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) &&
			 S_ISREG(st.st_mode))
			retention_add_older(&f->retention, e->d_name, (uint64_t)st.st_blocks * 512,
					    now, began, realtime);
	if (d)
		closedir(d);
}

int folder_open(const struct folder_opts *opts, struct folder **ret_folder, pid_t *ret_owner)
{
	struct folder *f = xcalloc(1, sizeof(*f));
	int err;

	*ret_owner = 0;
	f->path = xstrdup(opts->path);
	f->fd = f->lock = -1;
	f->retention.keep_ns = opts->keep_ns;
	f->retention.max_bytes = opts->max_bytes;
	f->zero_realtime_ns = (int64_t)realtime_ns() - boottime_ns();
	err = open_folder(f, ret_owner);
	if (err) {
		folder_free(f);
		return err;
	}
	find_segments(f);
	folder_tidy_names(f, boottime_ns());
	*ret_folder = f;
	return 0;
}

void folder_free(struct folder *f)
{
	if (!f)
		return;
	close_folder(f);
	retention_fini(&f->retention);
	free(f->path);
	free(f);
}

int folder_fd(const struct folder *f)
{
	return f->fd;
}

int folder_open_names(int folder)
{
	int fd = openat(folder, NAMES_FOLDER, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

void folder_unlock(struct folder *f)
{
	if (f->lock >= 0)
		close(f->lock);
	f->lock = -1;
}

bool folder_is_there(const struct folder *f)
{
	struct stat now, then;

	return f->fd >= 0 && !fstat(f->fd, &then) && then.st_nlink && !stat(f->path, &now) &&
	       now.st_dev == then.st_dev && now.st_ino == then.st_ino;
}

/* Makes the folder again after it was deleted, and forgets its segments. */
static int reopen(struct folder *f)
{
	pid_t owner;
	int err;

	close_folder(f);
	while (f->retention.nr)
		retention_drop(&f->retention, f->retention.nr - 1);
	err = open_folder(f, &owner);
	if (!err)
		find_segments(f);
	return err;
}

int folder_create_segment(struct folder *f, uint64_t realtime_ns, char name[SEGMENT_NAME_SIZE])
{
	int err = folder_is_there(f) ? 0 : reopen(f), fd;

	for (int i = 0; !err && i < MAX_SAME_TIME; i++, realtime_ns += 1000000) {
		segment_name(realtime_ns, name);
		fd = openat(f->fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			    0600);
		if (fd >= 0)
			return fd;
		if (errno != EEXIST)
			err = -errno;
	}
	return err ? err : -EEXIST;
}

void folder_end_segment(struct folder *f, const char *name, uint64_t size_bytes, int64_t now_ns)
{
	retention_add(&f->retention, name, size_bytes, now_ns);
}

void folder_measure_segment(struct folder *f, const char *name)
{
	struct stat st;

	if (f->fd >= 0 && !fstatat(f->fd, name, &st, AT_SYMLINK_NOFOLLOW) && S_ISREG(st.st_mode))
		retention_set_size(&f->retention, name, (uint64_t)st.st_size);
}

/*
 * Were these names unused since before the oldest segment? Then nothing needs them. They stay for
 * as long again, because a program may come back, but for an hour at most.
 */
static bool names_are_old(const struct folder *f, const struct stat *st, int64_t now_ns)
{
	int64_t used = st->st_mtim.tv_sec * 1000000000ll + st->st_mtim.tv_nsec;
	int64_t oldest = f->retention.nr ? f->retention.segments[0].ended_ns : now_ns;
	int64_t rest = f->retention.nr ? now_ns - oldest : NAMES_REST_NS;

	return used - f->zero_realtime_ns < oldest - (rest < NAMES_REST_NS ? rest : NAMES_REST_NS);
}

void folder_tidy_names(struct folder *f, int64_t now_ns)
{
	int64_t zero = (int64_t)realtime_ns() - boottime_ns();
	bool same_time = llabs(zero - f->zero_realtime_ns) < STEP_NS;
	DIR *d = f->fd < 0 ? NULL : list_folder(f->fd, NAMES_FOLDER);
	struct dirent *e;
	struct stat st;

	f->names_bytes = 0;
	for (size_t i = 0; d && i < MAX_ENTRIES && (e = readdir(d)); i++) {
		if (e->d_name[0] == '.' || fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) ||
		    !S_ISREG(st.st_mode))
			continue;
		/* After a step of the time of day, times of files cannot be compared. */
		if (same_time && names_are_old(f, &st, now_ns) &&
		    strspn(e->d_name, "0123456789abcdef") == strlen(e->d_name) &&
		    !unlinkat(dirfd(d), e->d_name, 0))
			continue;
		f->names_bytes += (uint64_t)st.st_blocks * 512;
	}
	if (d)
		closedir(d);
}

/* Deletes a file if it is still a regular one. 0, also if it is gone, or -errno. */
static int delete_file(const struct folder *f, const char *name)
{
	struct stat st;

	if (f->fd < 0)
		return 0;
	if (fstatat(f->fd, name, &st, AT_SYMLINK_NOFOLLOW))
		return errno == ENOENT ? 0 : -errno;
	if (S_ISREG(st.st_mode) && unlinkat(f->fd, name, 0) && errno != ENOENT)
		return -errno;
	return 0;
}

/* Deletes and forgets a segment. Returns false if it is still there, and says why, once. */
static bool delete_segment(struct folder *f, size_t at)
{
	const char *name = f->retention.segments[at].name;
	int err = delete_file(f, name);

	if (err && err != f->said)
		log_error(-err, "delete '%s/%s'", f->path, name);
	f->said = err ? err : f->said;
	if (!err)
		retention_drop(&f->retention, at);
	return !err;
}

size_t folder_prune(struct folder *f, int64_t now_ns, uint64_t open_bytes, bool one_more)
{
	size_t nr = retention_excess(&f->retention, now_ns, open_bytes + f->names_bytes);
	size_t nr_deleted = 0, nr_left = 0; /* left: those that cannot be deleted */

	while (nr_left < f->retention.nr) {
		if (nr_deleted + nr_left >= nr && (nr_deleted || !one_more))
			break;
		if (delete_segment(f, nr_left))
			nr_deleted++;
		else
			nr_left++;
	}
	return nr_deleted;
}

/* Gives each file of names a second link below KEPT_FOLDER. */
static int link_names(const struct folder *f, int kept)
{
	DIR *d = list_folder(f->fd, NAMES_FOLDER);
	int to = openat(kept, NAMES_FOLDER, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct dirent *e;
	int err = 0;

	for (size_t i = 0; d && to >= 0 && i < MAX_ENTRIES && (e = readdir(d)); i++) {
		if (strspn(e->d_name, "0123456789abcdef") != strlen(e->d_name))
			continue;
		unlinkat(to, e->d_name, 0); /* a newer file has all names of an older one */
		if (linkat(dirfd(d), e->d_name, to, e->d_name, 0))
			err = -errno;
	}
	if (d)
		closedir(d);
	if (to >= 0)
		close(to);
	return err;
}

/* Opens KEPT_FOLDER, which is made where it is missing. A descriptor or -errno. */
static int open_kept(const struct folder *f)
{
	int kept;

	if (f->fd < 0)
		return -ENOENT;
	if (mkdirat(f->fd, KEPT_FOLDER, 0700) && errno != EEXIST)
		return -errno;
	kept = openat(f->fd, KEPT_FOLDER, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (kept < 0)
		return -errno;
	if (mkdirat(kept, NAMES_FOLDER, 0700) && errno != EEXIST) {
		int err = -errno;

		close(kept);
		return err;
	}
	return kept;
}

static uint64_t size_of_segments(int folder)
{
	DIR *d = list_folder(folder, ".");
	uint64_t began, bytes = 0;
	struct dirent *e;
	struct stat st;

	for (size_t i = 0; d && i < MAX_ENTRIES && (e = readdir(d)); i++)
		if (segment_name_parse(e->d_name, &began) &&
		    !fstatat(folder, e->d_name, &st, AT_SYMLINK_NOFOLLOW) && S_ISREG(st.st_mode))
			bytes += (uint64_t)st.st_blocks * 512;
	if (d)
		closedir(d);
	return bytes;
}

/* Returns 1 if the segment was not kept before, 0 if it was or is gone, or -errno. */
static int keep_segment(const struct folder *f, int kept, const char *name)
{
	if (!linkat(f->fd, name, kept, name, 0))
		return 1;
	if (errno == EPERM || errno == EOPNOTSUPP) /* no links here */
		if (!renameat2(f->fd, name, kept, name, RENAME_NOREPLACE))
			return 1;
	return errno == EEXIST || errno == ENOENT ? 0 : -errno;
}

int folder_keep(struct folder *f, int64_t since_ns, uint64_t max_bytes, bool *ret_full)
{
	int kept = open_kept(f), nr = 0, err = 0;
	uint64_t bytes;

	*ret_full = false;
	if (kept < 0)
		return kept;
	bytes = size_of_segments(kept);
	for (size_t i = f->retention.nr; i-- > 0 && !err;) {
		const struct retained *r = &f->retention.segments[i];
		struct stat st;

		if (r->ended_ns < since_ns)
			break;
		if (!fstatat(kept, r->name, &st, AT_SYMLINK_NOFOLLOW))
			continue;
		*ret_full = max_bytes && bytes + r->size_bytes > max_bytes;
		if (*ret_full)
			break;
		err = keep_segment(f, kept, r->name);
		nr += err > 0;
		bytes += err > 0 ? r->size_bytes : 0;
		err = err < 0 ? err : 0;
	}
	if (!err)
		err = link_names(f, kept);
	close(kept);
	return err ? err : nr;
}

int folder_keep_names(struct folder *f)
{
	int kept = open_kept(f), err;

	if (kept < 0)
		return kept;
	err = link_names(f, kept);
	close(kept);
	return err;
}
