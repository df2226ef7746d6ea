/*
 * Reads the text that perf script prints. A sample is a line with its thread, time and event, then
 * a line per frame, leaf first, then an empty line:
 *
 *	comm  pid/tid [cpu] seconds.fraction: period event:
 *		address symbol+0xoffset (file)
 *		address symbol (inlined)
 *		address symbol+0xoffset (file)
 *
 * An inlined function comes before the one it was inlined into. As lines repeat all over the file,
 * a map leads from the hash of "symbol (file)" to the frame.
 */
#include "output/import/importer.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "core/base/alloc.h"
#include "core/base/buffer.h"
#include "core/base/log.h"
#include "core/base/number_map.h"
#include "core/profile/profile.h"
#include "output/import/named_frames.h"

enum { READ_SIZE = 256 * 1024, LINE_MAX_SIZE = 16 << 20, MAX_FRAMES = 1 << 16, MAX_INLINED = 256 };

struct text {
	const char *s;
	size_t n;
};

/* The first line of a sample. */
struct head {
	struct text comm, event, rest; /* rest: after the event, perhaps a frame */
	uint32_t pid, tid;
	uint16_t cpu;
	uint64_t time_ns, period;
};

struct reader {
	struct profile *p;
	const char *name;
	struct number_map spellings; /* hash of a spelling -> its frame */
	struct profile_sample sample;
	bool in_sample;
	uint32_t *frames; /* of the sample, leaf first */
	size_t nr_frames, frames_capacity;
	struct buffer inlined; /* names of inlined functions whose outer frame is not read yet */
	size_t inlined_ends[MAX_INLINED];
	size_t nr_inlined;
	uint32_t event; /* string: the first event; samples of others are left out */
	bool event_is_time;
	uint64_t line, nr_bad, first_bad, nr_other_events;
};

static struct text trim(struct text t)
{
	while (t.n && isspace((unsigned char)t.s[0]))
		t.s++, t.n--;
	while (t.n && isspace((unsigned char)t.s[t.n - 1]))
		t.n--;
	return t;
}

static bool parse_u64(struct text *t, uint64_t *ret_value)
{
	uint64_t value = 0;
	size_t i = 0;

	for (; i < t->n && i < 19 && isdigit((unsigned char)t->s[i]); i++)
		value = value * 10 + (uint64_t)(t->s[i] - '0');
	if (!i)
		return false;
	*t = (struct text){ t->s + i, t->n - i };
	*ret_value = value;
	return true;
}

static bool accept(struct text *t, char c)
{
	if (!t->n || *t->s != c)
		return false;
	*t = (struct text){ t->s + 1, t->n - 1 };
	return true;
}

static void skip_spaces(struct text *t)
{
	while (t->n && (*t->s == ' ' || *t->s == '\t'))
		*t = (struct text){ t->s + 1, t->n - 1 };
}

/* "1234.567890:" */
static bool parse_time(struct text *t, uint64_t *ret_ns)
{
	uint64_t seconds, scale = 1000000000, ns = 0;

	if (!parse_u64(t, &seconds) || seconds > UINT32_MAX || !accept(t, '.'))
		return false;
	while (t->n && isdigit((unsigned char)*t->s)) {
		scale /= 10;
		ns += (uint64_t)(*t->s - '0') * scale;
		accept(t, *t->s);
	}
	*ret_ns = seconds * 1000000000 + ns;
	return accept(t, ':');
}

/* Parses "pid/tid [cpu] time:" after the comm; tid and cpu may be missing. */
static bool parse_numbers(struct text t, struct head *h)
{
	uint64_t pid, tid, cpu;

	if (!parse_u64(&t, &pid) || pid > UINT32_MAX)
		return false;
	tid = pid;
	if (accept(&t, '/') && (!parse_u64(&t, &tid) || tid > UINT32_MAX))
		return false;
	if (!t.n || !isspace((unsigned char)*t.s))
		return false;
	skip_spaces(&t);
	h->cpu = 0;
	if (accept(&t, '[')) {
		if (!parse_u64(&t, &cpu) || !accept(&t, ']'))
			return false;
		h->cpu = (uint16_t)cpu;
		skip_spaces(&t);
	}
	if (!parse_time(&t, &h->time_ns))
		return false;
	h->pid = (uint32_t)pid;
	h->tid = (uint32_t)tid;
	h->rest = t;
	return true;
}

/* A comm may hold blanks and digits: it ends at the first blank after which the numbers parse. */
static bool parse_head(struct text line, struct head *h)
{
	struct text t;
	const char *colon;

	for (size_t i = 1; i + 1 < line.n; i++) {
		if (line.s[i] != ' ' || !isdigit((unsigned char)line.s[i + 1]))
			continue;
		if (!parse_numbers((struct text){ line.s + i + 1, line.n - i - 1 }, h))
			continue;
		h->comm = trim((struct text){ line.s, i });
		t = trim(h->rest);
		h->period = 0;
		if (parse_u64(&t, &h->period))
			skip_spaces(&t);
		colon = memmem(t.s, t.n, ": ", 2);
		if (!colon && t.n && t.s[t.n - 1] == ':')
			colon = t.s + t.n - 1;
		h->event = (struct text){ t.s, colon ? (size_t)(colon - t.s) : t.n };
		h->rest = (struct text){ t.s + h->event.n, t.n - h->event.n };
		accept(&h->rest, ':');
		h->rest = trim(h->rest);
		return h->comm.n != 0;
	}
	return false;
}

/* Takes symbol and file from "address symbol+0x1 (file)"; false if it is not a frame. */
static bool parse_frame(struct text line, struct text *ret_symbol, struct text *ret_file)
{
	struct text t = line;
	const char *paren;
	size_t n;

	skip_spaces(&t);
	n = 0;
	while (n < t.n && isxdigit((unsigned char)t.s[n]))
		n++;
	if (!n || n == t.n || t.s[n] != ' ')
		return false;
	t = (struct text){ t.s + n + 1, t.n - n - 1 };
	while (t.n && isspace((unsigned char)t.s[t.n - 1]))
		t.n--;
	if (!t.n || t.s[t.n - 1] != ')')
		return false;
	paren = memrchr(t.s, '(', t.n);
	if (paren && paren > t.s && !strncmp(paren, "(deleted)", 9))
		paren = memrchr(t.s, '(', (size_t)(paren - t.s));
	if (!paren)
		return false;
	*ret_file = (struct text){ paren + 1, t.n - (size_t)(paren - t.s) - 2 };
	t.n = (size_t)(paren - t.s);
	while (t.n && t.s[t.n - 1] == ' ')
		t.n--;
	for (n = t.n; n && isxdigit((unsigned char)t.s[n - 1]);)
		n--;
	if (n >= 3 && n < t.n && !memcmp(t.s + n - 3, "+0x", 3))
		t.n = n - 3;
	*ret_symbol = t;
	return true;
}

static bool is_text(struct text t, const char *s)
{
	return t.n == strlen(s) && !memcmp(t.s, s, t.n);
}

static uint32_t string_of(struct profile *p, struct text t)
{
	return profile_string(p, t.s, t.n);
}

static struct import_function function_of(struct reader *r, struct text symbol, struct text file,
					  bool inlined)
{
	struct import_function f = { .name = string_of(r->p, symbol), .inlined = inlined };
	uint32_t path = string_of(r->p, file);

	f.module = import_module(r->p, profile_str(r->p, path), "", &f.kind);
	f.kind = f.kind == FUNCTION_UNKNOWN ? FUNCTION_NATIVE : f.kind; /* named, in no file */
	f.system_name = f.name;
	return f;
}

static uint32_t make_frame(struct reader *r, struct text symbol, struct text file)
{
	struct import_function f = function_of(r, symbol, file, false);

	if (is_text(symbol, "[unknown]"))
		return import_unnamed_frame(r->p, f.module, 0);
	return import_frame(r->p, &f, 1);
}

/* The writer of the file cannot provoke equal hashes: it does not know the seed, an address. */
static uint32_t find_frame(struct reader *r, struct text symbol, struct text file)
{
	uint64_t hash = XXH3_64bits_withSeed(symbol.s, symbol.n, (uintptr_t)r) * 3 +
			XXH3_64bits_withSeed(file.s, file.n, (uintptr_t)r);
	bool is_new;
	uint32_t *frame = number_map_at(&r->spellings, hash, &is_new);

	if (is_new)
		*frame = make_frame(r, symbol, file);
	return *frame;
}

static void add_frame(struct reader *r, uint32_t frame)
{
	if (r->nr_frames == MAX_FRAMES)
		return; /* drops the root side */
	r->frames = xgrow(r->frames, &r->frames_capacity, r->nr_frames + 1, sizeof(*r->frames));
	r->frames[r->nr_frames++] = frame;
}

/* perf names the file of inlined functions only at the frame that they are inlined into. */
static void add_inlined(struct reader *r, struct text file)
{
	size_t start = 0;

	for (size_t i = 0; i < r->nr_inlined; i++) {
		struct text symbol = { r->inlined.data ? r->inlined.data + start : "",
				       r->inlined_ends[i] - start };
		struct import_function f = function_of(r, symbol, file, true);

		add_frame(r, import_frame(r->p, &f, 1));
		start = r->inlined_ends[i];
	}
	r->nr_inlined = r->inlined.size = 0;
}

static bool read_frame(struct reader *r, struct text line)
{
	struct text symbol, file;

	if (!parse_frame(line, &symbol, &file))
		return false;
	if (is_text(file, "inlined") && r->nr_inlined < MAX_INLINED) {
		buffer_add(&r->inlined, symbol.s, symbol.n);
		r->inlined_ends[r->nr_inlined++] = r->inlined.size;
		return true;
	}
	add_inlined(r, file);
	add_frame(r, find_frame(r, symbol, file));
	return true;
}

static void end_sample(struct reader *r)
{
	if (!r->in_sample)
		return;
	r->in_sample = false;
	add_inlined(r, (struct text){ "", 0 });
	r->sample.stack = import_stack(r->p, r->frames, r->nr_frames);
	profile_add_sample(r->p, &r->sample);
}

static void set_event(struct reader *r, struct text event)
{
	static const char *const clocks[] = { "cpu-clock", "task-clock" };

	r->event = string_of(r->p, event);
	for (size_t i = 0; i < sizeof(clocks) / sizeof(*clocks); i++)
		r->event_is_time |= event.n >= strlen(clocks[i]) &&
				    !memcmp(event.s, clocks[i], strlen(clocks[i]));
}

static void begin_sample(struct reader *r, const struct head *h)
{
	struct profile_meta *m = &r->p->meta;

	end_sample(r);
	if (!r->event)
		set_event(r, h->event);
	r->nr_frames = 0;
	if (!is_text(h->event, profile_str(r->p, r->event))) {
		r->nr_other_events++;
		return;
	}
	r->in_sample = true;
	r->sample = (struct profile_sample){
		.time_ns = h->time_ns,
		.weight = r->event_is_time && h->period ? h->period : 1,
		.thread = profile_thread(r->p, h->pid, h->tid, string_of(r->p, h->comm)),
		.cpu = h->cpu,
		.column = r->event_is_time && h->period ? COLUMN_CPU : COLUMN_COUNT,
	};
	if (!r->p->nr_samples || h->time_ns < m->start_ns)
		m->start_ns = h->time_ns;
	if (h->time_ns > m->end_ns)
		m->end_ns = h->time_ns;
	/*
	 * Without call chains the only frame is on the same line; a tracepoint has its fields
	 * there.
	 */
	if (h->rest.n && read_frame(r, h->rest))
		end_sample(r);
}

static void read_line(struct reader *r, const char *s, size_t n)
{
	struct text line = { s, n };
	struct head h;

	r->line++;
	if (n && s[n - 1] == '\r')
		line.n = --n;
	if (!n || !trim(line).n) {
		end_sample(r);
		return;
	}
	if (*s == '#' && !r->in_sample)
		return;
	if (isspace((unsigned char)*s) && r->in_sample && read_frame(r, line))
		return;
	if (!memchr(s, '\0', n) && parse_head(line, &h)) {
		begin_sample(r, &h);
		return;
	}
	/* Indented lines that are not frames are source lines or belong to samples left out. */
	if (!isspace((unsigned char)*s) && !r->nr_bad++)
		r->first_bad = r->line;
}

static size_t read_lines(struct reader *r, const char *data, size_t size)
{
	size_t at = 0;

	for (;;) {
		const char *newline = memchr(data + at, '\n', size - at);

		if (!newline)
			return at;
		read_line(r, data + at, (size_t)(newline - data) - at);
		at = (size_t)(newline - data) + 1;
	}
}

static int read_all(struct reader *r, FILE *f)
{
	size_t capacity = 0, size = 0, got, used;
	char *data = NULL;
	int err = 0;

	do {
		data = xgrow(data, &capacity, size + READ_SIZE, 1);
		got = fread(data + size, 1, READ_SIZE, f);
		size += got;
		used = read_lines(r, data, size);
		memmove(data, data + used, size - used);
		size -= used;
		if (size > LINE_MAX_SIZE)
			err = -EINVAL;
	} while (got && !err);
	if (size && !err)
		read_line(r, data, size);
	end_sample(r);
	free(data);
	return ferror(f) ? -EIO : err;
}

static int finish(struct reader *r, int err)
{
	struct profile *p = r->p;

	if (err == -EINVAL || (!err && !p->nr_samples)) {
		log_error(0, "read '%s': it is not the output of perf script", r->name);
		return -EINVAL;
	}
	if (err) {
		log_error(-err, "read '%s'", r->name);
		return err;
	}
	if (r->nr_bad)
		log_warning("'%s': lines left out because perf script does not print such: "
			    "%llu, first line %llu",
			    r->name, (unsigned long long)r->nr_bad,
			    (unsigned long long)r->first_bad);
	if (r->nr_other_events)
		log_warning("'%s': samples left out because their event is not %s: %llu", r->name,
			    profile_str(p, r->event), (unsigned long long)r->nr_other_events);
	p->meta.command = profile_cstring(p, r->name);
	p->meta.source = profile_cstring(p, "perf script");
	p->meta.event = r->event;
	p->stats.nr_samples = p->nr_samples;
	return 0;
}

static int perf_script_read(FILE *f, const char *name, struct profile **ret_profile)
{
	struct reader r = { .p = profile_new(), .name = name };
	int err = finish(&r, read_all(&r, f));

	number_map_fini(&r.spellings);
	free(r.frames);
	buffer_fini(&r.inlined);
	if (err)
		profile_free(r.p);
	else
		*ret_profile = r.p;
	return err;
}

/* Does the first line that is not a comment begin a sample? */
static bool perf_script_is(const char *data, size_t size)
{
	const char *end = data + size;

	while (data < end) {
		const char *newline = memchr(data, '\n', (size_t)(end - data));
		size_t n = newline ? (size_t)(newline - data) : (size_t)(end - data);
		struct head h;

		if (n && *data != '#' && trim((struct text){ data, n }).n)
			return !memchr(data, '\0', n) && parse_head((struct text){ data, n }, &h);
		if (!newline)
			return false;
		data = newline + 1;
	}
	return false;
}

const struct importer import_perf_script = {
	.name = "perf script",
	.is = perf_script_is,
	.read = perf_script_read,
};
