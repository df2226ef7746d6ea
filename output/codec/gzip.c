/*
 * gzip through zlib. zlib counts its input in 32 bits, so it gets the data in pieces, and the
 * output grows in steps, so that a small file that expands to terabytes stops at the limit.
 */
#include "output/codec/gzip.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <zlib.h>

#include "core/base/buffer.h"

enum { GZIP_WINDOW = 15 + 16, PIECE = 1 << 30, STEP = 256 * 1024 };

bool gzip_is(const void *data, size_t size)
{
	return size >= 2 && !memcmp(data, "\x1f\x8b", 2);
}

/* Gives zlib the next piece of the input; false if there is no more. */
static bool feed(z_stream *z, const char **at, size_t *left)
{
	if (z->avail_in || !*left)
		return z->avail_in != 0;
	z->next_in = (Bytef *)*at;
	z->avail_in = (uInt)(*left < PIECE ? *left : PIECE);
	*at += z->avail_in;
	*left -= z->avail_in;
	return true;
}

static void make_room(z_stream *z, struct buffer *b, size_t room)
{
	z->next_out = (Bytef *)buffer_reserve(b, room);
	z->avail_out = (uInt)room;
}

void gzip_compress(struct buffer *b, const void *data, size_t size)
{
	z_stream z = { 0 };
	const char *at = data;
	int status = deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW, 8,
				  Z_DEFAULT_STRATEGY);

	assert(status == Z_OK); /* it fails only if memory runs out */
	do {
		feed(&z, &at, &size);
		make_room(&z, b, STEP);
		status = deflate(&z, size ? Z_NO_FLUSH : Z_FINISH);
		b->size += STEP - z.avail_out;
	} while (status != Z_STREAM_END);
	deflateEnd(&z);
}

/* Expands one member and advances *at and *left past the input given to zlib. */
static int expand_member(z_stream *z, struct buffer *b, const char **at, size_t *left, size_t limit)
{
	int status = Z_OK;

	while (status == Z_OK) {
		size_t room = limit - b->size < STEP ? limit - b->size + 1 : STEP;

		if (b->size > limit)
			return -EFBIG;
		if (!feed(z, at, left) && z->avail_out)
			return -EINVAL; /* cut off */
		make_room(z, b, room);
		status = inflate(z, Z_NO_FLUSH);
		b->size += room - z->avail_out;
		if (status == Z_BUF_ERROR && (z->avail_in || *left))
			status = Z_OK;
	}
	if (b->size > limit)
		return -EFBIG;
	return status == Z_STREAM_END ? 0 : -EINVAL;
}

int gzip_expand(struct buffer *b, const void *data, size_t size, size_t limit)
{
	z_stream z = { 0 };
	const char *at = data;
	int err = 0;

	assert(b->size <= limit);
	if (inflateInit2(&z, GZIP_WINDOW) != Z_OK)
		return -ENOMEM;
	do {
		z.avail_out = 1; /* nothing is pending in zlib */
		err = expand_member(&z, b, &at, &size, limit);
		if (!err && (z.avail_in || size))
			inflateReset(&z);
	} while (!err && (z.avail_in || size));
	inflateEnd(&z);
	return err;
}
