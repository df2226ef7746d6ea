/*
 * Reads collapsed stacks, the text that stackcollapse-*.pl, inferno and `sprof fold` write: one
 * stack per line, root first, names separated by ';', then a space and a count. collapsed_frame.h
 * says what a name tells about its frame. The reader is fast for three reasons: frames that a line
 * shares with the line before are reused, a hash map leads from the spelling of a name to its
 * frame, and a name is looked up some lines after it was read, when the prefetch of its slot has
 * arrived.
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
#include "output/tree/tree.h"

#define LINE_MAX_SIZE (16 * 1024 * 1024)
#define READ_SIZE (256 * 1024)
#define PROBED_LINES 8192
#define NR_STEPS 256

/*
 * Work that is put off until its slot is in the cache. Each line gives one step per name that
 * differs from the line before, and one for its end.
 */
struct step {
	const char *name; /* points into the text; NULL: the end of the line */
	size_t size;	  /* of the name; at the end of a line its count */
	uint64_t hash;
	size_t depth; /* index in the stack; at the end of a line the number of frames */
};

struct reader {
	struct profile *profile;
	const char *name;
	struct number_map spellings; /* hash of a spelling -> its frame */
	struct step steps[NR_STEPS];
	size_t nr_steps;
	uint32_t *frames; /* of the line whose steps are being taken */
	size_t frames_capacity;
	/* The line before: its text without the count, and the offset at which each frame ends. */
	const char *last;
	size_t last_size;
	size_t *ends;
	size_t nr_frames, ends_capacity;
	char *kept; /* copy of that text, for when its buffer is reused */
	size_t kept_capacity;
	size_t nr_probed, nr_repeated; /* among the first PROBED_LINES stacks */
	uint64_t total, line, nr_good, nr_bad, first_bad, nr_fractions;
};

/*
 * Two spellings with one 64-bit hash would share a frame. The writer of the file cannot provoke
 * that, as the seed is an address; by chance it happens to one file of a million names in 10^8.
 */
static uint32_t find_frame(struct reader *r, const struct step *step)
{
	bool is_new;
	uint32_t *frame = number_map_at(&r->spellings, step->hash, &is_new);

	if (is_new)
		*frame = collapsed_frame(r->profile, step->name, step->size);
	return *frame;
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

/* Must also run before the buffer that the names point into is reused. */
static void take_steps(struct reader *r)
{
	struct profile_sample sample = { .thread = PROFILE_NONE, .column = COLUMN_COUNT };

	for (size_t i = 0; i < r->nr_steps; i++) {
		const struct step *step = &r->steps[i];

		if (step->name) {
			if (step->depth >= r->frames_capacity)
				r->frames = xgrow(r->frames, &r->frames_capacity, step->depth + 1,
						  sizeof(*r->frames));
			r->frames[step->depth] = find_frame(r, step);
			continue;
		}
		sample.weight = step->size;
		sample.stack = add_stack(r, step->depth);
		profile_add_sample(r->profile, &sample);
	}
	r->nr_steps = 0;
}

static void add_step(struct reader *r, const struct step *step)
{
	if (r->nr_steps == NR_STEPS)
		take_steps(r);
	r->steps[r->nr_steps++] = *step;
}

static void add_name(struct reader *r, const char *s, size_t n, size_t depth)
{
	uint64_t hash = XXH3_64bits_withSeed(s, n, (uintptr_t)r);

	number_map_prefetch(&r->spellings, hash);
	add_step(r, &(struct step){ s, n, hash, depth });
}

/* The length of the common prefix of two strings of n bytes. */
static size_t common_prefix(const char *a, const char *b, size_t n)
{
	size_t i = 0;
	uint64_t x, y;

	for (; i + 8 <= n; i += 8) {
		memcpy(&x, a + i, 8);
		memcpy(&y, b + i, 8);
		if (x != y)
			return i + (size_t)(__builtin_ctzll(x ^ y) / 8);
	}
	while (i < n && a[i] == b[i])
		i++;
	return i;
}

/* Adds the steps of the stack s, whose first `same` bytes equal those of the stack before. */
static void split_stack(struct reader *r, const char *s, size_t n, size_t same)
{
	size_t nr = r->nr_frames, at;

	same = same < n ? same : n;
	/* A shared frame ends within these bytes, at a ';' or the end of both stacks. */
	while (nr &&
	       (r->ends[nr - 1] > same || (r->ends[nr - 1] == same && same < n && s[same] != ';')))
		nr--;
	at = nr ? r->ends[nr - 1] + 1 : 0;
	while (at <= n) {
		const char *semicolon = at < n ? memchr(s + at, ';', n - at) : NULL;
		size_t end = semicolon ? (size_t)(semicolon - s) : n;

		if (nr == r->ends_capacity)
			r->ends = xgrow(r->ends, &r->ends_capacity, nr + 1, sizeof(*r->ends));
		add_name(r, s + at, end - at, nr);
		r->ends[nr++] = end;
		at = end + 1;
	}
	r->nr_frames = nr;
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
	const char *space;
	size_t stack;

	while (n && (s[n - 1] == ' ' || s[n - 1] == '\t'))
		n--;
	space = memrchr(s, ' ', n);
	if (!space || !parse_count(space + 1, (size_t)(s + n - space - 1), ret_count, ret_fraction))
		return false;
	for (stack = (size_t)(space - s); stack && s[stack - 1] == ' ';)
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
	split_stack(r, s, stack, same);
	add_step(r, &(struct step){ NULL, weight, 0, r->nr_frames });
}

/* The number of bytes that a line shares with the stack before; no newline or NUL is among them. */
static size_t same_as_last(const struct reader *r, const char *line, size_t size)
{
	return common_prefix(line, r->last, size < r->last_size ? size : r->last_size);
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
		data = xgrow(data, &capacity, size + READ_SIZE + 1, 1);
		got = fread(data + size, 1, READ_SIZE, f);
		size += got;
		data[size] = '\0';
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
