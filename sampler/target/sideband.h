/*
 * The kernel's reports of executable mappings and execs: MMAP2 and COMM records of a dummy perf
 * event per CPU. Events per task would slow every context switch of the target. Record layouts:
 * include/uapi/linux/perf_event.h, PERF_RECORD_*.
 */
#ifndef SPROF_SIDEBAND_H
#define SPROF_SIDEBAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum sideband_type { SIDEBAND_MMAP, SIDEBAND_EXEC, SIDEBAND_LOST };

struct sideband_record {
	enum sideband_type type;
	pid_t pid;
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	/* SIDEBAND_MMAP; only executable mappings are reported */
	uint64_t start, length, pgoff, dev, ino;
	uint64_t nr_lost; /* SIDEBAND_LOST */
	const char *path; /* NUL-terminated; valid during the callback */
};

/*
 * Parses a record of the ring, `size` bytes with its header. false for kinds that are not used and
 * for malformed ones. The path points into `bytes`.
 */
bool sideband_parse(const void *bytes, size_t size, struct sideband_record *ret_record);

struct sideband;

#define SIDEBAND_RING_BYTES (256u * 1024) /* of each CPU */

/* Opens and starts the events on all CPUs. 0 or -errno. */
int sideband_open(struct sideband **ret);
void sideband_close(struct sideband *s);
/* Adds the rings' descriptors to an epoll set; they become readable when half full. */
int sideband_add_to_epoll(struct sideband *s, int epoll_fd);
/* What the rings take, in bytes. */
uint64_t sideband_memory(const struct sideband *s);
/* Hands over all records, CPU after CPU, so not in the order of time. */
void sideband_read(struct sideband *s, void (*fn)(void *context, const struct sideband_record *),
		   void *context);

#endif
