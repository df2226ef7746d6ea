/*
 * Reads pprof's old text formats: heap, contention, goroutine and thread profiles of Go (debug=1)
 * and of gperftools. A header says which it is; then each line is a stack,
 *
 *	objects: bytes [objects: bytes] @ address address ...	(in use [allocated], of a heap)
 *	cycles count @ address ...				(of contention)
 *	count @ address ...					(of goroutines and threads)
 *
 * addresses leaf first. Go adds its names: "#  address  function+offset  file:line". Mappings
 * follow at the end for programs in other languages.
 */
#include "output/import/importer.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/buffer.h"
#include "core/base/log.h"
#include "core/profile/profile.h"
#include "output/import/input_file.h"
#include "output/import/legacy_addresses.h"
#include "output/import/named_frames.h"
#include "output/tree/tree.h"

enum { MAX_FRAMES = 1 << 16 };

enum legacy_kind { LEGACY_NONE, LEGACY_HEAP, LEGACY_CONTENTION, LEGACY_COUNT };

struct reader {
	struct profile *p;
	const char *name; /* of the file */
	struct buffer text;
	struct legacy_addresses addresses;
	enum legacy_kind kind;
	double heap_period; /* bytes between two samples of a heap, at most 1 = every allocation */
	double cycle_hz, period; /* of contention */
	/* The stack that is read: its values, and its frames, leaf first. */
	bool in_stack, has_names;
	double values[4];
	uint32_t *frames;
	size_t nr_frames, frames_capacity;
	double total;
	uint64_t nr_bad;
};

/* The kind of profile whose first line this is. */
static enum legacy_kind kind_of(const char *s, size_t n)
{
	static const struct {
		const char *prefix;
		enum legacy_kind kind;
	} kinds[] = {
		{ "heap profile: ", LEGACY_HEAP },
		{ "--- contention", LEGACY_CONTENTION },
		{ "--- mutex:", LEGACY_CONTENTION },
		{ "goroutine profile: total ", LEGACY_COUNT },
		{ "threadcreate profile: total ", LEGACY_COUNT },
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (n >= strlen(kinds[i].prefix) &&
		    !memcmp(s, kinds[i].prefix, strlen(kinds[i].prefix)))
			return kinds[i].kind;
	return LEGACY_NONE;
}

static bool legacy_text_is(const char *data, size_t size)
{
	return kind_of(data, size) != LEGACY_NONE && !memchr(data, '\0', size);
}

/* ---- the header: how many bytes or cycles a value stands for */

static void read_heap_header(struct reader *r, const char *line)
{
	const char *at = strstr(line, "@ "), *slash = at ? strchr(at, '/') : NULL;

	r->heap_period = 1;
	if (!slash)
		return;
	r->heap_period = strtod(slash + 1, NULL);
	if (!strncmp(at, "@ heap/", 7)) /* Go writes twice the period here */
		r->heap_period /= 2;
}

static void read_setting(struct reader *r, const char *line)
{
	const char *equals = strchr(line, '=');
	double value = equals ? strtod(equals + 1, NULL) : 0;

	if (!(value > 0))
		return;
	if (!strncmp(line, "cycles/second", 13))
		r->cycle_hz = value;
	else if (!strncmp(line, "sampling period", 15))
		r->period = value;
}

static void add_value(struct reader *r, enum profile_column column, uint32_t stack, double value)
{
	struct profile_sample s = { .thread = PROFILE_NONE,
				    .stack = stack,
				    .column = (uint8_t)column };

	r->total += value;
	if (!(value >= 0) || !(r->total < (double)TREE_MAX_TOTAL)) {
		r->nr_bad++;
		return;
	}
	s.weight = (uint64_t)value;
	if (s.weight)
		profile_add_sample(r->p, &s);
}

/* A large allocation is sampled more likely than a small one, which this makes up for. */
static double heap_scale(const struct reader *r, double objects, double bytes)
{
	if (!(objects > 0) || !(bytes > 0) || r->heap_period <= 1)
		return 1;
	return 1 / (1 - exp(-(bytes / objects) / r->heap_period));
}

static void end_stack(struct reader *r)
{
	double *v = r->values, scale;
	uint32_t stack;

	if (!r->in_stack)
		return;
	r->in_stack = false;
	stack = import_stack(r->p, r->frames, r->nr_frames);
	switch (r->kind) {
	case LEGACY_HEAP:
		scale = heap_scale(r, v[0], v[1]);
		add_value(r, COLUMN_LIVE_OBJECTS, stack, v[0] * scale);
		add_value(r, COLUMN_LIVE, stack, v[1] * scale);
		scale = heap_scale(r, v[2], v[3]);
		add_value(r, COLUMN_ALLOCATIONS, stack, v[2] * scale);
		add_value(r, COLUMN_ALLOCATED, stack, v[3] * scale);
		break;
	case LEGACY_CONTENTION:
		add_value(r, COLUMN_DELAY, stack, v[0] * r->period / r->cycle_hz * 1e9);
		add_value(r, COLUMN_CONTENTIONS, stack, v[1] * r->period);
		break;
	default: add_value(r, COLUMN_COUNT, stack, v[0]); break;
	}
}

static void add_frame(struct reader *r, uint32_t frame)
{
	if (r->nr_frames == MAX_FRAMES)
		return; /* drops the root side */
	r->frames = xgrow(r->frames, &r->frames_capacity, r->nr_frames + 1, sizeof(*r->frames));
	r->frames[r->nr_frames++] = frame;
}

/* Reads the numbers before the "@"; false if there are too few. */
static bool read_values(struct reader *r, const char *line, const char *at_sign)
{
	size_t nr = 0, want = r->kind == LEGACY_HEAP ? 4 : r->kind == LEGACY_CONTENTION ? 2 : 1;
	const char *at = line;

	while (at < at_sign && nr < want) {
		char *end;

		if (!isdigit((unsigned char)*at)) {
			at++;
			continue;
		}
		r->values[nr++] = strtod(at, &end);
		at = end;
	}
	return nr == want;
}

/* Every address is that after a call, so one less lies in the call. */
static bool begin_stack(struct reader *r, const char *line)
{
	const char *at = strchr(line, '@');
	char *end;

	if (!at || !isdigit((unsigned char)line[strspn(line, " ")]) || !read_values(r, line, at))
		return false;
	r->in_stack = true;
	r->has_names = false;
	r->nr_frames = 0;
	for (at++;; at = end) {
		uint64_t address = strtoull(at, &end, 16);

		if (end == at)
			return true;
		if (address)
			add_frame(r, legacy_frame(&r->addresses, address - 1));
	}
}

/* "#\t0x48ec64\tsyscall.Open+0x84\t\topen.go:52", tabs between: names replace addresses. */
static bool read_name(struct reader *r, char *line)
{
	struct import_function f = { .module = PROFILE_NONE };
	char *fields[3], *rest = line + 1, *plus, *colon;
	int nr = 0;

	for (char *field; nr < 3 && (field = strsep(&rest, "\t"));)
		if (*field)
			fields[nr++] = field;
	if (nr < 2 || strncmp(fields[0], "0x", 2))
		return false;
	plus = strrchr(fields[1], '+');
	if (plus)
		*plus = '\0';
	f.name = f.system_name = profile_cstring(r->p, fields[1]);
	colon = nr == 3 ? strrchr(fields[2], ':') : NULL;
	if (colon) {
		f.line = (uint32_t)strtoul(colon + 1, NULL, 10);
		f.file = profile_string(r->p, fields[2], (size_t)(colon - fields[2]));
	}
	if (!r->has_names)
		r->nr_frames = 0;
	r->has_names = true;
	add_frame(r, import_frame(r->p, &f, 1));
	return true;
}

/* False at the end of the stacks. */
static bool read_line(void *reader, char *line)
{
	struct reader *r = reader;
	enum legacy_kind kind = kind_of(line, strlen(line));

	if (line == r->text.data && kind == LEGACY_HEAP)
		read_heap_header(r, line);
	if (kind != LEGACY_NONE)
		return true;
	if (!strncmp(line, "MAPPED_LIBRARIES", 16) || !strncmp(line, "--- Memory map", 14))
		return false;
	if (*line == '#') {
		if (r->in_stack)
			read_name(r, line);
		return true;
	}
	end_stack(r);
	if (!begin_stack(r, line)) {
		if (strchr(line, '='))
			read_setting(r, line);
		else if (line[strspn(line, " \t\r")])
			r->nr_bad++;
	}
	return true;
}

static int read_text(struct reader *r, FILE *f)
{
	struct profile *p = r->p;
	int err = import_read_all(f, r->name, &r->text);

	if (err)
		return err;
	r->kind = kind_of(buffer_cstring(&r->text), r->text.size);
	legacy_addresses_init(&r->addresses, p, r->text.data, r->text.size);
	import_lines(&r->text, read_line, r, &r->nr_bad);
	end_stack(r);
	if (!p->nr_samples) {
		log_error(0, "read '%s': no line in it is a stack (numbers, @, addresses)",
			  r->name);
		return -EINVAL;
	}
	import_left_out(r->name, "lines left out because they are damaged", r->nr_bad);
	import_describe(p, r->name, "pprof text");
	if (r->kind == LEGACY_HEAP)
		p->meta.first_column = COLUMN_LIVE + 1;
	return 0;
}

static int legacy_text_read(FILE *f, const char *name, const struct import_opts *opts,
			    struct profile **ret_profile)
{
	struct reader r = {
		.p = profile_new(),
		.name = name,
		.cycle_hz = 1e9,
		.period = 1,
		.heap_period = 1,
	};
	int err;

	(void)opts;
	err = read_text(&r, f);
	legacy_addresses_fini(&r.addresses);
	buffer_fini(&r.text);
	free(r.frames);
	return import_end(r.p, err, ret_profile);
}

const struct importer import_legacy_text = {
	.name = "pprof text",
	.unnamed = true,
	.is = legacy_text_is,
	.read = legacy_text_read,
};
