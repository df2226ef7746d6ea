/*
 * Keeps requests as files. A file is written under another name and then renamed, so a file with
 * the name of a request is whole. Names begin with the time, so their order is that of time.
 */
#include "output/push/spool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/full_io.h"
#include "core/base/log.h"
#include "core/base/text_file.h"
#include "core/rights/list_folder.h"
#include "core/rights/own_folder.h"
#include "output/push/receiver.h"

#define SUFFIX ".push"
#define UNFINISHED "new-" /* prefix of files that are being written */
#define UNFINISHED_MAX_S 3600
#define FILES_MAX 100000
#define REQUEST_MAX (1u << 30) /* bytes */
#define NAME_BYTES 64

struct entry {
	char name[NAME_BYTES];
	uint64_t size;
};

struct spool {
	char *path;
	int dir;
	int lock; /* descriptor of a file whose lock is held, or -1 */
	uint64_t limit;
	struct entry *entries; /* as of the last look, in order of time */
	size_t nr_entries, capacity, at;
	uint64_t nr_dropped, dropped_samples;
};

int spool_open(const char *path, uint64_t limit_bytes, struct spool **ret_spool)
{
	int err = mkdir(path, 0700) && errno != EEXIST ? -errno : 0, dir = -1;
	const char *why;
	struct spool *s;

	if (!err) {
		dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		err = dir < 0 ? -errno : 0;
	}
	if (err) {
		log_error(-err, "keep profiles in '%s'", path);
		return err;
	}
	err = own_folder_check(dir, S_IWGRP | S_IWOTH, &why);
	if (err) {
		log_error(0, "keep profiles in '%s': %s", path, why);
		close(dir);
		return err;
	}
	s = xcalloc(1, sizeof(*s));
	*s = (struct spool){ .path = xstrdup(path), .dir = dir, .lock = -1, .limit = limit_bytes };
	*ret_spool = s;
	return 0;
}

void spool_close(struct spool *s)
{
	if (!s)
		return;
	spool_unlock(s);
	close(s->dir);
	free(s->entries);
	free(s->path);
	free(s);
}

static int compare_entries(const void *a, const void *b)
{
	return strcmp(((const struct entry *)a)->name, ((const struct entry *)b)->name);
}

static bool is_request(const char *name)
{
	size_t n = strlen(name), m = sizeof(SUFFIX) - 1;

	return n > m && n < NAME_BYTES && !strcmp(name + n - m, SUFFIX) && *name >= '0' &&
	       *name <= '9';
}

/* Removes a file that a killed writer has left. */
static void remove_unfinished(struct spool *s, const char *name, const struct stat *st)
{
	if (!strncmp(name, UNFINISHED, sizeof(UNFINISHED) - 1) &&
	    time(NULL) - st->st_mtime > UNFINISHED_MAX_S)
		unlinkat(s->dir, name, 0);
}

static void list(struct spool *s)
{
	DIR *d = list_folder(s->dir, ".");
	struct dirent *e;

	s->nr_entries = s->at = 0;
	while (d && s->nr_entries < FILES_MAX && (e = readdir(d))) {
		struct stat st;
		struct entry *new;

		if (fstatat(s->dir, e->d_name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode))
			continue;
		remove_unfinished(s, e->d_name, &st);
		if (!is_request(e->d_name))
			continue;
		s->entries =
			xgrow(s->entries, &s->capacity, s->nr_entries + 1, sizeof(*s->entries));
		new = &s->entries[s->nr_entries++];
		snprintf(new->name, sizeof(new->name), "%s", e->d_name);
		new->size = (uint64_t)st.st_size;
	}
	if (d)
		closedir(d);
	if (s->nr_entries)
		qsort(s->entries, s->nr_entries, sizeof(*s->entries), compare_entries);
}

static uint64_t total(const struct spool *s)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < s->nr_entries; i++)
		bytes += s->entries[i].size;
	return bytes;
}

void spool_stats(struct spool *s, struct spool_stats *ret_stats)
{
	list(s);
	*ret_stats =
		(struct spool_stats){ s->nr_entries, total(s), s->nr_dropped, s->dropped_samples };
}

/* 0 or -errno. */
static int read_request(struct spool *s, const char *name, struct push_request *ret_request)
{
	int fd = openat(s->dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK), err;
	size_t size;
	char *bytes;

	if (fd < 0)
		return -errno;
	err = text_file_read(fd, REQUEST_MAX, &bytes, &size);
	if (err)
		return err;
	err = push_request_decode(bytes, size, ret_request);
	free(bytes);
	return err;
}

/* Removes a file, and counts what was in it as lost. */
static void drop(struct spool *s, const char *name)
{
	struct push_request r;

	if (!read_request(s, name, &r)) {
		s->dropped_samples += r.nr_samples;
		push_request_fini(&r);
	}
	if (!unlinkat(s->dir, name, 0))
		s->nr_dropped++;
}

bool spool_lock(struct spool *s)
{
	if (s->lock >= 0)
		return true;
	s->lock = openat(s->dir, "lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (s->lock >= 0 && flock(s->lock, LOCK_EX | LOCK_NB)) {
		close(s->lock);
		s->lock = -1;
	}
	return s->lock >= 0;
}

void spool_unlock(struct spool *s)
{
	if (s->lock >= 0)
		close(s->lock);
	s->lock = -1;
}

void spool_rewind(struct spool *s)
{
	list(s);
}

bool spool_next(struct spool *s, struct push_request *ret_request)
{
	while (s->at < s->nr_entries) {
		const char *name = s->entries[s->at++].name;
		int err = read_request(s, name, ret_request);

		if (!err)
			return true;
		if (err == -EBADMSG) {
			log_warning("'%s/%s' is damaged: it is removed", s->path, name);
			drop(s, name);
		}
	}
	return false;
}

void spool_remove(struct spool *s)
{
	if (s->at)
		unlinkat(s->dir, s->entries[s->at - 1].name, 0);
}

/* Drops the oldest requests. false: the new one would not fit into an empty spool. */
static bool make_room(struct spool *s, uint64_t size)
{
	uint64_t used;

	if (size > s->limit)
		return false;
	list(s);
	used = total(s);
	for (size_t i = 0; i < s->nr_entries && used + size > s->limit; i++) {
		drop(s, s->entries[i].name);
		used -= s->entries[i].size;
	}
	return true;
}

static int write_file(struct spool *s, const char *name, const struct buffer *bytes)
{
	int fd = openat(s->dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	int err = fd < 0 ? -errno : full_write(fd, bytes->data, bytes->size);

	if (!err && fsync(fd))
		err = -errno;
	if (fd >= 0 && close(fd) && !err)
		err = -errno;
	return err;
}

/* 0 or -errno. */
static int write_request(struct spool *s, const struct buffer *bytes)
{
	char temporary[NAME_BYTES], name[NAME_BYTES];
	struct timespec now;
	uint32_t random = 0;
	int err;

	if (getrandom(&random, sizeof(random), GRND_NONBLOCK) < 0)
		random = (uint32_t)getpid();
	clock_gettime(CLOCK_REALTIME, &now);
	snprintf(name, sizeof(name), "%010llu%09ld-%08x" SUFFIX, (unsigned long long)now.tv_sec,
		 now.tv_nsec, random);
	snprintf(temporary, sizeof(temporary), UNFINISHED "%08x-%d", random, (int)getpid());
	err = write_file(s, temporary, bytes);
	if (!err && renameat(s->dir, temporary, s->dir, name))
		err = -errno;
	if (err)
		unlinkat(s->dir, temporary, 0);
	return err;
}

int spool_add(struct spool *s, const struct push_request *request)
{
	struct buffer bytes = { 0 };
	int err = -EFBIG;

	push_request_encode(request, &bytes);
	if (make_room(s, bytes.size))
		err = write_request(s, &bytes);
	/* A full disk is a limit too. */
	for (size_t i = 0; i < s->nr_entries && (err == -ENOSPC || err == -EDQUOT); i++) {
		drop(s, s->entries[i].name);
		err = write_request(s, &bytes);
	}
	buffer_fini(&bytes);
	if (!err)
		return 0;
	s->nr_dropped++;
	s->dropped_samples += request->nr_samples;
	log_error(-err, "keep a profile in '%s'", s->path);
	return err;
}
