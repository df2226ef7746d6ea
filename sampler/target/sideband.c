/*
 * A dummy event counts nothing but carries MMAP2 and COMM records. Each record ends in a sample id
 * with pid and time, because of sample_id_all.
 */
#include "sampler/target/sideband.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/cpus.h"
#include "sampler/target/perf_ring.h"

struct ring {
	int fd;
	struct perf_ring ring;
};

struct sideband {
	struct ring *rings;
	size_t nr;
	/* during sideband_read() */
	void (*fn)(void *context, const struct sideband_record *);
	void *context;
};

/* sample_id_all with TID and TIME: the last 16 bytes of every record. */
struct sample_id {
	uint32_t pid, tid;
	uint64_t time;
};

static int open_ring(struct ring *r, int cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
		.mmap = 1,
		.mmap2 = 1,
		.comm = 1,
		.comm_exec = 1,
		.sample_id_all = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.watermark = 1,
		.wakeup_watermark = SIDEBAND_RING_BYTES / 2,
	};
	int err;

	r->fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (r->fd < 0)
		return -errno;
	err = perf_ring_map(&r->ring, r->fd, SIDEBAND_RING_BYTES);
	if (err)
		close(r->fd);
	return err;
}

int sideband_open(struct sideband **ret)
{
	struct sideband *s;
	int *cpus, err;
	size_t nr;

	err = cpus_online(&cpus, &nr);
	if (err)
		return err;
	s = xcalloc(1, sizeof(*s));
	s->rings = xcalloc(nr, sizeof(*s->rings));
	for (size_t i = 0; i < nr && !err; i++) {
		err = open_ring(&s->rings[s->nr], cpus[i]);
		if (!err)
			s->nr++;
		else if (err == -ENODEV) /* the CPU went offline */
			err = 0;
	}
	free(cpus);
	if (err) {
		sideband_close(s);
		return err;
	}
	*ret = s;
	return 0;
}

void sideband_close(struct sideband *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->nr; i++) {
		perf_ring_unmap(&s->rings[i].ring);
		close(s->rings[i].fd);
	}
	free(s->rings);
	free(s);
}

uint64_t sideband_memory(const struct sideband *s)
{
	return s->nr * (uint64_t)SIDEBAND_RING_BYTES;
}

int sideband_add_to_epoll(struct sideband *s, int epoll_fd)
{
	for (size_t i = 0; i < s->nr; i++) {
		struct epoll_event e = { .events = EPOLLIN };

		if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, s->rings[i].fd, &e))
			return -errno;
	}
	return 0;
}

static bool parse_mmap2(const uint8_t *body, size_t size, struct sideband_record *out)
{
	struct perf_mmap2 m;

	/* A path of at least its NUL lies between the fixed part and the sample id. */
	if (size < sizeof(m) + 1)
		return false;
	memcpy(&m, body, sizeof(m));
	if (!memchr(body + sizeof(m), '\0', size - sizeof(m)))
		return false;
	out->type = SIDEBAND_MMAP;
	out->pid = (pid_t)m.pid;
	out->start = m.start;
	out->length = m.length;
	out->pgoff = m.pgoff;
	out->dev = makedev(m.major, m.minor);
	out->ino = m.ino;
	out->path = (const char *)body + sizeof(m);
	return true;
}

bool sideband_parse(const void *bytes, size_t size, struct sideband_record *out)
{
	const uint8_t *body = (const uint8_t *)bytes + sizeof(struct perf_event_header);
	struct perf_event_header h;
	struct sample_id id;
	uint64_t lost;

	if (size < sizeof(h) + sizeof(id))
		return false;
	memcpy(&h, bytes, sizeof(h));
	size -= sizeof(h) + sizeof(id);
	memcpy(&id, body + size, sizeof(id));
	*out = (struct sideband_record){ .pid = (pid_t)id.pid, .time_ns = id.time };
	switch (h.type) {
	case PERF_RECORD_MMAP2: return parse_mmap2(body, size, out);
	case PERF_RECORD_COMM:
		out->type = SIDEBAND_EXEC;
		return h.misc & PERF_RECORD_MISC_COMM_EXEC;
	case PERF_RECORD_LOST:
		if (size < 16)
			return false;
		memcpy(&lost, body + 8, sizeof(lost));
		out->type = SIDEBAND_LOST;
		out->nr_lost = lost;
		return true;
	default: return false;
	}
}

static void on_record(void *context, const uint8_t *bytes, size_t size)
{
	struct sideband_record record;
	struct sideband *s = context;

	if (sideband_parse(bytes, size, &record))
		s->fn(s->context, &record);
}

void sideband_read(struct sideband *s, void (*fn)(void *context, const struct sideband_record *),
		   void *context)
{
	s->fn = fn;
	s->context = context;
	for (size_t i = 0; i < s->nr; i++)
		perf_ring_read(&s->rings[i].ring, on_record, s);
}
