/*
 * Reads the file of a recording chunk by chunk; decode.c reads what is inside. A chunk with damaged
 * content is skipped; if its header is damaged, the next header is searched for. So one bad sector
 * costs only the chunks it lies in.
 */
#include "core/recording/recfile.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>
#include <zstd.h>

#include "core/base/alloc.h"
#include "core/profile/column.h"
#include "core/recording/part_sums.h"
#include "core/recording/record.h"
#include "core/recording/decode.h"

#define READ_BYTES (256u * 1024)
#define MAX_HEADER_SIZE 4096

struct reader {
	FILE *f;
	uint8_t *data; /* read but not yet taken: [start, end) */
	size_t start, end, capacity;
	int error; /* -errno of a failed read */

	ZSTD_DCtx *zstd;
	uint8_t *content;
	size_t content_capacity;
	struct decoder decoder;

	bool complete;	    /* by the file header */
	int write_error;    /* by the file header: errno of the write that failed, or 0 */
	uint64_t unwritten; /* by the file header: samples lost through that failure */
	bool last;	    /* the chunk marked as last was read */
	uint32_t nr_good;   /* chunks read in full */
	uint32_t next_sequence;
	uint32_t nr_damaged;
	bool any_good_before;	     /* damage was found, the first of it after chunk ... */
	uint32_t good_before_damage; /* ... of this number */
};

bool recfile_is_recording(const void *data, size_t size)
{
	size_t n = sizeof(RECORD_FILE_MAGIC) - 1;

	return size && memcmp(data, RECORD_FILE_MAGIC, size < n ? size : n) == 0;
}

/* Makes `size` bytes available at r->data + r->start; false where the file ends before. */
static bool see(struct reader *r, size_t size)
{
	while (r->end - r->start < size) {
		size_t n;

		if (r->start) {
			memmove(r->data, r->data + r->start, r->end - r->start);
			r->end -= r->start;
			r->start = 0;
		}
		r->data = xgrow(r->data, &r->capacity, r->end + READ_BYTES, 1);
		errno = 0;
		n = fread(r->data + r->end, 1, r->capacity - r->end, r->f);
		r->end += n;
		if (!n) {
			if (ferror(r->f))
				r->error = errno ? -errno : -EIO;
			return false;
		}
	}
	return true;
}

static void note_damage(struct reader *r)
{
	if (!r->nr_damaged++) {
		r->any_good_before = r->next_sequence > 0;
		r->good_before_damage = r->next_sequence - 1;
	}
}

static void take_complete(struct reader *r, uint64_t complete)
{
	r->complete = complete == RECORD_COMPLETE;
	if (complete >> 48 != RECORD_FAILED)
		return;
	r->write_error = (int)(complete >> 32 & 0xffff);
	r->unwritten = complete & UINT32_MAX;
}

/* Reads the file header. 0 or -errno. */
static int read_file_header(struct reader *r, struct profile *p)
{
	struct record_file header;
	size_t size = sizeof(header);

	if (!see(r, sizeof(header.magic)) || !recfile_is_recording(r->data, sizeof(header.magic)))
		return r->error ? r->error : -EINVAL;
	if (!see(r, sizeof(header))) {
		r->start = r->end;
		return r->error;
	}
	memcpy(&header, r->data, sizeof(header));
	if (header.check != XXH64(&header, offsetof(struct record_file, check), 0)) {
		note_damage(r); /* the rest can be read without the damaged fields */
	} else if (header.version_major != RECORD_VERSION_MAJOR) {
		return -EPROTONOSUPPORT;
	} else {
		p->meta.start_realtime_ns = header.start_realtime_ns;
		p->meta.start_ns = header.start_ns;
		take_complete(r, header.complete);
		if (header.header_size > size && header.header_size <= MAX_HEADER_SIZE)
			size = header.header_size;
	}
	r->start += see(r, size) ? size : sizeof(header);
	return r->error;
}

static bool chunk_header_is_good(const struct record_chunk *chunk)
{
	return memcmp(chunk->magic, RECORD_CHUNK_MAGIC, sizeof(chunk->magic)) == 0 &&
	       chunk->check == XXH64(chunk, offsetof(struct record_chunk, check), 0) &&
	       chunk->raw_size <= RECORD_MAX_CHUNK &&
	       chunk->stored_size <= ZSTD_compressBound(RECORD_MAX_CHUNK);
}

/* Moves to the next place where a chunk may start, or to the end of the file. */
static void skip_to_magic(struct reader *r)
{
	const size_t n = sizeof(RECORD_CHUNK_MAGIC) - 1;

	for (r->start++; see(r, n); r->start = r->end - (n - 1)) {
		const uint8_t *found =
			memmem(r->data + r->start, r->end - r->start, RECORD_CHUNK_MAGIC, n);

		if (found) {
			r->start = (size_t)(found - r->data);
			return;
		}
	}
	r->start = r->end;
}

static bool decode_content(struct reader *r, const struct record_chunk *chunk, const uint8_t *frame)
{
	size_t n;

	r->content = xgrow(r->content, &r->content_capacity, chunk->raw_size + 1, 1);
	n = ZSTD_decompressDCtx(r->zstd, r->content, chunk->raw_size, frame, chunk->stored_size);
	if (ZSTD_isError(n) || n != chunk->raw_size)
		return false;
	return decoder_chunk(&r->decoder, chunk, r->content, n);
}

/* Reads a chunk whose header is intact and whose content is in the buffer. */
static void take_chunk(struct reader *r, const struct record_chunk *chunk)
{
	const uint8_t *frame = r->data + r->start + sizeof(*chunk);

	if (chunk->sequence < r->next_sequence) {
		note_damage(r); /* a second copy of a chunk, whose numbers are taken already */
	} else {
		if (chunk->sequence > r->next_sequence && !r->nr_damaged)
			note_damage(r);
		if (chunk->kind == RECORD_CHUNK_RECORDS && !decode_content(r, chunk, frame))
			note_damage(r);
		else
			r->nr_good++;
		r->next_sequence = chunk->sequence + 1;
		r->last = chunk->flags & RECORD_CHUNK_LAST;
	}
	r->start += sizeof(*chunk) + chunk->stored_size;
}

static void read_chunks(struct reader *r)
{
	struct record_chunk chunk;

	while (!r->last && !r->decoder.is_of_other_host && see(r, sizeof(chunk))) {
		memcpy(&chunk, r->data + r->start, sizeof(chunk));
		if (!chunk_header_is_good(&chunk)) {
			note_damage(r);
			skip_to_magic(r);
			continue;
		}
		if (!see(r, sizeof(chunk) + chunk.stored_size))
			break;
		take_chunk(r, &chunk);
	}
}

/* Says in words why the recording is not whole; "" if it is. */
static char *describe(const struct reader *r)
{
	if (r->nr_damaged && r->any_good_before)
		return xasprintf("damaged after chunk %" PRIu32 "; %" PRIu32
				 " chunks could be read",
				 r->good_before_damage, r->nr_good);
	if (r->nr_damaged)
		return xasprintf("damaged at its start; %" PRIu32 " chunks could be read",
				 r->nr_good);
	if (r->last)
		return xstrdup("");
	if (r->write_error)
		return xasprintf("it could not be written: %s", strerror(r->write_error));
	if (r->complete)
		return xasprintf("cut off after %" PRIu32 " chunks", r->nr_good);
	return xstrdup("the recorder was killed, or is still running");
}

/* Counts the samples from first_sample on, and what is missing from them. */
static void finish_profile(struct reader *r, struct profile *p, size_t first_sample)
{
	const struct decoder *d = &r->decoder;
	uint64_t lost, nr = p->nr_samples - first_sample + d->nr_cut;

	p->meta.unfinished = !r->last || r->nr_damaged;
	for (size_t i = first_sample; i < p->nr_samples; i++)
		p->stats.nr_samples += !column_table[p->samples[i].column].exact;
	lost = d->nr_claimed > nr ? d->nr_claimed - nr : 0;
	if (lost < r->unwritten)
		lost = r->unwritten;
	if (__builtin_add_overflow(p->stats.nr_lost, lost, &p->stats.nr_lost))
		p->stats.nr_lost = UINT64_MAX;
	if (p->nr_samples == first_sample)
		return;
	if (!p->meta.end_ns)
		p->meta.end_ns = d->max_time_ns;
	if (!p->meta.start_ns)
		p->meta.start_ns = d->min_time_ns;
}

static int reader_init(struct reader *r, FILE *f, struct profile *p)
{
	*r = (struct reader){ .f = f, .zstd = ZSTD_createDCtx() };
	decoder_init(&r->decoder, p);
	return r->zstd ? 0 : -ENOMEM;
}

static void reader_fini(struct reader *r)
{
	decoder_fini(&r->decoder);
	ZSTD_freeDCtx(r->zstd);
	free(r->content);
	free(r->data);
}

int recfile_read(FILE *f, struct profile **ret_profile, char **ret_note)
{
	struct profile *p = profile_new();
	struct reader r;
	int err = reader_init(&r, f, p);

	if (!err)
		err = read_file_header(&r, p);
	if (!err) {
		read_chunks(&r);
		err = r.error;
	}
	if (!err) {
		finish_profile(&r, p, 0);
		*ret_note = describe(&r);
		*ret_profile = p;
		p = NULL;
	}
	profile_free(p);
	reader_fini(&r);
	return err;
}

static void add_counts(uint64_t *to, const uint64_t *from, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (__builtin_add_overflow(to[i], from[i], &to[i]))
			to[i] = UINT64_MAX;
}

/* Returns one text, or a list of both if they differ. */
static uint32_t join_text(struct profile *p, uint32_t both, uint32_t more)
{
	enum { MAX_SIZE = 1024 };
	const char *old = p->strings[both], *added = p->strings[more];
	char *text;
	uint32_t id;

	if (both == more || !*added || (*old && strstr(old, added)) || strlen(old) > MAX_SIZE)
		return both;
	if (!*old)
		return more;
	text = xasprintf("%s, %s", old, added);
	id = profile_cstring(p, text);
	free(text);
	return id;
}

/* Joins p->meta, which is of the last recording, with `before`, which is of those before it. */
static void join_meta(struct reader *r, struct profile *p, const struct profile_meta *before)
{
	struct profile_meta m = p->meta;
	bool first = !before->start_ns && !before->freq_hz;

	m.start_ns = decoder_time(&r->decoder, m.start_ns);
	m.end_ns = m.end_ns ? decoder_time(&r->decoder, m.end_ns) : 0;
	if (!first) {
		if (m.start_ns > before->start_ns)
			m.start_ns = before->start_ns;
		if (m.end_ns < before->end_ns)
			m.end_ns = before->end_ns;
		m.start_realtime_ns = before->start_realtime_ns - (before->start_ns - m.start_ns);
		m.hostname = join_text(p, before->hostname, m.hostname);
		m.kernel = join_text(p, before->kernel, m.kernel);
		m.command = join_text(p, before->command, m.command);
		m.source = join_text(p, before->source, m.source);
		m.event = join_text(p, before->event, m.event);
		m.version = join_text(p, before->version, m.version);
		m.freq_hz = m.freq_hz == before->freq_hz ? m.freq_hz : 0;
		if (m.nr_cpus < before->nr_cpus)
			m.nr_cpus = before->nr_cpus;
		m.unfinished |= before->unfinished;
		m.names_beside |= before->names_beside;
	}
	p->meta = m;
}

int recfile_add(FILE *f, struct profile *p, struct recfile_part *part, char **ret_note)
{
	const struct profile_meta meta = p->meta;
	const struct profile_stats stats = p->stats;
	size_t first_sample = p->nr_samples;
	struct reader r;
	int err = reader_init(&r, f, p);

	p->meta = (struct profile_meta){ 0 };
	p->stats = (struct profile_stats){ 0 };
	if (!err)
		err = read_file_header(&r, p);
	if (!err) {
		decoder_begin_part(&r.decoder, part);
		read_chunks(&r);
		err = r.decoder.is_of_other_host ? -ENOENT : r.error;
	}
	if (err) {
		p->meta = meta;
		p->stats = stats;
	} else {
		decoder_move_samples(&r.decoder, first_sample);
		finish_profile(&r, p, first_sample);
		part_sums_add(&r.decoder);
		join_meta(&r, p, &meta);
		part->zero_realtime_ns = r.decoder.part.zero_realtime_ns;
		add_counts((uint64_t *)&p->stats, (const uint64_t *)&stats,
			   sizeof(stats) / sizeof(uint64_t));
		*ret_note = describe(&r);
	}
	reader_fini(&r);
	return err;
}

struct recfile_follow {
	struct reader r;
	struct profile *p;
	bool has_header;
};

struct recfile_follow *recfile_follow_new(FILE *f)
{
	struct recfile_follow *follow = xcalloc(1, sizeof(*follow));

	follow->r = (struct reader){ .f = f, .zstd = ZSTD_createDCtx() };
	follow->p = profile_new();
	decoder_init(&follow->r.decoder, follow->p);
	return follow;
}

void recfile_follow_free(struct recfile_follow *follow)
{
	if (!follow)
		return;
	profile_free(follow->p);
	decoder_fini(&follow->r.decoder);
	ZSTD_freeDCtx(follow->r.zstd);
	free(follow->r.content);
	free(follow->r.data);
	fclose(follow->r.f);
	free(follow);
}

int recfile_follow_next(struct recfile_follow *follow, struct profile **ret_profile)
{
	struct reader *r = &follow->r;
	int err = r->zstd ? 0 : -ENOMEM;

	*ret_profile = follow->p;
	clearerr(r->f); /* the file may have grown */
	if (!err && !follow->has_header) {
		if (!see(r, sizeof(struct record_file)))
			return r->error ? r->error : 1;
		err = read_file_header(r, follow->p);
		follow->has_header = !err;
	}
	if (err)
		return err;
	read_chunks(r);
	return r->error ? r->error : !r->last;
}
