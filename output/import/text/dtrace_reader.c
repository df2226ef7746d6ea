/*
 * Reads the stacks that DTrace counts, @[ustack()] = count() and the like, as it prints them:
 * the leaf first, a function a line, a blank line between a kernel's stack and a user's, and the
 * count as the last line:
 *
 *	              libc.so.1`read+0xa
 *	              app`main+0x1b2
 *	                1
 *
 * Keys of an aggregation other than stacks are lines of some other form, and are left out.
 */
#include "output/import/importer.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/log.h"
#include "core/profile/profile.h"
#include "output/import/input_file.h"
#include "output/import/named_frames.h"
#include "output/tree/tree.h"

enum { MAX_FRAMES = 1 << 16 };

struct reader {
	struct profile *p;
	const char *name;
	uint32_t *frames; /* of the stack that is read, leaf first */
	size_t nr_frames, capacity;
	uint64_t total, nr_left_out;
};

enum line_kind { LINE_OTHER, LINE_FRAME, LINE_COUNT };

/* What an indented line is, without the blanks at its ends. */
static enum line_kind kind_of(const char *s, size_t n)
{
	size_t digits = 0;

	if (!n)
		return LINE_OTHER;
	while (digits < n && isdigit((unsigned char)s[digits]))
		digits++;
	if (digits == n)
		return LINE_COUNT;
	if (n > 2 && s[0] == '0' && s[1] == 'x')
		return LINE_FRAME;
	return *s != '`' && memchr(s, '`', n) ? LINE_FRAME : LINE_OTHER;
}

/* "module`function+0x12"; the offset is hexadecimal, and a name may hold any of these. */
static uint32_t frame_of(struct reader *r, const char *s, size_t n)
{
	struct import_function f = { .module = PROFILE_NONE };
	const char *tick = memchr(s, '`', n), *plus;
	size_t size = tick ? (size_t)(tick - s) : 0;

	if (!tick)
		return import_unnamed_frame(r->p, PROFILE_NONE, 0);
	f.module =
		import_module(r->p, profile_str(r->p, profile_string(r->p, s, size)), "", &f.kind);
	s = tick + 1;
	n -= size + 1;
	plus = memrchr(s, '+', n);
	if (plus && plus > s && (size_t)(s + n - plus) > 3 && plus[1] == '0' && plus[2] == 'x')
		n = (size_t)(plus - s);
	if (n > 2 && s[0] == '0' && s[1] == 'x') /* an address in the module, without a name */
		return import_unnamed_frame(r->p, f.module, strtoull(s, NULL, 16));
	if (!n)
		return import_unnamed_frame(r->p, f.module, 0);
	f.name = f.system_name = profile_string(r->p, s, n);
	return import_frame(r->p, &f, 1);
}

static void end_stack(struct reader *r, uint64_t count)
{
	struct profile_sample s = { .thread = PROFILE_NONE,
				    .weight = count,
				    .column = COLUMN_COUNT };

	if (count >= TREE_MAX_TOTAL - r->total) {
		r->nr_left_out++;
	} else if (r->nr_frames && count) {
		r->total += count;
		s.stack = import_stack(r->p, r->frames, r->nr_frames);
		profile_add_sample(r->p, &s);
	}
	r->nr_frames = 0;
}

static bool read_line(void *reader, char *line)
{
	struct reader *r = reader;
	const char *s = line + strspn(line, " \t");
	size_t n = strlen(s);

	while (n && isspace((unsigned char)s[n - 1]))
		n--;
	switch (s > line ? kind_of(s, n) : LINE_OTHER) {
	case LINE_COUNT: end_stack(r, n < 20 ? strtoull(s, NULL, 10) : TREE_MAX_TOTAL); break;
	case LINE_FRAME:
		if (r->nr_frames == MAX_FRAMES)
			break; /* drops the root side */
		r->frames = xgrow(r->frames, &r->capacity, r->nr_frames + 1, sizeof(*r->frames));
		r->frames[r->nr_frames++] = frame_of(r, s, n);
		break;
	default: r->nr_left_out += n && r->p->nr_samples;
	}
	return true;
}

static int finish(struct reader *r)
{
	if (!r->p->nr_samples) {
		log_error(0, "read '%s': no stack in it has a count (DTrace)", r->name);
		return -EINVAL;
	}
	import_left_out(r->name, "lines left out because they are no frame of DTrace",
			r->nr_left_out);
	import_describe(r->p, r->name, "DTrace");
	return 0;
}

static int dtrace_read(FILE *f, const char *name, const struct import_opts *opts,
		       struct profile **ret_profile)
{
	struct reader r = { .p = profile_new(), .name = name };
	int err = import_text(f, name, read_line, &r, &r.nr_left_out);

	(void)opts;
	if (!err)
		err = finish(&r);
	free(r.frames);
	return import_end(r.p, err, ret_profile);
}

/* The first frame is indented and has a backtick, and a count alone on its line ends its stack. */
static bool dtrace_is(const char *data, size_t size)
{
	const char *end = data + size;
	bool any_tick = false;
	size_t nr_frames = 0;

	if (memchr(data, '\0', size))
		return false;
	while (data < end) {
		const char *newline = memchr(data, '\n', (size_t)(end - data));
		const char *stop = newline ? newline : end, *s = data;

		while (s < stop && (*s == ' ' || *s == '\t'))
			s++;
		while (stop > s && isspace((unsigned char)stop[-1]))
			stop--;
		switch (s > data ? kind_of(s, (size_t)(stop - s)) : LINE_OTHER) {
		case LINE_FRAME:
			nr_frames++;
			any_tick |= memchr(s, '`', (size_t)(stop - s)) != NULL;
			break;
		case LINE_COUNT:
			if (any_tick)
				return true;
			break;
		default:
			/* DTrace prints no text among frames. */
			if (nr_frames && s < stop)
				return false;
		}
		data = newline ? newline + 1 : end;
	}
	return false;
}

const struct importer import_dtrace = {
	.name = "DTrace",
	.is = dtrace_is,
	.read = dtrace_read,
};
