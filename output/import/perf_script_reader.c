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
#include "core/profile/event_name.h"
#include "core/profile/profile.h"
#include "output/import/input_file.h"
#include "output/import/named_frames.h"
#include "output/import/perf_script_line.h"
#include "output/import/rust_name.h"

enum {
	READ_SIZE = 256 * 1024,
	LINE_MAX_SIZE = 16 << 20,
	MAX_FRAMES = 1 << 16,
	MAX_INLINED = 256,
	MAX_EVENTS = 255
};

struct event {
	uint32_t name; /* string */
	uint64_t nr_samples, max_period, start_ns, end_ns;
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
	/* Samples of all events are kept until the file has ended, with the event of each. */
	struct event events[MAX_EVENTS];
	size_t nr_events;
	uint8_t *event_of; /* by sample: an index of events[] */
	size_t event_of_capacity;
	uint8_t event; /* of the sample that is read */
	uint64_t line, nr_bad, first_bad, nr_left_out;
};

static uint32_t string_of(struct profile *p, struct slice t)
{
	return profile_string(p, t.s, t.n);
}

/* The name of a symbol; names of Rust's legacy mangling are undone. */
static uint32_t name_of(struct profile *p, struct slice symbol)
{
	struct buffer name = { 0 };
	uint32_t string;

	string = rust_name_add(&name, symbol.s, symbol.n) ? profile_string(p, name.data, name.size)
							  : string_of(p, symbol);
	buffer_fini(&name);
	return string;
}

static struct import_function function_of(struct reader *r, struct slice symbol, struct slice file,
					  bool in_kernel)
{
	struct import_function f = { .name = name_of(r->p, symbol) };
	uint32_t path = string_of(r->p, file);

	f.module = import_module(r->p, profile_str(r->p, path), "", &f.kind);
	f.kind = f.kind == FUNCTION_UNKNOWN ? FUNCTION_NATIVE : f.kind; /* named, in no file */
	if (in_kernel)
		f.kind = FUNCTION_KERNEL; /* "[ext4]", or a file of debug symbols */
	f.system_name = string_of(r->p, symbol);
	return f;
}

static uint32_t make_frame(struct reader *r, const struct perf_script_frame *frame)
{
	struct import_function f = function_of(r, frame->symbol, frame->file, frame->in_kernel);

	if (slice_is(frame->symbol, "[unknown]"))
		return import_unnamed_frame(r->p, f.module, 0);
	return import_frame(r->p, &f, 1);
}

/* The writer of the file cannot provoke equal hashes: it does not know the seed, an address. */
static uint32_t find_frame(struct reader *r, const struct perf_script_frame *f)
{
	uint64_t seed = (uintptr_t)r + f->in_kernel;
	uint64_t hash = XXH3_64bits_withSeed(f->symbol.s, f->symbol.n, seed) * 3 +
			XXH3_64bits_withSeed(f->file.s, f->file.n, seed);
	bool is_new;
	uint32_t *frame = number_map_at(&r->spellings, hash, &is_new);

	if (is_new)
		*frame = make_frame(r, f);
	return *frame;
}

static void add_frame(struct reader *r, uint32_t frame)
{
	if (r->nr_frames == MAX_FRAMES)
		return; /* drops the root side */
	r->frames = xgrow(r->frames, &r->frames_capacity, r->nr_frames + 1, sizeof(*r->frames));
	r->frames[r->nr_frames++] = frame;
}

/*
 * Adds an inlined function. *f is the one before it in the same file, or zero: the file is looked
 * up once for all functions of a line, because its name may be as long as the line.
 */
static void add_inlined_function(struct reader *r, struct import_function *f, struct slice symbol,
				 struct slice file, bool in_kernel)
{
	if (f->inlined) {
		f->name = name_of(r->p, symbol);
		f->system_name = string_of(r->p, symbol);
	} else {
		*f = function_of(r, symbol, file, in_kernel);
		f->inlined = true;
	}
	add_frame(r, import_frame(r->p, f, 1));
}

/* perf names the file of inlined functions only at the frame that they are inlined into. */
static void add_inlined(struct reader *r, struct slice file, bool in_kernel)
{
	struct import_function f = { 0 };
	size_t start = 0;

	for (size_t i = 0; i < r->nr_inlined; i++) {
		struct slice symbol = { r->inlined.data ? r->inlined.data + start : "",
					r->inlined_ends[i] - start };

		add_inlined_function(r, &f, symbol, file, in_kernel);
		start = r->inlined_ends[i];
	}
	r->nr_inlined = r->inlined.size = 0;
}

/* The last "->" of a text that holds one. */
static const char *last_arrow(struct slice t)
{
	const char *at = t.s + t.n - 2;

	while (memcmp(at, "->", 2))
		at--;
	return at;
}

/*
 * The functions "a->b" of runtime code: perf-map-agent writes b, inlined into a, like that. The
 * innermost comes first. What comes after MAX_FRAMES is not looked at.
 */
static void add_unfolded(struct reader *r, struct perf_script_frame f)
{
	const char *first = memmem(f.symbol.s, f.symbol.n, "->", 2);
	size_t outermost = first ? (size_t)(first - f.symbol.s) : 0;
	struct import_function inlined = { 0 };

	while (outermost && f.symbol.n > outermost && r->nr_frames < MAX_FRAMES) {
		const char *arrow = last_arrow(f.symbol), *end = f.symbol.s + f.symbol.n;
		struct slice symbol = { arrow + 2, (size_t)(end - arrow - 2) };

		add_inlined_function(r, &inlined, symbol, f.file, false);
		f.symbol.n = (size_t)(arrow - f.symbol.s);
	}
	if (r->nr_frames < MAX_FRAMES)
		add_frame(r, find_frame(r, &f));
}

static bool is_runtime_code(struct slice file)
{
	return file.n > 10 && !memcmp(file.s, "/tmp/perf-", 10);
}

static bool read_frame(struct reader *r, struct slice line)
{
	struct perf_script_frame f;

	if (!perf_script_parse_frame(line, &f))
		return false;
	if (slice_is(f.file, "inlined") && r->nr_inlined < MAX_INLINED) {
		buffer_add(&r->inlined, f.symbol.s, f.symbol.n);
		r->inlined_ends[r->nr_inlined++] = r->inlined.size;
		return true;
	}
	add_inlined(r, f.file, f.in_kernel);
	if (is_runtime_code(f.file))
		add_unfolded(r, f);
	else
		add_frame(r, find_frame(r, &f));
	return true;
}

static void end_sample(struct reader *r)
{
	struct event *e = &r->events[r->event];
	size_t at = r->p->nr_samples;

	if (!r->in_sample)
		return;
	r->in_sample = false;
	add_inlined(r, (struct slice){ "", 0 }, false);
	r->sample.stack = import_stack(r->p, r->frames, r->nr_frames);
	profile_add_sample(r->p, &r->sample);
	r->event_of = xgrow(r->event_of, &r->event_of_capacity, at + 1, 1);
	r->event_of[at] = r->event;
	e->nr_samples++;
	if (r->sample.weight > e->max_period)
		e->max_period = r->sample.weight;
	if (e->nr_samples == 1 || r->sample.time_ns < e->start_ns)
		e->start_ns = r->sample.time_ns;
	if (r->sample.time_ns > e->end_ns)
		e->end_ns = r->sample.time_ns;
}

/* The index of the event of that name; MAX_EVENTS where there are too many. */
static size_t find_event(struct reader *r, struct slice name)
{
	uint32_t string = string_of(r->p, name);
	size_t i = 0;

	while (i < r->nr_events && r->events[i].name != string)
		i++;
	if (i == r->nr_events && i < MAX_EVENTS)
		r->events[r->nr_events++] = (struct event){ .name = string };
	return i;
}

static void begin_sample(struct reader *r, const struct perf_script_head *h)
{
	size_t event;

	end_sample(r);
	r->nr_frames = 0;
	if (perf_script_is_record(h))
		return;
	event = find_event(r, h->event);
	if (event == MAX_EVENTS) {
		r->nr_left_out++;
		return;
	}
	r->event = (uint8_t)event;
	r->in_sample = true;
	r->sample = (struct profile_sample){
		.time_ns = h->time_ns,
		.weight = h->period,
		.thread = profile_thread(r->p, h->pid, h->tid, string_of(r->p, h->comm)),
		.cpu = h->cpu,
	};
	/*
	 * Without call chains the only frame is on the same line; a tracepoint has its fields
	 * there.
	 */
	if (h->rest.n && read_frame(r, h->rest))
		end_sample(r);
}

static void read_line(struct reader *r, const char *s, size_t n)
{
	struct slice line = { s, n };
	struct perf_script_head h;

	r->line++;
	if (n && s[n - 1] == '\r')
		line.n = --n;
	if (!n || !slice_trim(line).n) {
		end_sample(r);
		return;
	}
	if (*s == '#' && !r->in_sample)
		return;
	if (isspace((unsigned char)*s) && r->in_sample && read_frame(r, line))
		return;
	if (!memchr(s, '\0', n) && perf_script_parse_head(line, &h)) {
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

/* The event to show: the one that was asked for, else the one with the most samples. */
static int choose_event(struct reader *r, const char *want, size_t *ret_event)
{
	struct buffer names = { 0 };
	size_t most = 0;

	for (size_t i = 0; i < r->nr_events; i++) {
		const char *name = profile_str(r->p, r->events[i].name);

		if (want && event_name_is(name, want)) {
			*ret_event = i;
			buffer_fini(&names);
			return 0;
		}
		buffer_printf(&names, "%s%s", i ? ", " : "", name);
		if (r->events[i].nr_samples > r->events[most].nr_samples)
			most = i;
	}
	if (want)
		log_error(0, "show event %s of '%s': it holds only %s", want, r->name,
			  buffer_cstring(&names));
	buffer_fini(&names);
	*ret_event = most;
	return want ? -ENODATA : 0;
}

/*
 * Removes the samples of other events. A sample of a clock weighs the time since the last; of
 * another event, the number of events since the last. Without periods all weigh the same.
 */
static void keep_event(struct reader *r, size_t event)
{
	const struct event *e = &r->events[event];
	struct profile *p = r->p;
	uint8_t column = (uint8_t)event_name_column(profile_str(p, e->name), e->max_period);
	size_t nr = 0;

	for (size_t i = 0; i < p->nr_samples; i++) {
		if (r->event_of[i] != event)
			continue;
		p->samples[nr] = p->samples[i];
		p->samples[nr].column = column;
		if (column == COLUMN_COUNT)
			p->samples[nr].weight = 1;
		nr++;
	}
	r->nr_left_out += p->nr_samples - nr;
	p->nr_samples = nr;
	p->meta.event = e->name;
	p->meta.start_ns = e->start_ns;
	p->meta.end_ns = e->end_ns;
}

static int finish(struct reader *r, const struct import_opts *opts, int err)
{
	size_t event;

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
	err = choose_event(r, opts->event, &event);
	if (err)
		return err;
	keep_event(r, event);
	if (r->nr_left_out)
		log_warning("'%s': samples left out because their event is not %s: %llu "
			    "(--event NAME chooses another)",
			    r->name, profile_str(p, p->meta.event),
			    (unsigned long long)r->nr_left_out);
	import_describe(p, r->name, "perf script");
	return 0;
}

static int perf_script_read(FILE *f, const char *name, const struct import_opts *opts,
			    struct profile **ret_profile)
{
	struct reader r = { .p = profile_new(), .name = name };
	int err = finish(&r, opts, read_all(&r, f));

	number_map_fini(&r.spellings);
	free(r.frames);
	free(r.event_of);
	buffer_fini(&r.inlined);
	return import_end(r.p, err, ret_profile);
}

/*
 * Does the first line that is not a comment begin a sample? A line without a time is too much like
 * other text: it needs a frame, on itself or on the next line.
 */
static bool perf_script_is(const char *data, size_t size)
{
	const char *end = data + size;
	bool needs_frame = false;

	while (data < end) {
		const char *newline = memchr(data, '\n', (size_t)(end - data));
		struct slice line = { data,
				      newline ? (size_t)(newline - data) : (size_t)(end - data) };
		struct perf_script_frame frame;
		struct perf_script_head h;

		if (line.n && memchr(line.s, '\0', line.n))
			return false;
		if (needs_frame)
			return perf_script_parse_frame(line, &frame);
		if (line.n && *data != '#' && slice_trim(line).n) {
			if (!perf_script_parse_head(line, &h))
				return false;
			if (h.has_time || perf_script_parse_frame(h.rest, &frame))
				return true;
			needs_frame = true;
		}
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
