/*
 * Chunks are joined by putting their contents one behind another: numbers go on from chunk to
 * chunk, and deltas begin anew in each record, so that the joined content means the same. It is
 * only copied, never decoded. Anything unusual in the file makes it stay as it is.
 */
#include "core/recording/recfile.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>
#include <zstd.h>

#include "core/base/buffer.h"
#include "core/base/full_io.h"
#include "core/recording/record.h"

#define JOINED_BYTES (1u << 20) /* of content: chunks are joined up to this size */
#define ZSTD_LEVEL 3

struct pack {
	int from, to;
	uint64_t at, written; /* bytes of the files */
	uint32_t nr_read;     /* chunks */
	ZSTD_DCtx *read;
	ZSTD_CCtx *write;
	struct buffer stored;	    /* a zstd frame, read or to be written */
	struct buffer content;	    /* of the joined chunk */
	struct record_chunk joined; /* its header; has a meaning while there is content */
	uint32_t nr_joined;	    /* chunks written */
};

static int write_joined(struct pack *p, uint16_t flags)
{
	size_t bound = ZSTD_compressBound(p->content.size), n;
	struct record_chunk *chunk = &p->joined;
	int err;

	if (!p->content.size)
		return 0;
	p->stored.size = 0;
	buffer_reserve(&p->stored, bound);
	n = ZSTD_compress2(p->write, p->stored.data, bound, p->content.data, p->content.size);
	if (ZSTD_isError(n))
		return -ENOMEM;
	chunk->flags = flags;
	chunk->sequence = p->nr_joined++;
	chunk->raw_size = (uint32_t)p->content.size;
	chunk->stored_size = (uint32_t)n;
	chunk->check = XXH64(chunk, offsetof(struct record_chunk, check), 0);
	err = full_write_at(p->to, chunk, sizeof(*chunk), p->written);
	if (!err)
		err = full_write_at(p->to, p->stored.data, n, p->written + sizeof(*chunk));
	p->written += sizeof(*chunk) + n;
	p->content.size = 0;
	return err;
}

static bool is_next(const struct pack *p, const struct record_chunk *chunk)
{
	return !memcmp(chunk->magic, RECORD_CHUNK_MAGIC, sizeof(chunk->magic)) &&
	       chunk->check == XXH64(chunk, offsetof(struct record_chunk, check), 0) &&
	       chunk->kind == RECORD_CHUNK_RECORDS && chunk->sequence == p->nr_read &&
	       chunk->raw_size <= RECORD_MAX_CHUNK &&
	       chunk->stored_size <= ZSTD_compressBound(RECORD_MAX_CHUNK);
}

/* Adds the content of the next chunk. Returns 1, 0 after the last one, or -errno. */
static int take_chunk(struct pack *p)
{
	struct record_chunk chunk;
	size_t n;
	int err = full_read_at(p->from, &chunk, sizeof(chunk), p->at);

	if (err)
		return err;
	if (!is_next(p, &chunk))
		return -EBADMSG;
	if (p->content.size + chunk.raw_size > JOINED_BYTES)
		err = write_joined(p, 0);
	if (err)
		return err;
	if (!p->content.size)
		p->joined = chunk;
	p->stored.size = 0;
	buffer_reserve(&p->stored, chunk.stored_size);
	err = full_read_at(p->from, p->stored.data, chunk.stored_size, p->at + sizeof(chunk));
	if (err)
		return err;
	buffer_reserve(&p->content, chunk.raw_size);
	n = ZSTD_decompressDCtx(p->read, p->content.data + p->content.size, chunk.raw_size,
				p->stored.data, chunk.stored_size);
	if (ZSTD_isError(n) || n != chunk.raw_size)
		return -EBADMSG;
	p->content.size += n;
	p->at += sizeof(chunk) + chunk.stored_size;
	p->nr_read++;
	return !(chunk.flags & RECORD_CHUNK_LAST);
}

static int pack_chunks(struct pack *p)
{
	struct record_file header;
	int more = full_read_at(p->from, &header, sizeof(header), 0);

	if (!more && (memcmp(header.magic, RECORD_FILE_MAGIC, sizeof(header.magic)) ||
		      header.check != XXH64(&header, offsetof(struct record_file, check), 0) ||
		      header.version_major != RECORD_VERSION_MAJOR ||
		      header.header_size != sizeof(header) || header.complete != RECORD_COMPLETE))
		more = -EBADMSG;
	if (!more)
		more = full_write_at(p->to, &header, sizeof(header), 0);
	p->at = p->written = sizeof(header);
	for (more = more ? more : 1; more > 0;)
		more = take_chunk(p);
	return more ? more : write_joined(p, RECORD_CHUNK_LAST);
}

int recfile_pack(int from, int to)
{
	struct pack p = {
		.from = from, .to = to, .read = ZSTD_createDCtx(), .write = ZSTD_createCCtx()
	};
	int err = -ENOMEM;

	if (p.read && p.write) {
		ZSTD_CCtx_setParameter(p.write, ZSTD_c_compressionLevel, ZSTD_LEVEL);
		ZSTD_CCtx_setParameter(p.write, ZSTD_c_checksumFlag, 1);
		err = pack_chunks(&p);
	}
	ZSTD_freeDCtx(p.read);
	ZSTD_freeCCtx(p.write);
	buffer_fini(&p.stored);
	buffer_fini(&p.content);
	return err;
}
