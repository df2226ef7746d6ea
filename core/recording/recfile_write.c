/*
 * Creates the file of a recording, appends whole chunks, and marks the file as complete at the end.
 * encode.c makes the content of the chunks.
 */
#include "core/recording/recfile.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>
#include <zstd.h>

#include "core/base/alloc.h"
#include "core/base/buffer.h"
#include "core/base/full_io.h"
#include "core/recording/record.h"
#include "core/recording/encode.h"

#define CHUNK_BYTES (1u << 20) /* content of a chunk; pending stacks and samples may exceed it */
#define ZSTD_LEVEL 3

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "recordings are little-endian");

struct recfile {
	struct sink sink; /* first: the hooks cast back */
	struct encoder encoder;
	int fd;
	int error;	     /* the first write that failed, -errno */
	uint64_t size_bytes; /* whole chunks in the file */
	uint64_t nr_lost;
	uint32_t sequence;
	ZSTD_CCtx *zstd;
	struct buffer stored; /* header and zstd frame of the chunk being written */
};

/* Compresses the encoder's content into w->stored, behind a chunk header. */
static int build_chunk(struct recfile *w, uint16_t flags)
{
	const struct encoder *e = &w->encoder;
	struct record_chunk chunk = {
		.magic = RECORD_CHUNK_MAGIC,
		.kind = RECORD_CHUNK_RECORDS,
		.flags = flags,
		.sequence = w->sequence,
		.raw_size = e->content.size,
		.first = e->first,
		.first_sample = e->first_sample,
	};
	size_t bound = ZSTD_compressBound(e->content.size), n;

	w->stored.size = 0;
	buffer_reserve(&w->stored, sizeof(chunk) + bound);
	n = ZSTD_compress2(w->zstd, w->stored.data + sizeof(chunk), bound, e->content.data,
			   e->content.size);
	if (ZSTD_isError(n))
		return -ENOMEM;
	chunk.stored_size = n;
	chunk.check = XXH64(&chunk, offsetof(struct record_chunk, check), 0);
	memcpy(w->stored.data, &chunk, sizeof(chunk));
	w->stored.size = sizeof(chunk) + n;
	return 0;
}

static void write_chunk(struct recfile *w, uint16_t flags)
{
	int err = w->error;

	if (!err)
		err = build_chunk(w, flags);
	if (!err)
		err = full_write_at(w->fd, w->stored.data, w->stored.size, w->size_bytes);
	if (!err) {
		w->size_bytes += w->stored.size;
		w->sequence++;
	} else {
		/*
		 * Where ftruncate() fails, a reader still stops at the same place, but reports
		 * damage.
		 */
		bool cut = w->error || ftruncate(w->fd, (off_t)w->size_bytes) == 0;

		(void)cut;
		w->error = err;
		w->nr_lost += w->encoder.nr_chunk_samples;
	}
	encoder_next_chunk(&w->encoder);
}

static int write_pending(struct recfile *w, uint16_t flags)
{
	bool more;

	do {
		more = encoder_fill(&w->encoder, CHUNK_BYTES);
		write_chunk(w, more ? 0 : flags);
	} while (more);
	return w->error;
}

int recfile_flush(struct recfile *w)
{
	if (!encoder_has_pending(&w->encoder))
		return w->error;
	return write_pending(w, 0);
}

static void flush_when_full(struct recfile *w)
{
	if (encoder_pending_bytes(&w->encoder) >= CHUNK_BYTES)
		recfile_flush(w);
}

static struct recfile *recfile_of(struct sink *sink)
{
	return (struct recfile *)sink;
}

static uint32_t sink_string(struct sink *sink, const char *s, size_t length)
{
	return profile_string(recfile_of(sink)->encoder.vocabulary, s, length);
}

static uint32_t sink_module(struct sink *sink, const struct profile_module *module)
{
	return profile_module(recfile_of(sink)->encoder.vocabulary, module);
}

static uint32_t sink_thread(struct sink *sink, uint32_t pid, uint32_t tid, uint32_t comm)
{
	return profile_thread(recfile_of(sink)->encoder.vocabulary, pid, tid, comm);
}

static uint32_t sink_frame(struct sink *sink, uint32_t module, uint64_t address)
{
	struct profile *p = recfile_of(sink)->encoder.vocabulary;

	return p->modules[module].kind == MODULE_PYTHON ? profile_python_frame(p, module, address)
							: profile_frame(p, module, address);
}

static uint32_t sink_stack(struct sink *sink, const uint32_t *frames, size_t nr)
{
	struct recfile *w = recfile_of(sink);
	uint32_t id = encoder_stack(&w->encoder, frames, nr);

	flush_when_full(w);
	return id;
}

static void sink_sample(struct sink *sink, const struct profile_sample *sample)
{
	struct recfile *w = recfile_of(sink);

	encoder_sample(&w->encoder, sample);
	flush_when_full(w);
}

static void sink_fact(struct sink *sink, enum fact_kind kind, const void *row)
{
	struct recfile *w = recfile_of(sink);

	encoder_fact(&w->encoder, kind, row);
	/*
	 * The recorder reports limits from here when it ends; copies look for the names of events.
	 */
	if (kind == FACT_LIMIT || kind == FACT_EVENT)
		facts_put(w->encoder.vocabulary, kind, row);
	flush_when_full(w);
}

struct sink *recfile_sink(struct recfile *w)
{
	return &w->sink;
}

static int make_way(const char *path)
{
	struct stat st;
	char *old;
	int err = 0;

	if (lstat(path, &st) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (S_ISLNK(st.st_mode))
		return -ELOOP;
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	if (!S_ISREG(st.st_mode))
		return -EOPNOTSUPP;
	old = xasprintf("%s.old", path);
	if (rename(path, old) < 0)
		err = -errno;
	free(old);
	return err;
}

static void write_header(struct recfile *w, const struct recfile_meta *meta)
{
	struct record_file header = {
		.magic = RECORD_FILE_MAGIC,
		.version_major = RECORD_VERSION_MAJOR,
		.version_minor = RECORD_VERSION_MINOR,
		.header_size = sizeof(header),
		.start_realtime_ns = meta->start_realtime_ns,
		.start_ns = meta->start_ns,
	};

	header.check = XXH64(&header, offsetof(struct record_file, check), 0);
	w->error = full_write_at(w->fd, &header, sizeof(header), 0);
	w->size_bytes = sizeof(header);
}

static void write_meta(struct recfile *w, const struct recfile_meta *meta)
{
	char *freq_hz = xasprintf("%" PRIu32, meta->freq_hz);
	char *nr_cpus = xasprintf("%" PRIu32, meta->nr_cpus);
	const char *const pairs[][2] = {
		{ "hostname", meta->hostname }, { "kernel", meta->kernel },
		{ "command", meta->command },	{ "source", meta->source },
		{ "event", meta->event },	{ "version", meta->version },
		{ "freq_hz", freq_hz },		{ "nr_cpus", nr_cpus },
		{ "boot", meta->boot },		{ "names", meta->names_beside ? "beside" : NULL },
	};

	encoder_meta(&w->encoder, pairs, sizeof(pairs) / sizeof(*pairs));
	recfile_flush(w);
	free(freq_hz);
	free(nr_cpus);
}

const char *recfile_create_reason(int err)
{
	switch (err) {
	case -ELOOP: return "it is a symbolic link, and a recording follows none";
	case -EOPNOTSUPP: return "it is no regular file, as a recording has to be";
	default: return strerror(-err);
	}
}

int recfile_create_in(int fd, const struct recfile_meta *meta, struct recfile **ret_file)
{
	struct recfile *w = xcalloc(1, sizeof(*w));
	int err;

	w->fd = fd;
	w->sink = (struct sink){
		.string = sink_string,
		.module = sink_module,
		.thread = sink_thread,
		.frame = sink_frame,
		.stack = sink_stack,
		.sample = sink_sample,
		.fact = sink_fact,
	};
	encoder_init(&w->encoder);
	w->zstd = ZSTD_createCCtx();
	if (w->zstd) {
		ZSTD_CCtx_setParameter(w->zstd, ZSTD_c_compressionLevel, ZSTD_LEVEL);
		ZSTD_CCtx_setParameter(w->zstd, ZSTD_c_checksumFlag, 1);
		write_header(w, meta);
		write_meta(w, meta);
		err = w->error;
	} else {
		err = -ENOMEM;
	}
	if (err) {
		recfile_free(w);
		return err;
	}
	*ret_file = w;
	return 0;
}

int recfile_create(const char *path, const struct recfile_meta *meta, struct recfile **ret_file)
{
	int fd, err = make_way(path);

	if (err)
		return err;
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	err = recfile_create_in(fd, meta, ret_file);
	if (err)
		unlink(path);
	return err;
}

void recfile_set_stats(struct recfile *w, const struct profile_stats *stats)
{
	w->encoder.stats = *stats;
}

uint64_t recfile_size_bytes(const struct recfile *w)
{
	return w->size_bytes;
}

uint64_t recfile_nr_lost(const struct recfile *w)
{
	return w->nr_lost;
}

struct profile *recfile_vocabulary(struct recfile *w)
{
	return w->encoder.vocabulary;
}

int recfile_write_symbols(struct recfile *w)
{
	encoder_symbols(&w->encoder);
	return recfile_flush(w);
}

/* Overwrites bytes of the header, which needs no room on the disk. */
static int write_complete(struct recfile *w, uint64_t complete)
{
	return full_write_at(w->fd, &complete, sizeof(complete),
			     offsetof(struct record_file, complete));
}

static uint64_t failure(const struct recfile *w)
{
	uint64_t lost = w->nr_lost < UINT32_MAX ? w->nr_lost : UINT32_MAX;

	return RECORD_FAILED << 48 | (uint64_t)(uint16_t)-w->error << 32 | lost;
}

int recfile_finish(struct recfile *w, const struct profile_stats *stats, uint64_t end_ns)
{
	char *end = xasprintf("%" PRIu64, end_ns);
	const char *const pairs[][2] = { { "end_ns", end } };

	if (stats)
		w->encoder.stats = *stats;
	encoder_meta(&w->encoder, pairs, 1);
	free(end);
	write_pending(w, RECORD_CHUNK_LAST);
	if (w->error)
		write_complete(w, failure(w));
	else
		w->error = write_complete(w, RECORD_COMPLETE);
	return w->error;
}

void recfile_free(struct recfile *w)
{
	if (!w)
		return;
	close(w->fd);
	encoder_fini(&w->encoder);
	ZSTD_freeCCtx(w->zstd);
	buffer_fini(&w->stored);
	free(w);
}
