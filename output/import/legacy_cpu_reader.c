/*
 * Reads the CPU profiles of gperftools, pprof's old binary format: words of 8 bytes, first a header
 * of 0, 3, 0, the period in microseconds and 0, then per stack its number of samples, its depth and
 * its addresses, leaf first, then 0, 1, 0 and the text of /proc/PID/maps.
 * (https://gperftools.github.io/gperftools/cpuprofile-fileformat.html)
 */
#include "output/import/importer.h"

#include <errno.h>
#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/base/buffer.h"
#include "core/base/cursor.h"
#include "core/base/log.h"
#include "core/profile/profile.h"
#include "output/import/input_file.h"
#include "output/import/legacy_addresses.h"
#include "output/import/named_frames.h"

#define MAX_SAMPLES ((uint64_t)1 << 22) /* made by splitting counts */

enum { HEADER_SIZE = 40, MAX_DEPTH = 1 << 16 };

/* Reads the header; false if it is not one. */
static bool read_header(struct cursor *c, uint64_t *ret_period_us)
{
	uint64_t zero = cursor_u64(c), nr = cursor_u64(c), version = cursor_u64(c);

	*ret_period_us = cursor_u64(c);
	cursor_u64(c);
	return !c->bad && !zero && nr == 3 && !version && *ret_period_us &&
	       *ret_period_us <= 1000000000;
}

static bool legacy_cpu_is(const char *data, size_t size)
{
	struct cursor c = cursor_at((const uint8_t *)data, size, 0);
	uint64_t period;

	return read_header(&c, &period);
}

/* Moves past the stacks; false if they do not end as they should. */
static bool find_end(struct cursor *c)
{
	for (;;) {
		uint64_t count = cursor_u64(c), depth = cursor_u64(c);

		if (c->bad || depth > MAX_DEPTH)
			return false;
		if (!count)
			return depth == 1 && !cursor_u64(c) && !c->bad;
		cursor_skip(c, depth * 8);
	}
}

/* The addresses of callers are return addresses: one less lies in the call. */
static uint32_t read_stack(struct legacy_addresses *a, struct cursor *c, uint64_t depth)
{
	uint32_t *frames = xcalloc(depth + 1, sizeof(*frames)), stack;

	for (uint64_t i = 0; i < depth; i++) {
		uint64_t address = cursor_u64(c);

		frames[i] = legacy_frame(a, address - (i && address));
	}
	stack = import_stack(a->p, frames, depth);
	free(frames);
	return stack;
}

static int read_samples(struct legacy_addresses *a, struct cursor c, uint64_t period_us)
{
	uint64_t nr = 0;

	for (;;) {
		uint64_t count = cursor_u64(&c), depth = cursor_u64(&c);
		struct profile_sample s = { .weight = period_us * 1000,
					    .thread = PROFILE_NONE,
					    .column = COLUMN_CPU };

		if (!count)
			return 0;
		nr += count;
		if (count > MAX_SAMPLES || nr > MAX_SAMPLES)
			return -E2BIG;
		s.stack = read_stack(a, &c, depth);
		while (count--)
			profile_add_sample(a->p, &s);
	}
}

static int read_profile(struct profile *p, const struct buffer *data, const char *name)
{
	struct cursor c = cursor_at((const uint8_t *)data->data, data->size, 0), stacks;
	struct legacy_addresses addresses;
	uint64_t period_us;
	int err;

	if (!read_header(&c, &period_us))
		return -EINVAL;
	stacks = c;
	if (!find_end(&c))
		return -EINVAL;
	legacy_addresses_init(&addresses, p, (const char *)c.at, cursor_left(&c));
	err = read_samples(&addresses, stacks, period_us);
	legacy_addresses_fini(&addresses);
	p->meta.freq_hz = (uint32_t)((1000000 + period_us / 2) / period_us);
	import_describe(p, name, "gperftools");
	return err;
}

static int legacy_cpu_read(FILE *f, const char *name, const struct import_opts *opts,
			   struct profile **ret_profile)
{
	struct buffer data = { 0 };
	struct profile *p = profile_new();
	int err = import_read_all(f, name, &data);

	(void)opts;
	if (!err) {
		err = read_profile(p, &data, name);
		if (err == -EINVAL)
			log_error(0, "read '%s': it is a damaged CPU profile of gperftools", name);
		else if (err == -E2BIG)
			log_error(0, "read '%s': it counts more than %llu samples", name,
				  (unsigned long long)MAX_SAMPLES);
	}
	buffer_fini(&data);
	return import_end(p, err, ret_profile);
}

const struct importer import_legacy_cpu = {
	.name = "gperftools",
	.unnamed = true,
	.is = legacy_cpu_is,
	.read = legacy_cpu_read,
};
