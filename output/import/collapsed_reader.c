/*
 * Reads collapsed stacks, the text that stackcollapse-*.pl, inferno and `sprof fold` write: one
 * stack per line, root first, names separated by ';', then a space and a count. collapsed_frame.h
 * says what a name tells about its frame. The reader is fast for four reasons: frames that a line
 * shares with the line before are reused; the ends of all other names of a line are found first, 64
 * bytes at a time; a map leads from the spelling of a name, which for a few bytes is one word, to
 * its frame; and once that map is large, names are looked up some lines after they were read, when
 * the prefetch of their slots has arrived.
 */
#include "output/import/importer.h"

#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "core/base/alloc.h"
#include "core/base/log.h"
#include "core/base/number_map.h"
#include "core/profile/profile.h"
#include "output/import/collapsed_frame.h"
#include "output/import/input_file.h"
#include "output/import/text_scan.h"
#include "output/tree/tree.h"

#define LINE_MAX_SIZE (16 * 1024 * 1024)
#define READ_SIZE (256 * 1024)
#define READ_AHEAD 64 /* bytes behind the text that may be read, whatever they are */
#define PROBED_LINES 8192
#define NR_STEPS 256
#define SHORT_MAX 7		     /* bytes of a name that is its own key */
#define LONG_KEY (UINT64_C(1) << 63) /* set in the keys of all others */
#define LONG_NAMES 16		     /* bytes on average */
#define SMALL_MAP 65536		     /* slots of a map that stays in the cache */

/*
 * Work that is put off until its slot is in the cache. Each line gives one step per name that
 * differs from the line before, and one for its end.
 */
struct step {
	const char *name; /* points into the text; NULL: the end of the line */
	size_t size;	  /* of the name; at the end of a line its count */
	uint64_t key;	  /* see key_of() */
	size_t depth;	  /* index in the stack; at the end of a line the number of frames */
};

struct reader {
	struct profile *profile;
	const char *name;
	struct number_map spellings; /* key of a spelling -> its frame */
	bool put_off;		     /* names are looked up later: see `steps` */
	struct step steps[NR_STEPS];
	size_t nr_steps;
	uint32_t *frames; /* of the line before, or of that whose steps are being taken */
	size_t frames_capacity;
	/* The line before: its text without the count, and the offset at which each frame ends. */
	const char *last;
	size_t last_size;
	size_t *ends;
	size_t nr_frames, ends_capacity;
	char *kept; /* copy of `last`, made before its buffer is reused */
	size_t kept_capacity;
	size_t nr_probed, nr_repeated; /* among the first PROBED_LINES stacks */
	uint64_t nr_names, name_bytes; /* of names not shared with the line before */
	uint64_t total, line, nr_good, nr_bad, first_bad, nr_fractions;
};

static uint32_t new_frame(struct reader *r, uint64_t key, const char *name, size_t size)
{
	uint32_t frame = collapsed_frame(r->profile, name, size);
	bool is_new;

	*number_map_at(&r->spellings, key, &is_new) = frame;
	return frame;
}

static inline uint32_t find_frame(struct reader *r, uint64_t key, const char *name, size_t size)
{
	const uint32_t *frame = number_map_find(&r->spellings, key);

	return frame ? *frame : new_frame(r, key, name, size);
}

/*
 * Most files hold each stack once, so searching for an equal one is wasted time. If many of the
 * first stacks repeat, equal stacks are merged throughout.
 */
static uint32_t add_stack(struct reader *r, size_t nr_frames)
{
	size_t nr = r->profile->nr_stacks;
	uint32_t id;

	if (r->nr_probed >= PROBED_LINES && r->nr_repeated < PROBED_LINES / 8)
		return profile_new_stack(r->profile, r->frames, nr_frames);
	id = profile_stack(r->profile, r->frames, nr_frames);
	if (r->nr_probed < PROBED_LINES) {
		r->nr_probed++;
		r->nr_repeated += r->profile->nr_stacks == nr;
	}
	return id;
}

static void need_frames(struct reader *r, size_t nr)
{
	if (nr > r->frames_capacity)
		r->frames = xgrow(r->frames, &r->frames_capacity, nr, sizeof(*r->frames));
}

static void add_sample(struct reader *r, size_t nr_frames, uint64_t weight)
{
	struct profile_sample sample = {
		.thread = PROFILE_NONE,
		.column = COLUMN_COUNT,
		.weight = weight,
	};

	sample.stack = add_stack(r, nr_frames);
	profile_add_sample(r->profile, &sample);
}

/* Must also run before the buffer that the names point into is reused. */
static void take_steps(struct reader *r)
{
	for (size_t i = 0; i < r->nr_steps; i++) {
		const struct step *step = &r->steps[i];

		if (step->name) {
			r->frames[step->depth] = find_frame(r, step->key, step->name, step->size);
		} else {
			add_sample(r, step->depth, step->size);
		}
	}
	r->nr_steps = 0;
}

static void add_step(struct reader *r, const struct step *step)
{
	if (r->nr_steps == NR_STEPS)
		take_steps(r);
	r->steps[r->nr_steps++] = *step;
}

/*
 * The key of a name; the 8 bytes at s can be read. A short name is its own key. Two long spellings
 * with one key would share a frame. The writer of the file cannot provoke that, as the seed is an
 * address; by chance it happens to one file of a million names in 10^7.
 */
static inline uint64_t key_of(const struct reader *r, const char *s, size_t n)
{
	if (n <= SHORT_MAX)
		return text_scan_word(s) & ((UINT64_C(1) << 8 * n) - 1);
	return XXH3_64bits_withSeed(s, n, (uintptr_t)r) | LONG_KEY;
}

/* Looks up name number i, or puts it off. */
static inline void add_name(struct reader *r, const char *name, size_t size, size_t i)
{
	uint64_t key = key_of(r, name, size);

	if (!r->put_off) {
		r->frames[i] = find_frame(r, key, name, size);
		return;
	}
	number_map_prefetch(&r->spellings, key);
	add_step(r, &(struct step){ name, size, key, i });
}

static void need_ends(struct reader *r, size_t nr)
{
	if (nr > r->ends_capacity)
		r->ends = xgrow(r->ends, &r->ends_capacity, nr, sizeof(*r->ends));
	need_frames(r, nr);
}

/* Adds the names from `at` on to the `nr` that are there; returns how many there are. */
static size_t add_short_names(struct reader *r, const char *s, size_t at, size_t n, size_t nr)
{
	size_t first = nr, start = at, *ends;

	need_ends(r, nr + 1);
	for (; at < n; at += 64) {
		uint64_t bits = text_scan_find(s + at, ';');

		if (n - at < 64)
			bits &= (UINT64_C(1) << (n - at)) - 1;
		if (nr + 65 > r->ends_capacity)
			need_ends(r, nr + 65);
		for (ends = r->ends; bits; bits &= bits - 1)
			ends[nr++] = at + (size_t)__builtin_ctzll(bits);
	}
	r->ends[nr++] = n;
	for (size_t i = first; i < nr; start = r->ends[i++] + 1)
		add_name(r, s + start, r->ends[i] - start, i);
	return nr;
}

/* The same for long names: the C library finds their ends faster, as it has wider registers. */
static size_t add_long_names(struct reader *r, const char *s, size_t at, size_t n, size_t nr)
{
	while (at <= n) {
		const char *semicolon = at < n ? memchr(s + at, ';', n - at) : NULL;
		size_t end = semicolon ? (size_t)(semicolon - s) : n;

		need_ends(r, nr + 1);
		add_name(r, s + at, end - at, nr);
		r->ends[nr++] = end;
		at = end + 1;
	}
	return nr;
}

/*
 * Adds the frames of the stack s, whose first `same` bytes equal those of the stack before.
 * READ_AHEAD bytes after it can be read.
 */
static void split_stack(struct reader *r, const char *s, size_t n, size_t same)
{
	size_t nr = r->nr_frames, at;
	bool are_long = r->name_bytes > LONG_NAMES * r->nr_names;

	same = same < n ? same : n;
	/* A shared frame ends within these bytes, at a ';' or the end of both stacks. */
	while (nr &&
	       (r->ends[nr - 1] > same || (r->ends[nr - 1] == same && same < n && s[same] != ';')))
		nr--;
	at = nr ? r->ends[nr - 1] + 1 : 0;
	r->nr_frames = nr;
	if (at <= n) {
		r->nr_frames = (are_long ? add_long_names : add_short_names)(r, s, at, n, nr);
		r->nr_names += r->nr_frames - nr;
		r->name_bytes += n - at;
	}
	r->last = s;
	r->last_size = n;
}

/* Call before the buffer of text is reused. */
static void keep_last(struct reader *r)
{
	take_steps(r);
	if (r->last == r->kept)
		return;
	r->kept = xgrow(r->kept, &r->kept_capacity, r->last_size, 1);
	memcpy(r->kept, r->last, r->last_size);
	r->last = r->kept;
}

/* Parses "12" or "12.5", rounded; false if it is not a number or not below TREE_MAX_TOTAL. */
static bool parse_count(const char *s, size_t n, uint64_t *ret_count, bool *ret_fraction)
{
	uint64_t count = 0;
	size_t i = 0;

	for (; i < n && isdigit((unsigned char)s[i]); i++) {
		count = count * 10 + (uint64_t)(s[i] - '0');
		if (count >= TREE_MAX_TOTAL)
			return false;
	}
	if (!i || (i < n && s[i] != '.'))
		return false;
	*ret_fraction = false;
	for (size_t j = i + 1; j < n; j++) {
		if (!isdigit((unsigned char)s[j]))
			return false;
		if (s[j] != '0')
			*ret_fraction = true;
	}
	*ret_count = count + (i + 1 < n && s[i + 1] >= '5');
	return true;
}

/* Splits a line into stack and count; false if it is not of that form. */
static bool split_line(const char *s, size_t n, size_t *ret_stack, uint64_t *ret_count,
		       bool *ret_fraction)
{
	size_t stack;

	while (n && (s[n - 1] == ' ' || s[n - 1] == '\t'))
		n--;
	for (stack = n; stack && s[stack - 1] != ' ';) /* a few digits */
		stack--;
	if (!stack || !parse_count(s + stack, n - stack, ret_count, ret_fraction))
		return false;
	while (stack && s[stack - 1] == ' ')
		stack--;
	*ret_stack = stack;
	return stack != 0;
}

/* Blank lines and comments are neither stacks nor errors. inferno skips "# ..." too. */
static bool is_blank(const char *s, size_t n)
{
	return !n || (n >= 2 && s[0] == '#' && s[1] == ' ');
}

static void read_line(struct reader *r, const char *s, size_t n, size_t same, bool has_nul)
{
	uint64_t weight = 0;
	bool fraction = false;
	size_t stack = 0;

	r->line++;
	if (n && s[n - 1] == '\r')
		n--;
	if (is_blank(s, n))
		return;
	if (has_nul || !split_line(s, n, &stack, &weight, &fraction) ||
	    r->total + weight >= TREE_MAX_TOTAL) {
		if (!r->nr_bad++)
			r->first_bad = r->line;
		return;
	}
	r->nr_good++;
	r->nr_fractions += fraction;
	r->total += weight;
	if (!weight)
		return;
	r->put_off = r->spellings.nr_slots > SMALL_MAP;
	split_stack(r, s, stack, same);
	if (r->put_off)
		add_step(r, &(struct step){ NULL, weight, 0, r->nr_frames });
	else
		add_sample(r, r->nr_frames, weight);
}

/* The number of bytes that a line shares with the stack before; no newline or NUL is among them. */
static size_t same_as_last(const struct reader *r, const char *line, size_t size)
{
	return text_scan_common(line, r->last, size < r->last_size ? size : r->last_size);
}

/* Reads each whole line of the buffer, which a NUL follows; returns the number of bytes used. */
static size_t read_lines(struct reader *r, const char *data, size_t size)
{
	size_t at = 0;

	for (;;) {
		const char *line = data + at;
		size_t same = same_as_last(r, line, size - at);
		const char *newline = strchrnul(line + same, '\n');
		bool has_nul = !*newline;

		if (has_nul)
			newline = memchr(newline, '\n', size - (size_t)(newline - data));
		if (!newline)
			return at;
		read_line(r, line, (size_t)(newline - line), same, has_nul);
		at = (size_t)(newline - data) + 1;
	}
}

static int read_all(struct reader *r, FILE *f)
{
	size_t capacity = 0, size = 0, got, used;
	bool skip = false; /* inside a line that is too long */
	char *data = NULL;

	do {
		data = xgrow(data, &capacity, size + READ_SIZE + 1 + READ_AHEAD, 1);
		got = fread(data + size, 1, READ_SIZE, f);
		size += got;
		memset(data + size, 0, 1 + READ_AHEAD);
		used = 0;
		if (skip) {
			const char *newline = memchr(data, '\n', size);

			skip = !newline;
			used = newline ? (size_t)(newline - data) + 1 : size;
		}
		used += read_lines(r, data + used, size - used);
		keep_last(r);
		memmove(data, data + used, size - used);
		size -= used;
		if (size > LINE_MAX_SIZE) {
			read_line(r, "", 1, 0, true); /* counts as a bad line */
			skip = true;
			size = 0;
		}
	} while (got);
	if (size)
		read_line(r, data, size, same_as_last(r, data, size), memchr(data, '\0', size));
	take_steps(r);
	free(data);
	return ferror(f) ? -EIO : 0;
}

static int finish(struct reader *r, int err)
{
	struct profile *p = r->profile;

	if (err) {
		log_error(-err, "read '%s'", r->name);
		return err;
	}
	if (!r->nr_good) {
		log_error(0, "read '%s': no line in it is a collapsed stack (a;b;c 12)", r->name);
		return -EINVAL;
	}
	if (r->nr_bad > r->nr_good) {
		log_error(0,
			  "read '%s': only %llu of its %llu lines are collapsed stacks (a;b;c 12)",
			  r->name, (unsigned long long)r->nr_good,
			  (unsigned long long)(r->nr_good + r->nr_bad));
		return -EINVAL;
	}
	if (r->nr_bad)
		log_warning("'%s': lines left out because they are not collapsed stacks: "
			    "%llu, first line %llu",
			    r->name, (unsigned long long)r->nr_bad,
			    (unsigned long long)r->first_bad);
	if (r->nr_fractions)
		log_warning("'%s': fractional counts rounded: %llu", r->name,
			    (unsigned long long)r->nr_fractions);
	import_describe(p, r->name, "collapsed stacks");
	p->stats.nr_samples = r->total;
	return 0;
}

static int collapsed_read(FILE *f, const char *name, const struct import_opts *opts,
			  struct profile **ret_profile)
{
	struct reader r = { .profile = profile_new(), .name = name };
	int err = finish(&r, read_all(&r, f));

	(void)opts;
	number_map_fini(&r.spellings);
	free(r.kept);
	free(r.frames);
	free(r.ends);
	return import_end(r.profile, err, ret_profile);
}

static bool collapsed_is(const char *data, size_t size)
{
	const char *end = data + size;
	uint64_t count;
	bool fraction;
	size_t stack;

	if (memchr(data, '\0', size))
		return false;
	while (data < end) {
		const char *newline = memchr(data, '\n', (size_t)(end - data));
		size_t n = newline ? (size_t)(newline - data) : (size_t)(end - data);

		/* A line cut off by the end of the data shows its frames, but not its count. */
		if (!newline && memchr(data, ';', n))
			return true;
		if (n && data[n - 1] == '\r')
			n--;
		if (!is_blank(data, n) && split_line(data, n, &stack, &count, &fraction))
			return true;
		if (!newline)
			break;
		data = newline + 1;
	}
	return false;
}

const struct importer import_collapsed = {
	.name = "collapsed",
	.is = collapsed_is,
	.read = collapsed_read,
};
