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

enum {
	MAX_LINES = 4096,      /* functions inlined at one address */
	MAX_MARKER_NAME = 256, /* bytes; no marker has a longer name */
};

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
	t->string_ids = xcalloc(t->nr_strings, sizeof(*t->string_ids));
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
	free(t->string_ids);
	free(t->read_mappings);
	free(t->read_functions);
	import_modules_fini(&t->modules);
	number_map_fini(&t->dropped);
	pprof_prune_fini(&t->prune);
	*t = (struct pprof_tables){ 0 };
}

static uint32_t intern(struct profile *p, const struct cursor *text)
{
	const char *s = (const char *)text->at;
	size_t n = cursor_left(text);
	struct buffer repaired = { 0 };
	uint32_t string;

	if (utf8_is_valid(s, n))
		return profile_string(p, s, n);
	utf8_add_repaired(&repaired, s, n);
	string = profile_string(p, repaired.data, repaired.size);
	buffer_fini(&repaired);
	return string;
}

uint32_t pprof_string(const struct pprof_tables *t, struct profile *p, uint64_t id)
{
	if (id >= t->nr_strings)
		return 0;
	if (!t->string_ids[id])
		t->string_ids[id] = intern(p, &t->strings[id]) + 1;
	return t->string_ids[id] - 1;
}

struct pprof_read_mapping {
	uint64_t start, offset;
	struct import_module module;
	/* In sprof's own exports: */
	bool is_bare; /* only tells the kind of frames that have no module and no address */
	bool inlined; /* tells frames that were inlined when they were imported */
};

/* Id 0 gives an empty mapping, for locations without one. */
static int read_mapping(struct pprof_tables *t, struct profile *p, uint64_t id,
			struct pprof_read_mapping *ret_mapping)
{
	struct pprof_entry *entry = find(&t->mappings, id);
	struct cursor at = entry ? entry->message : (struct cursor){ 0 };
	struct pprof_read_mapping m = { 0 };
	uint32_t path = 0, build_id = 0;
	struct protobuf_field f;
	int status;

	if (entry && entry->made) {
		*ret_mapping = t->read_mappings[entry->made - 1];
		return 0;
	}
	while ((status = protobuf_next(&at, &f)) > 0) {
		switch (f.number) {
		case PPROF_MAPPING_START: m.start = f.value; break;
		case PPROF_MAPPING_OFFSET: m.offset = f.value; break;
		case PPROF_MAPPING_FILENAME: path = pprof_string(t, p, f.value); break;
		case PPROF_MAPPING_BUILD_ID: build_id = pprof_string(t, p, f.value); break;
		}
	}
	if (status < 0 || (id && !entry))
		return -EINVAL;
	m.is_bare =
		!strcmp(profile_str(p, path), "[kernel]") || !strcmp(profile_str(p, path), "[jit]");
	m.inlined = !strcmp(profile_str(p, path), "[inlined]");
	m.module = import_modules_find(&t->modules, p, path, build_id);
	*ret_mapping = m;
	if (!entry)
		return 0;
	t->read_mappings = xgrow(t->read_mappings, &t->read_mappings_capacity,
				 t->nr_read_mappings + 1, sizeof(*t->read_mappings));
	t->read_mappings[t->nr_read_mappings] = m;
	entry->made = (uint32_t)++t->nr_read_mappings;
	return 0;
}

static int read_function(struct pprof_tables *t, struct profile *p, uint64_t id,
			 struct import_function *ret_function)
{
	struct pprof_entry *entry = find(&t->functions, id);
	struct import_function f = { 0 };
	struct protobuf_field field;
	struct cursor at;
	int status;

	if (!entry)
		return -EINVAL;
	if (entry->made) {
		*ret_function = t->read_functions[entry->made - 1];
		return 0;
	}
	at = entry->message;
	while ((status = protobuf_next(&at, &field)) > 0) {
		switch (field.number) {
		case PPROF_FUNCTION_NAME: f.name = pprof_string(t, p, field.value); break;
		case PPROF_FUNCTION_SYSTEM_NAME:
			f.system_name = pprof_string(t, p, field.value);
			break;
		case PPROF_FUNCTION_FILENAME: f.file = pprof_string(t, p, field.value); break;
		case PPROF_FUNCTION_START_LINE: f.start_line = (uint32_t)field.value; break;
		}
	}
	if (status < 0)
		return status;
	if (!f.name)
		f.name = f.system_name;
	if (!f.system_name)
		f.system_name = f.name;
	t->read_functions = xgrow(t->read_functions, &t->read_functions_capacity,
				  t->nr_read_functions + 1, sizeof(*t->read_functions));
	t->read_functions[t->nr_read_functions] = f;
	entry->made = (uint32_t)++t->nr_read_functions;
	*ret_function = f;
	return 0;
}

static int read_line(struct pprof_tables *t, struct profile *p, struct cursor at,
		     const struct pprof_read_mapping *m, struct import_function *ret_function)
{
	struct protobuf_field f;
	uint64_t function = 0;
	uint32_t line = 0;
	int status;

	while ((status = protobuf_next(&at, &f)) > 0) {
		if (f.number == PPROF_LINE_FUNCTION_ID && !f.is_bytes)
			function = f.value;
		else if (f.number == PPROF_LINE_LINE && !f.is_bytes)
			line = f.value <= UINT32_MAX ? (uint32_t)f.value : 0;
	}
	if (status == 0)
		status = read_function(t, p, function, ret_function);
	if (status)
		return status;
	ret_function->line = line;
	ret_function->module = m->module.id;
	ret_function->kind = m->module.kind;
	if (import_is_unnamed(m->module.base, profile_str(p, ret_function->name)))
		ret_function->kind = FUNCTION_UNKNOWN;
	return 0;
}

/* A marker of sprof's own exports becomes a marker again. `functions`: outermost first. */
static uint32_t make_frame(struct profile *p, const struct pprof_read_mapping *m, uint64_t address,
			   struct import_function *functions, size_t nr)
{
	uint64_t at = address - m->start + m->offset;

	if (!nr)
		return import_unnamed_frame(p, m->module.id, at);
	if (m->module.kind == FUNCTION_MARKER && nr == 1) {
		const char *name = profile_str(p, functions->name);
		int marker = marker_from_name(name, strnlen(name, MAX_MARKER_NAME));

		if (marker >= 0)
			return profile_marker_frame(p, (enum marker)marker);
	}
	functions[0].inlined = m->inlined;
	for (size_t i = 1; i < nr; i++)
		functions[i].inlined = true;
	if (address && m->module.id != PROFILE_NONE)
		return import_frame_at(p, m->module.id, at, functions, nr);
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

static bool is_dropped(struct pprof_tables *t, const struct profile *p, uint32_t name)
{
	bool is_new;
	uint32_t *known = number_map_at(&t->dropped, name, &is_new);

	if (is_new)
		*known = pprof_prune_drops(&t->prune, profile_str(p, name));
	return *known;
}

/* `functions` is outermost first. Returns how many are left, and what is cut off the stack. */
static size_t cut_functions(struct pprof_tables *t, const struct profile *p,
			    const struct import_function *functions, size_t nr, uint8_t *ret_cut)
{
	*ret_cut = PPROF_CUT_NOTHING;
	for (size_t i = 0; i < nr && t->prune.drops; i++) {
		if (!is_dropped(t, p, functions[i].name))
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
	struct pprof_read_mapping m;
	int err;

	if (!entry)
		return -EINVAL;
	if (entry->made) {
		*ret_frame = entry->made - 1;
		*ret_cut = entry->cut;
		return 0;
	}
	l = xmalloc(sizeof(*l));
	err = read_location(entry->message, l);
	if (!err)
		err = read_mapping(t, p, l->mapping, &m);
	if (!err)
		functions = xcalloc(l->nr_lines + 1, sizeof(*functions));
	if (!err && m.is_bare && !l->address) {
		m.module.id = PROFILE_NONE;
		m.module.base = "";
	}
	for (size_t i = 0; !err && i < l->nr_lines; i++)
		err = read_line(t, p, l->lines[l->nr_lines - 1 - i], &m, &functions[i]);
	if (!err) {
		size_t nr = cut_functions(t, p, functions, l->nr_lines, &entry->cut);

		*ret_frame = make_frame(p, &m, l->address, functions, nr);
		*ret_cut = entry->cut;
		entry->made = *ret_frame + 1;
	}
	free(functions);
	free(l);
	return err;
}
