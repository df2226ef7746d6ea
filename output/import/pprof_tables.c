/*
 * Finds entries by id and makes frames of locations. The writer of a file chooses ids freely, so
 * each table is sorted by id and searched. Mostly the ids are 1, 2, 3 ..., and then the first guess
 * is right. Nothing in the file is trusted: a missing id or a damaged message is an error of the
 * whole file.
 */
#include "output/import/pprof_tables.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/buffer.h"
#include "core/base/order.h"
#include "core/profile/profile.h"
#include "output/import/named_frames.h"
#include "output/codec/pprof_fields.h"
#include "output/codec/protobuf.h"
#include "output/codec/utf8.h"

enum { MAX_LINES = 4096 }; /* functions inlined at one address */

static void list_cursor(struct cursor **list, size_t *nr, size_t *capacity, struct cursor c)
{
	*list = xgrow(*list, capacity, *nr + 1, sizeof(**list));
	(*list)[(*nr)++] = c;
}

/* Field 1 is the id of mappings, locations and functions alike. */
static int add_entry(struct pprof_list *list, struct cursor message)
{
	struct pprof_entry entry = { .message = message };
	struct protobuf_field f;
	struct cursor at = message;
	int status;

	while ((status = protobuf_next(&at, &f)) > 0)
		if (f.number == PPROF_LOCATION_ID && !f.is_bytes)
			entry.id = f.value;
	if (status < 0 || !entry.id)
		return -EINVAL;
	list->entries = xgrow(list->entries, &list->capacity, list->nr + 1, sizeof(*list->entries));
	list->entries[list->nr++] = entry;
	return 0;
}

/* Comments come packed or one by one. */
static void add_comment(struct pprof_tables *t, const struct protobuf_field *f)
{
	struct cursor at = f->bytes;
	uint64_t id = f->value;

	do {
		if (f->is_bytes && !cursor_get(&at, &id))
			return;
		if (id < t->nr_strings)
			list_cursor(&t->comments, &t->nr_comments, &t->comments_capacity,
				    t->strings[id]);
	} while (f->is_bytes);
}

static int add_field(struct pprof_tables *t, const struct protobuf_field *f)
{
	switch (f->number) {
	case PPROF_TIME_NANOS: t->time_ns = f->value; return 0;
	case PPROF_DURATION_NANOS: t->duration_ns = f->value; return 0;
	case PPROF_PERIOD: t->period = f->value; return 0;
	case PPROF_DEFAULT_SAMPLE_TYPE: t->default_type = f->value; return 0;
	case PPROF_DROP_FRAMES: t->drop_frames = f->value; return 0;
	case PPROF_KEEP_FRAMES: t->keep_frames = f->value; return 0;
	}
	if (!f->is_bytes)
		return 0;
	switch (f->number) {
	case PPROF_SAMPLE_TYPE:
		list_cursor(&t->types, &t->nr_types, &t->types_capacity, f->bytes);
		return 0;
	case PPROF_SAMPLE:
		list_cursor(&t->samples, &t->nr_samples, &t->samples_capacity, f->bytes);
		return 0;
	case PPROF_STRING_TABLE:
		list_cursor(&t->strings, &t->nr_strings, &t->strings_capacity, f->bytes);
		t->nr_repaired += !utf8_is_valid((const char *)f->bytes.at, cursor_left(&f->bytes));
		return 0;
	case PPROF_PERIOD_TYPE: t->period_type = f->bytes; return 0;
	case PPROF_MAPPING: return add_entry(&t->mappings, f->bytes);
	case PPROF_LOCATION: return add_entry(&t->locations, f->bytes);
	case PPROF_FUNCTION: return add_entry(&t->functions, f->bytes);
	}
	return 0;
}

static int compare_ids(const void *a, const void *b)
{
	const struct pprof_entry *x = a, *y = b;

	return ORDER(x->id, y->id);
}

static struct pprof_entry *find(const struct pprof_list *list, uint64_t id)
{
	const struct pprof_entry key = { .id = id };

	if (id && id <= list->nr && list->entries[id - 1].id == id)
		return &list->entries[id - 1];
	return list->nr ? bsearch(&key, list->entries, list->nr, sizeof(key), compare_ids) : NULL;
}

int pprof_tables_init(struct pprof_tables *t, const void *data, size_t size)
{
	struct cursor at = { .at = data, .end = (const uint8_t *)data + size };
	struct protobuf_field f;
	int status, err = 0;

	*t = (struct pprof_tables){ 0 };
	while (!err && (status = protobuf_next(&at, &f)) > 0)
		err = add_field(t, &f);
	if (!err && (status < 0 || !t->nr_strings || !t->nr_types))
		err = -EINVAL;
	/* Comments are indices of strings, which come last: they need a second pass. */
	at = (struct cursor){ .at = data, .end = (const uint8_t *)data + size };
	while (!err && protobuf_next(&at, &f) > 0)
		if (f.number == PPROF_COMMENT)
			add_comment(t, &f);
	if (err) {
		pprof_tables_fini(t);
		return err;
	}
	if (t->mappings.nr)
		qsort(t->mappings.entries, t->mappings.nr, sizeof(struct pprof_entry), compare_ids);
	if (t->locations.nr)
		qsort(t->locations.entries, t->locations.nr, sizeof(struct pprof_entry),
		      compare_ids);
	if (t->functions.nr)
		qsort(t->functions.entries, t->functions.nr, sizeof(struct pprof_entry),
		      compare_ids);
	return 0;
}

void pprof_tables_fini(struct pprof_tables *t)
{
	free(t->mappings.entries);
	free(t->locations.entries);
	free(t->functions.entries);
	free(t->strings);
	free(t->types);
	free(t->samples);
	free(t->comments);
	pprof_prune_fini(&t->prune);
	*t = (struct pprof_tables){ 0 };
}

uint32_t pprof_string(const struct pprof_tables *t, struct profile *p, uint64_t id)
{
	struct buffer repaired = { 0 };
	const char *s;
	uint32_t string;
	size_t n;

	if (id >= t->nr_strings)
		return 0;
	s = (const char *)t->strings[id].at;
	n = cursor_left(&t->strings[id]);
	if (utf8_is_valid(s, n))
		return profile_string(p, s, n);
	utf8_add_repaired(&repaired, s, n);
	string = profile_string(p, repaired.data, repaired.size);
	buffer_fini(&repaired);
	return string;
}

struct mapping {
	uint64_t start, offset;
	uint32_t module;
	uint8_t kind;
	/* In sprof's own exports: */
	bool is_bare; /* only tells the kind of frames that have no module and no address */
	bool inlined; /* tells frames that were inlined when they were imported */
};

/* Id 0 gives an empty mapping, for locations without one. */
static int read_mapping(const struct pprof_tables *t, struct profile *p, uint64_t id,
			struct mapping *ret_mapping)
{
	const struct pprof_entry *entry = find(&t->mappings, id);
	struct cursor at = entry ? entry->message : (struct cursor){ 0 };
	struct protobuf_field f;
	uint32_t path = 0, build_id = 0;
	int status;

	*ret_mapping = (struct mapping){ 0 };
	while ((status = protobuf_next(&at, &f)) > 0) {
		switch (f.number) {
		case PPROF_MAPPING_START: ret_mapping->start = f.value; break;
		case PPROF_MAPPING_OFFSET: ret_mapping->offset = f.value; break;
		case PPROF_MAPPING_FILENAME: path = pprof_string(t, p, f.value); break;
		case PPROF_MAPPING_BUILD_ID: build_id = pprof_string(t, p, f.value); break;
		}
	}
	ret_mapping->is_bare =
		!strcmp(profile_str(p, path), "[kernel]") || !strcmp(profile_str(p, path), "[jit]");
	ret_mapping->inlined = !strcmp(profile_str(p, path), "[inlined]");
	ret_mapping->module = import_module(p, profile_str(p, path), profile_str(p, build_id),
					    &ret_mapping->kind);
	return status < 0 || (id && !entry) ? -EINVAL : 0;
}

static int read_function(const struct pprof_tables *t, struct profile *p, uint64_t id,
			 struct import_function *f)
{
	const struct pprof_entry *entry = find(&t->functions, id);
	struct protobuf_field field;
	struct cursor at;
	int status;

	if (!entry)
		return -EINVAL;
	at = entry->message;
	while ((status = protobuf_next(&at, &field)) > 0) {
		switch (field.number) {
		case PPROF_FUNCTION_NAME: f->name = pprof_string(t, p, field.value); break;
		case PPROF_FUNCTION_SYSTEM_NAME:
			f->system_name = pprof_string(t, p, field.value);
			break;
		case PPROF_FUNCTION_FILENAME: f->file = pprof_string(t, p, field.value); break;
		case PPROF_FUNCTION_START_LINE: f->start_line = (uint32_t)field.value; break;
		}
	}
	if (!f->name)
		f->name = f->system_name;
	if (!f->system_name)
		f->system_name = f->name;
	return status;
}

static int read_line(const struct pprof_tables *t, struct profile *p, struct cursor at,
		     const struct mapping *m, struct import_function *ret_function)
{
	struct protobuf_field f;
	uint64_t function = 0;
	int status;

	*ret_function = (struct import_function){ .module = m->module, .kind = m->kind };
	while ((status = protobuf_next(&at, &f)) > 0) {
		if (f.number == PPROF_LINE_FUNCTION_ID && !f.is_bytes)
			function = f.value;
		else if (f.number == PPROF_LINE_LINE && !f.is_bytes)
			ret_function->line = f.value <= UINT32_MAX ? (uint32_t)f.value : 0;
	}
	if (status == 0)
		status = read_function(t, p, function, ret_function);
	if (status == 0 && import_is_unnamed(p, m->module, profile_str(p, ret_function->name)))
		ret_function->kind = FUNCTION_UNKNOWN;
	return status;
}

/* A marker of sprof's own exports becomes a marker again. `functions`: outermost first. */
static uint32_t make_frame(struct profile *p, const struct mapping *m, uint64_t address,
			   struct import_function *functions, size_t nr)
{
	uint64_t at = address - m->start + m->offset;

	if (!nr)
		return import_unnamed_frame(p, m->module, at);
	if (m->kind == FUNCTION_MARKER && nr == 1) {
		const char *name = profile_str(p, functions->name);
		int marker = marker_from_name(name, strlen(name));

		if (marker >= 0)
			return profile_marker_frame(p, (enum marker)marker);
	}
	functions[0].inlined = m->inlined;
	for (size_t i = 1; i < nr; i++)
		functions[i].inlined = true;
	if (address && m->module != PROFILE_NONE)
		return import_frame_at(p, m->module, at, functions, nr);
	return import_frame(p, functions, nr);
}

struct location {
	uint64_t mapping, address;
	struct cursor lines[MAX_LINES]; /* innermost first */
	size_t nr_lines;
};

static int read_location(struct cursor at, struct location *l)
{
	struct protobuf_field f;
	int status;

	l->mapping = l->address = l->nr_lines = 0;
	while ((status = protobuf_next(&at, &f)) > 0) {
		if (f.number == PPROF_LOCATION_MAPPING_ID && !f.is_bytes)
			l->mapping = f.value;
		else if (f.number == PPROF_LOCATION_ADDRESS && !f.is_bytes)
			l->address = f.value;
		else if (f.number == PPROF_LOCATION_LINE && f.is_bytes) {
			if (l->nr_lines == MAX_LINES)
				return -EINVAL;
			l->lines[l->nr_lines++] = f.bytes;
		}
	}
	return status;
}

/* `functions` is outermost first. Returns how many are left, and what is cut off the stack. */
static size_t cut_functions(const struct pprof_tables *t, const struct profile *p,
			    const struct import_function *functions, size_t nr, uint8_t *ret_cut)
{
	*ret_cut = PPROF_CUT_NOTHING;
	for (size_t i = 0; i < nr && t->prune.drops; i++) {
		if (!pprof_prune_drops(&t->prune, profile_str(p, functions[i].name)))
			continue;
		*ret_cut = i ? PPROF_CUT_BELOW : PPROF_CUT_FRAME;
		return i ? i : nr;
	}
	return nr;
}

int pprof_frame(struct pprof_tables *t, struct profile *p, uint64_t id, uint32_t *ret_frame,
		uint8_t *ret_cut)
{
	struct pprof_entry *entry = find(&t->locations, id);
	struct import_function *functions = NULL;
	struct location *l = NULL;
	struct mapping m;
	int err;

	if (!entry)
		return -EINVAL;
	if (entry->frame) {
		*ret_frame = entry->frame - 1;
		*ret_cut = entry->cut;
		return 0;
	}
	l = xmalloc(sizeof(*l));
	err = read_location(entry->message, l);
	if (!err)
		err = read_mapping(t, p, l->mapping, &m);
	if (!err)
		functions = xcalloc(l->nr_lines + 1, sizeof(*functions));
	if (!err && m.is_bare && !l->address)
		m.module = PROFILE_NONE;
	for (size_t i = 0; !err && i < l->nr_lines; i++)
		err = read_line(t, p, l->lines[l->nr_lines - 1 - i], &m, &functions[i]);
	if (!err) {
		size_t nr = cut_functions(t, p, functions, l->nr_lines, &entry->cut);

		*ret_frame = make_frame(p, &m, l->address, functions, nr);
		*ret_cut = entry->cut;
		entry->frame = *ret_frame + 1;
	}
	free(functions);
	free(l);
	return err;
}
