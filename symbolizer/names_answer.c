/*
 * Strings, functions and the locations of each frame, in varints; functions name strings by their
 * place, locations name functions. Place 0 of the strings is the empty string.
 */
#include "symbolizer/names_answer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/buffer.h"
#include "core/base/cursor.h"
#include "symbolizer/module_names.h"
#include "symbolizer/name_runs.h"

#define STRING_MAX (1u << 20) /* bytes; names of C++ templates reach some ten thousand */
#define LOCATIONS_MAX 4096    /* of one address */

static void write_locations(struct buffer *b, const struct profile *p,
			    const struct profile_frame *f)
{
	buffer_add_varint(b, f->nr_locations);
	for (size_t i = 0; i < f->nr_locations; i++) {
		const struct profile_location *l = &p->locations[f->first_location + i];

		buffer_add_varint(b, l->function);
		buffer_add_varint(b, l->line);
	}
}

static void write_runs(struct buffer *b, const struct profile *p, size_t nr_frames)
{
	size_t nr = 0;
	struct profile_frame *runs = p->nr_frames > nr_frames ? name_runs_of(p, &nr) : NULL;
	uint64_t last = 0;

	buffer_add_varint(b, nr);
	for (size_t i = 0; i < nr; i++) {
		buffer_add_varint(b, runs[i].address - last);
		write_locations(b, p, &runs[i]);
		last = runs[i].address;
	}
	free(runs);
}

void names_answer_write(struct buffer *b, const struct profile *p, size_t nr_frames)
{
	buffer_add_varint(b, p->nr_strings);
	for (size_t i = 0; i < p->nr_strings; i++) {
		size_t length = strlen(p->strings[i]);

		length = length < STRING_MAX ? length : STRING_MAX;
		buffer_add_varint(b, length);
		buffer_add(b, p->strings[i], length);
	}
	buffer_add_varint(b, p->nr_functions);
	for (size_t i = 0; i < p->nr_functions; i++) {
		const struct profile_function *f = &p->functions[i];

		buffer_add_varint(b, f->name);
		buffer_add_varint(b, f->system_name);
		buffer_add_varint(b, f->file);
		buffer_add_varint(b, f->start_line);
		buffer_add_varint(b, f->kind == FUNCTION_UNKNOWN);
	}
	for (size_t i = 0; i < nr_frames; i++)
		write_locations(b, p, &p->frames[i]);
	write_runs(b, p, nr_frames);
}

struct reader {
	struct cursor bytes;
	struct profile *profile;
	uint32_t *strings, *functions; /* by the writer's number: ids of the profile */
	size_t nr_strings, nr_functions;
};

/* Reads a number of things, each of which takes at least `size` bytes of what is left. */
static bool read_count(struct reader *r, size_t size, size_t *ret_nr)
{
	uint64_t nr;

	if (!cursor_get(&r->bytes, &nr) || nr > cursor_left(&r->bytes) / size)
		return false;
	*ret_nr = nr;
	return true;
}

static bool read_strings(struct reader *r)
{
	size_t nr;

	if (!read_count(r, 1, &nr))
		return false;
	r->strings = xcalloc(nr + 1, sizeof(*r->strings));
	for (; r->nr_strings < nr; r->nr_strings++) {
		struct cursor text;
		size_t length;

		if (!cursor_get_bytes(&r->bytes, STRING_MAX, &text))
			return false;
		length = cursor_left(&text);
		if (memchr(text.at, 0, length))
			return false;
		r->strings[r->nr_strings] =
			profile_string(r->profile, (const char *)text.at, length);
	}
	return true;
}

static bool read_string(struct reader *r, uint32_t *ret_id)
{
	uint64_t number;

	if (!cursor_get_below(&r->bytes, r->nr_strings, &number))
		return false;
	*ret_id = r->strings[number];
	return true;
}

static bool read_functions(struct reader *r, uint32_t module, enum function_kind kind)
{
	size_t nr;

	if (!read_count(r, 5, &nr))
		return false;
	r->functions = xcalloc(nr + 1, sizeof(*r->functions));
	for (; r->nr_functions < nr; r->nr_functions++) {
		struct profile_function f = { .module = module };
		uint64_t is_unknown;

		if (!read_string(r, &f.name) || !read_string(r, &f.system_name) ||
		    !read_string(r, &f.file) || !cursor_get_u32(&r->bytes, &f.start_line) ||
		    !cursor_get_below(&r->bytes, 2, &is_unknown) ||
		    !*profile_str(r->profile, f.name))
			return false;
		f.kind = (uint8_t)(is_unknown ? FUNCTION_UNKNOWN : kind);
		r->functions[r->nr_functions] = profile_function(r->profile, &f);
	}
	return true;
}

static bool read_frame(struct reader *r, uint32_t frame, struct profile_location *locations,
		       size_t *ret_named)
{
	struct profile *p = r->profile;
	size_t nr;

	if (!read_count(r, 2, &nr) || nr > LOCATIONS_MAX)
		return false;
	for (size_t i = 0; i < nr; i++) {
		uint64_t function;

		if (!cursor_get_below(&r->bytes, r->nr_functions, &function) ||
		    !cursor_get_u32(&r->bytes, &locations[i].line))
			return false;
		locations[i].function = r->functions[function];
		locations[i].inlined = i > 0;
	}
	if (nr) {
		profile_set_locations(p, frame, locations, nr);
		*ret_named += p->functions[locations[0].function].kind != FUNCTION_UNKNOWN;
	}
	return true;
}

/* Is the address near one of `wants`, which are searched from *at on? */
static bool is_near(const struct wanted_name *wants, size_t nr, size_t *at, uint64_t address)
{
	while (*at < nr && wants[*at].address + NAME_RUNS_REACH < address)
		++*at;
	return *at < nr && address + NAME_RUNS_REACH >= wants[*at].address;
}

static bool read_runs(struct reader *r, const struct wanted_name *wants, size_t nr_wants,
		      struct profile_location *locations)
{
	uint64_t address = 0, step;
	size_t nr, named = 0, at = 0;
	uint32_t module;

	if (!read_count(r, 2, &nr))
		return false;
	if (!nr)
		return true;
	if (!nr_wants)
		return false;
	module = name_runs_module(r->profile, wants[0].module);
	for (size_t i = 0; i < nr; i++) {
		if (!cursor_get(&r->bytes, &step) || (i && !step) || address + step < address)
			return false;
		address += step;
		if (!is_near(wants, nr_wants, &at, address) ||
		    !read_frame(r, profile_frame(r->profile, module, address), locations, &named))
			return false;
	}
	return true;
}

int names_answer_read(const uint8_t *bytes, size_t size, struct profile *p, enum function_kind kind,
		      const struct wanted_name *wants, size_t nr, bool with_runs, size_t *ret_named)
{
	struct reader r = { .bytes = { .at = bytes, .end = bytes + size }, .profile = p };
	struct profile_location *locations = xcalloc(LOCATIONS_MAX, sizeof(*locations));
	bool sound = read_strings(&r) && (!nr || read_functions(&r, wants[0].module, kind));

	*ret_named = 0;
	for (size_t i = 0; sound && i < nr; i++)
		sound = read_frame(&r, wants[i].frame, locations, ret_named);
	sound = sound && read_runs(&r, wants, with_runs ? nr : 0, locations);
	free(locations);
	free(r.strings);
	free(r.functions);
	return sound && !cursor_left(&r.bytes) ? 0 : -EBADMSG;
}
