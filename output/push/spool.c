/*
 * Keeps requests as files. A file is written under another name and then renamed, so a file with
 * the name of a request is whole. Names begin with the time, so their order is that of time. A
 * folder may hold more requests than are listed at once: all are counted, and the oldest are
 * listed.
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
#define REQUEST_MAX (1u << 30) /* bytes */
#define BLOCK 4096u	       /* bytes; most file systems give a file whole blocks of that size */
#define NAME_BYTES 64

struct entry {
	char name[NAME_BYTES];
	uint64_t bytes; /* on the disk */
};

struct spool {
	char *path;
	int dir;
	int lock; /* descriptor of a file whose lock is held, or -1 */
	struct spool_limits limits;
	uint64_t nr_requests, bytes; /* of all requests, as of the last look */
	struct entry *entries;	     /* the oldest of them, in order of time */
	size_t nr_entries, capacity, at;
	uint64_t nr_dropped, dropped_samples;
};

int spool_open(const char *path, const struct spool_limits *limits, struct spool **ret_spool)
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
	*s = (struct spool){ .path = xstrdup(path), .dir = dir, .lock = -1, .limits = *limits };
	if (!s->limits.requests)
		s->limits.requests = SPOOL_REQUESTS;
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

/* The larger of both: a file system may compress what it holds, or not yet know where it lies. */
static uint64_t bytes_on_disk(const struct stat *st)
{
	uint64_t blocks = (uint64_t)st->st_blocks * 512, size = (uint64_t)st->st_size;

	return blocks > size ? blocks : size;
}

/* Sorts what was listed, and keeps the oldest `nr`. */
static void keep_oldest(struct spool *s, size_t nr)
{
	if (s->nr_entries)
		qsort(s->entries, s->nr_entries, sizeof(*s->entries), compare_entries);
	if (s->nr_entries > nr)
		s->nr_entries = nr;
}

/* Counts a request and lists it, among twice as many as a spool may hold. */
static void add_entry(struct spool *s, const char *name, uint64_t bytes)
{
	struct entry *new;

	s->nr_requests++;
	s->bytes += bytes;
	if (s->nr_entries == 2 * s->limits.requests)
		keep_oldest(s, s->limits.requests);
	s->entries = xgrow(s->entries, &s->capacity, s->nr_entries + 1, sizeof(*s->entries));
	new = &s->entries[s->nr_entries++];
	snprintf(new->name, sizeof(new->name), "%s", name);
	new->bytes = bytes;
}

static void list(struct spool *s)
{
	DIR *d = list_folder(s->dir, ".");
	struct dirent *e;

	s->nr_entries = s->at = 0;
	s->nr_requests = s->bytes = 0;
	while (d && (e = readdir(d))) {
		struct stat st;

		if (fstatat(s->dir, e->d_name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode))
			continue;
		remove_unfinished(s, e->d_name, &st);
		if (is_request(e->d_name))
			add_entry(s, e->d_name, bytes_on_disk(&st));
	}
	if (d)
		closedir(d);
	/* Where some were left out, newer ones than those may be listed, but not among so many. */
	keep_oldest(s, s->nr_requests > s->nr_entries ? s->limits.requests : s->nr_entries);
}

void spool_stats(struct spool *s, struct spool_stats *ret_stats)
{
	list(s);
	*ret_stats = (struct spool_stats){
		.nr_requests = s->nr_requests,
		.bytes = s->bytes,
		.nr_dropped = s->nr_dropped,
		.dropped_samples = s->dropped_samples,
	};
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
static void drop(struct spool *s, const struct entry *e)
{
	struct push_request r = { 0 };
	bool removed;

	read_request(s, e->name, &r); /* of one that is damaged, no samples are known */
	removed = !unlinkat(s->dir, e->name, 0);
	if (removed || errno == ENOENT) { /* another recorder may have sent it meanwhile */
		s->nr_requests--;
		s->bytes -= e->bytes;
	}
	if (removed) {
		s->nr_dropped++;
		s->dropped_samples += r.nr_samples;
	}
	push_request_fini(&r);
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
		const struct entry *e = &s->entries[s->at++];
		int err = read_request(s, e->name, ret_request);

		if (!err)
			return true;
		if (err == -EBADMSG) {
			log_warning("'%s/%s' is damaged: it is removed", s->path, e->name);
			drop(s, e);
		}
	}
	return false;
}

void spool_remove(struct spool *s)
{
	if (s->at)
		unlinkat(s->dir, s->entries[s->at - 1].name, 0);
}

static bool has_room(const struct spool *s, uint64_t bytes)
{
	return s->bytes + bytes <= s->limits.bytes && s->nr_requests < s->limits.requests;
}

/*
 * Drops the oldest requests. 0; -EFBIG: the new one would not fit into an empty spool; -ENOSPC:
 * files cannot be removed.
 */
static int make_room(struct spool *s, uint64_t size)
{
	uint64_t bytes = (size + BLOCK - 1) / BLOCK * BLOCK, nr_before;

	if (bytes > s->limits.bytes)
		return -EFBIG;
	do {
		list(s);
		nr_before = s->nr_requests;
		while (!has_room(s, bytes) && s->at < s->nr_entries)
			drop(s, &s->entries[s->at++]);
	} while (!has_room(s, bytes) && s->nr_requests < nr_before);
	return has_room(s, bytes) ? 0 : -ENOSPC;
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
	int err;

	push_request_encode(request, &bytes);
	err = make_room(s, bytes.size);
	if (!err)
		err = write_request(s, &bytes);
	/* A full disk is a limit too. */
	while ((err == -ENOSPC || err == -EDQUOT) && s->at < s->nr_entries) {
		drop(s, &s->entries[s->at++]);
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
