/*
 * Requests that could not be sent are kept in a folder, a file each, and sent later in the order of
 * time. The folder has limits: where it is full, the oldest requests are dropped, and counted. It
 * belongs to the user who pushes; tokens are not in it.
 */
#ifndef SPROF_SPOOL_H
#define SPROF_SPOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buffer.h"

struct push_request;
struct spool;

/*
 * The most requests in a spool: to find the oldest, each look lists them in memory, so small ones
 * must have a limit besides that of their bytes.
 */
#define SPOOL_REQUESTS 50000

struct spool_limits {
	uint64_t bytes;	 /* on the disk */
	size_t requests; /* 0: SPOOL_REQUESTS; tests set less */
};

struct spool_stats {
	uint64_t nr_requests;
	uint64_t bytes;	     /* on the disk */
	uint64_t nr_dropped; /* requests that were dropped since the spool was opened */
	uint64_t dropped_samples;
};

/* Makes the folder if it is missing. 0 or -errno, reported. */
int spool_open(const char *path, const struct spool_limits *limits, struct spool **ret_spool);
void spool_close(struct spool *spool); /* NULL is fine */

/* Keeps a request. 0, or -errno, reported; the request is then dropped, and counted. */
int spool_add(struct spool *spool, const struct push_request *request);

/*
 * Takes the lock without which nothing may be taken out: of two recorders with one folder only one
 * sends what is in it.
 */
bool spool_lock(struct spool *spool);
void spool_unlock(struct spool *spool);

/*
 * Reads the oldest request that is not older than the last one that this function returned since
 * spool_rewind(). false: there is none. Files that are damaged are removed and counted.
 */
bool spool_next(struct spool *spool, struct push_request *ret_request);
void spool_rewind(struct spool *spool);
/* Removes the request that spool_next() returned last. */
void spool_remove(struct spool *spool);

void spool_stats(struct spool *spool, struct spool_stats *ret_stats);

/* ---- a request as bytes: in files of a spool, and between processes */

void push_request_encode(const struct push_request *request, struct buffer *ret_bytes);
/* 0 or -EBADMSG. The caller frees the request. */
int push_request_decode(const void *bytes, size_t size, struct push_request *ret_request);

#endif
