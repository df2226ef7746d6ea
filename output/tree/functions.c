/*
 * Names frames. Functions are first interned by name, module and kind, which are three numbers, as
 * the profile interns its strings. Then they are sorted by the strings, and the place in that order
 * is the code.
 */
#include "output/tree/functions.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/buffer.h"
#include "core/base/path.h"
#include "core/profile/intern.h"
#include "core/profile/profile.h"
#include "core/profile/markers.h"
#include "output/text/text.h"

/* Names that are not strings of the profile. */
enum { NAME_UNNAMED = UINT32_MAX, NAME_MARKER = UINT32_MAX - 1 };

/* Functions with equal keys are one. */
struct key {
	uint32_t name;	 /* string id, or one of the above */
	uint32_t module; /* string id of the path; the marker's number for NAME_MARKER */
	uint32_t kind;	 /* enum function_kind */
};

struct entry {
	struct key key;
	struct tree_function function;
	const char *path; /* of the module; decides the order of equal names */
};

struct builder {
	struct tree_functions *t;
	const struct profile *p;
	bool without_modules;
	struct entry *entries;
	size_t nr_entries, capacity;
	struct intern index;   /* of entries, by key */
	uint32_t *by_function; /* profile function -> entry + 1, 0 = not yet */
	size_t nr_codes, codes_capacity;
};

static uint32_t hash_key(const struct key *k)
{
	uint64_t h = ((uint64_t)k->name << 32 | k->module) * 0x9e3779b97f4a7c15u;

	return (uint32_t)((h ^ h >> 29 ^ k->kind * 0x85ebca6bu) * 0xbf58476d1ce4e5b9u >> 20);
}

static bool key_equal(const void *owner, uint32_t id, const void *key)
{
	const struct builder *b = owner;

	return !memcmp(&b->entries[id].key, key, sizeof(struct key));
}

/* The entry of a key. If *ret_new, the caller has to fill in the function. */
static uint32_t intern(struct builder *b, const struct key *key, bool *ret_new)
{
	uint32_t id =
		intern_id(&b->index, hash_key(key), (uint32_t)b->nr_entries, key_equal, b, key);

	*ret_new = id == b->nr_entries;
	if (*ret_new) {
		b->entries =
			xgrow(b->entries, &b->capacity, b->nr_entries + 1, sizeof(*b->entries));
		b->entries[b->nr_entries++] = (struct entry){ .key = *key };
	}
	return id;
}

static const char *own(struct tree_functions *t, char *name)
{
	t->owned = xgrow(t->owned, &t->owned_capacity, t->nr_owned + 1, sizeof(*t->owned));
	return t->owned[t->nr_owned++] = name;
}

/* Copies the name only if it is not clean already, which is rare. */
static const char *clean_name(struct builder *b, const char *name)
{
	size_t n = strlen(name);
	struct buffer clean = { 0 };
	const char *result = name;

	if (!n)
		return "[empty name]";
	text_add_clean(&clean, name, n);
	if (clean.size != n || memcmp(clean.data, name, n))
		result = own(b->t, xstrdup(buffer_cstring(&clean)));
	buffer_fini(&clean);
	return result;
}

/* Imported names have no module: their path is string 0, "". */
static uint32_t module_path(const struct builder *b, uint32_t module)
{
	if (module == PROFILE_NONE || b->p->modules[module].kind == MODULE_NAMED)
		return 0;
	return b->p->modules[module].path;
}

static void set_module(struct builder *b, struct entry *e, uint32_t path)
{
	e->path = b->without_modules ? "" : profile_str(b->p, path);
	e->function.module = path_base_name(e->path);
}

/* Keeps the first of several places in sorted order, so that the input's order does not matter. */
static void set_file(struct tree_function *f, const char *file, uint32_t line)
{
	int order = f->file ? strcmp(file, f->file) : -1;

	if (*file && (!f->file || !*f->file || order < 0 || (order == 0 && line < f->line))) {
		f->file = file;
		f->line = line;
	} else if (!f->file) {
		f->file = "";
	}
}

static uint32_t intern_function(struct builder *b, uint32_t id)
{
	const struct profile_function *f = &b->p->functions[id];
	uint32_t path = module_path(b, f->module);
	struct key key = { f->name, b->without_modules ? 0 : path, f->kind };
	struct entry *e;
	uint32_t entry;
	bool is_new;

	if (b->by_function[id])
		return b->by_function[id] - 1;
	entry = intern(b, &key, &is_new);
	e = &b->entries[entry];
	if (is_new) {
		e->function.name = clean_name(b, profile_str(b->p, f->name));
		e->function.kind = f->kind;
		set_module(b, e, path);
	}
	set_file(&e->function, profile_str(b->p, f->file), f->start_line);
	b->by_function[id] = entry + 1;
	return entry;
}

static const char *fallback_name(struct builder *b, uint32_t frame)
{
	const struct profile_module *m = &b->p->modules[b->p->frames[frame].module];
	const char *base = path_base_name(profile_str(b->p, m->path)), *result;
	char marker[64], *bracketed;

	if (m->kind == MODULE_MARKER)
		return own(b->t, xstrdup(profile_frame_fallback_name(b->p, frame, marker,
								     sizeof(marker))));
	if (!*base)
		return "[unknown]";
	if (*base == '[')
		return clean_name(b, base);
	bracketed = xasprintf("[%s]", base);
	result = clean_name(b, bracketed);
	if (result == bracketed)
		return own(b->t, bracketed);
	free(bracketed);
	return result;
}

/*
 * All unnamed frames of a module are one function, named after the module: "[libx.so]". A function
 * per address would scatter each unnamed function over many boxes.
 */
static uint32_t intern_unnamed(struct builder *b, uint32_t frame)
{
	const struct profile_frame *f = &b->p->frames[frame];
	const struct profile_module *m = &b->p->modules[f->module];
	struct key key = { NAME_UNNAMED, m->path, FUNCTION_UNKNOWN };
	uint32_t entry;
	bool is_new;

	if (m->kind == MODULE_MARKER) {
		uint64_t marker = f->address;

		if (repeat_marker_is(marker))
			marker = repeat_marker_class(marker);
		key = (struct key){ NAME_MARKER, (uint32_t)marker, FUNCTION_MARKER };
	}
	entry = intern(b, &key, &is_new);
	if (is_new) {
		struct entry *e = &b->entries[entry];

		e->function.kind = (uint8_t)key.kind;
		e->function.file = "";
		e->function.name = fallback_name(b, frame);
		set_module(b, e, m->kind == MODULE_MARKER ? 0 : m->path);
	}
	return entry;
}

static void add_code(struct builder *b, uint32_t entry, bool inlined)
{
	struct tree_functions *t = b->t;

	t->codes = xgrow(t->codes, &b->codes_capacity, b->nr_codes + 1, sizeof(*t->codes));
	t->codes[b->nr_codes++] = entry | (inlined ? CODE_INLINED : 0);
	t->with_inlined |= inlined;
}

static void name_frames(struct builder *b, const bool *used)
{
	const struct profile *p = b->p;

	for (uint32_t i = 0; i < p->nr_frames; i++) {
		const struct profile_frame *f = &p->frames[i];

		b->t->first[i] = b->nr_codes;
		if (!used[i])
			continue;
		if (!f->nr_locations)
			add_code(b, intern_unnamed(b, i), false);
		for (uint32_t j = 0; j < f->nr_locations; j++) {
			const struct profile_location *l = &p->locations[f->first_location + j];

			add_code(b, intern_function(b, l->function), l->inlined);
		}
	}
	b->t->first[p->nr_frames] = b->nr_codes;
}

static void name_threads(struct builder *b, const bool *used)
{
	for (uint32_t i = 0; i < b->p->nr_strings; i++) {
		struct key key = { i, 0, FUNCTION_THREAD };
		bool is_new;

		if (!used[i])
			continue;
		b->t->comms[i] = intern(b, &key, &is_new);
		if (is_new)
			b->entries[b->t->comms[i]].function = (struct tree_function){
				.name = clean_name(b, profile_str(b->p, i)),
				.module = "",
				.file = "",
				.kind = FUNCTION_THREAD,
			};
		b->entries[b->t->comms[i]].path = "";
	}
}

static int compare_entries(const void *a, const void *b, void *entries)
{
	const struct entry *x = (struct entry *)entries + *(const uint32_t *)a;
	const struct entry *y = (struct entry *)entries + *(const uint32_t *)b;

	return strcmp(x->function.name, y->function.name) ?: strcmp(x->path, y->path)
	       ?: (int)x->function.kind - (int)y->function.kind;
}

/* Sorts the entries by name and replaces them by their places in that order, in all codes too. */
static void rank(struct builder *b, const bool *comm_used)
{
	struct tree_functions *t = b->t;
	uint32_t *order = xcalloc(b->nr_entries + 1, sizeof(*order));
	uint32_t *place = xcalloc(b->nr_entries + 1, sizeof(*place));

	for (uint32_t i = 0; i < b->nr_entries; i++)
		order[i] = i;
	qsort_r(order, b->nr_entries, sizeof(*order), compare_entries, b->entries);
	t->nr = 1;
	t->list = xcalloc(b->nr_entries + 1, sizeof(*t->list));
	t->list[0] = (struct tree_function){
		.name = "all", .module = "", .file = "", .kind = FUNCTION_THREAD
	};
	for (uint32_t i = 0; i < b->nr_entries; i++) {
		const struct tree_function *f = &b->entries[order[i]].function;

		/* Cleaning can make two names equal: they become one function. */
		if (i && !compare_entries(&order[i - 1], &order[i], b->entries))
			set_file(&t->list[t->nr - 1], f->file, f->line);
		else
			t->list[t->nr++] = *f;
		place[order[i]] = (uint32_t)t->nr - 1;
	}
	for (size_t i = 0; i < b->nr_codes; i++)
		t->codes[i] = place[FRAME_FUNCTION(t->codes[i])] | (t->codes[i] & CODE_INLINED);
	for (size_t i = 0; i < b->p->nr_strings; i++)
		if (comm_used[i])
			t->comms[i] = place[t->comms[i]];
	free(order);
	free(place);
}

void tree_functions_init(struct tree_functions *t, const struct profile *p, const bool *frame_used,
			 const bool *comm_used, bool without_modules)
{
	struct builder b = { .t = t, .p = p, .without_modules = without_modules };

	*t = (struct tree_functions){ 0 };
	t->first = xcalloc(p->nr_frames + 1, sizeof(*t->first));
	t->comms = xcalloc(p->nr_strings + 1, sizeof(*t->comms));
	b.by_function = xcalloc(p->nr_functions + 1, sizeof(*b.by_function));
	name_frames(&b, frame_used);
	name_threads(&b, comm_used);
	rank(&b, comm_used);
	free(b.entries);
	intern_fini(&b.index);
	free(b.by_function);
}

void tree_functions_fini(struct tree_functions *t)
{
	for (size_t i = 0; i < t->nr_owned; i++)
		free(t->owned[i]);
	free(t->owned);
	free(t->list);
	free(t->codes);
	free(t->first);
	free(t->comms);
	*t = (struct tree_functions){ 0 };
}
