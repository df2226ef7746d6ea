/* A minimal writer of perf.data files: a file holds exactly what the test puts into it. */
#ifndef SPROF_TESTS_PERF_DATA_MAKER_H
#define SPROF_TESTS_PERF_DATA_MAKER_H

#include <string.h>

#include <linux/perf_event.h>
#include <zstd.h>

#include "core/base/buffer.h"

#define MAKER_TYPE                                                                                 \
	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |            \
	 PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN)

static inline void put32(struct buffer *b, uint32_t value)
{
	buffer_add(b, &value, 4);
}

static inline void put64(struct buffer *b, uint64_t value)
{
	buffer_add(b, &value, 8);
}

static inline void put_text(struct buffer *b, const char *s)
{
	static const char zeros[8];
	size_t size = strlen(s) + 1;

	buffer_add(b, s, size);
	buffer_add(b, zeros, -size & 7);
}

/* Begins a record; its body follows, and end_record() fills in the size. */
static inline size_t begin_record(struct buffer *b, uint32_t type, uint16_t misc)
{
	const struct perf_event_header h = { .type = type, .misc = misc };

	buffer_add(b, &h, sizeof(h));
	return b->size - sizeof(h);
}

static inline void end_record(struct buffer *b, size_t start)
{
	const uint16_t size = (uint16_t)(b->size - start);

	memcpy(b->data + start + 6, &size, 2);
}

/* Writes the trailer that every record except samples has. */
static inline void put_trailer(struct buffer *b, uint32_t pid, uint64_t time_ns, uint64_t id)
{
	put32(b, pid);
	put32(b, pid);
	put64(b, time_ns);
	put64(b, id);
}

static inline void put_comm(struct buffer *b, uint32_t pid, const char *comm, uint64_t time_ns)
{
	size_t start = begin_record(b, PERF_RECORD_COMM, 0);

	put32(b, pid);
	put32(b, pid);
	put_text(b, comm);
	put_trailer(b, pid, time_ns, 7);
	end_record(b, start);
}

static inline void put_fork(struct buffer *b, uint32_t pid, uint32_t parent, uint64_t time_ns)
{
	size_t start = begin_record(b, PERF_RECORD_FORK, 0);

	put32(b, pid);
	put32(b, parent);
	put32(b, pid);
	put32(b, parent);
	put64(b, time_ns);
	put_trailer(b, pid, time_ns, 7);
	end_record(b, start);
}

/* An executable mapping of a file, identified by a build-id of `id_size` bytes or by its inode. */
static inline void put_mmap2(struct buffer *b, uint32_t pid, uint64_t at, uint64_t length,
			     const char *path, const uint8_t *id, uint8_t id_size, uint64_t ino,
			     uint64_t time_ns)
{
	size_t start = begin_record(b, PERF_RECORD_MMAP2,
				    PERF_RECORD_MISC_USER |
					    (id_size ? PERF_RECORD_MISC_MMAP_BUILD_ID : 0));
	uint8_t identity[24] = { id_size };

	put32(b, pid);
	put32(b, pid);
	put64(b, at);
	put64(b, length);
	put64(b, 0x1000);
	if (id_size)
		memcpy(identity + 4, id, id_size);
	else
		memcpy(identity + 8, &ino, 8);
	buffer_add(b, identity, sizeof(identity));
	put32(b, 5); /* PROT_READ | PROT_EXEC */
	put32(b, 2);
	put_text(b, path);
	put_trailer(b, pid, time_ns, 7);
	end_record(b, start);
}

/* A sample in user code; `chain` is leaf first. */
static inline void put_sample(struct buffer *b, uint64_t id, uint32_t pid, uint64_t time_ns,
			      uint64_t period, const uint64_t *chain, size_t nr)
{
	size_t start = begin_record(b, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);

	put64(b, id);
	put64(b, nr ? chain[0] : 0);
	put32(b, pid);
	put32(b, pid);
	put64(b, time_ns);
	put64(b, period);
	put64(b, nr + 1);
	put64(b, (uint64_t)PERF_CONTEXT_USER);
	for (size_t i = 0; i < nr; i++)
		put64(b, chain[i]);
	end_record(b, start);
}

/* Packs the records as perf record -z does. */
static inline void put_compressed(struct buffer *b, const struct buffer *records)
{
	size_t bound = ZSTD_compressBound(records->size), start, size;

	start = begin_record(b, 81, 0);
	buffer_reserve(b, bound);
	size = ZSTD_compress(b->data + b->size, bound, records->data, records->size, 1);
	b->size += size;
	end_record(b, start);
}

static inline void put_attr(struct buffer *b, uint64_t config, uint64_t ids_offset)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = config,
		.sample_freq = 99,
		.freq = 1,
		.sample_type = MAKER_TYPE,
		.sample_id_all = 1,
		.mmap2 = 1,
		.comm = 1,
	};

	buffer_add(b, &attr, sizeof(attr));
	put64(b, ids_offset);
	put64(b, 8);
}

/* A file with these records and two events: cpu-clock with id 7, then page faults with id 8. */
static inline void make_perf_data(struct buffer *b, const struct buffer *records,
				  const char *hostname)
{
	enum { HEADER = 104, ATTR = sizeof(struct perf_event_attr) + 16 };
	const uint64_t data = HEADER + 16 + 2 * ATTR;
	size_t text = (strlen(hostname) + 1 + 7) & ~(size_t)7;

	buffer_add(b, "PERFILE2", 8);
	put64(b, HEADER);
	put64(b, ATTR);
	put64(b, HEADER + 16);
	put64(b, 2 * ATTR);
	put64(b, data);
	put64(b, records->size);
	put64(b, 0);
	put64(b, 0);
	put64(b, 1u << 3); /* the hostname */
	for (int i = 0; i < 3; i++)
		put64(b, 0);
	put64(b, 7);
	put64(b, 8);
	put_attr(b, PERF_COUNT_SW_CPU_CLOCK, HEADER);
	put_attr(b, PERF_COUNT_SW_PAGE_FAULTS, HEADER + 8);
	buffer_add(b, records->data, records->size);
	put64(b, data + records->size + 16);
	put64(b, 4 + text);
	put32(b, (uint32_t)text);
	put_text(b, hostname);
}

#endif
