/*
 * One function per record type. Each stops at the first number that cannot be right; what it has
 * read before stays in the profile.
 */
#include "core/recording/decode.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/cursor.h"
#include "core/recording/decode_stacks.h"
#include "core/recording/fact_rows.h"

/* More than any recording has, and few enough for the memory of any machine. */
#define MAX_SAMPLES (1u << 28)
#define MAX_LOCATIONS (1u << 25)
#define MAX_STRING_BYTES (1u << 30)
#define MAX_GAP (1u << 22)

void decoder_init(struct decoder *d, struct profile *p)
{
	*d = (struct decoder){ .p = p, .min_time_ns = UINT64_MAX };
	for (unsigned int i = 0; i < NR_COLUMNS; i++)
		d->columns[i] = (uint8_t)i;
	d->strings.ids = xgrow(NULL, &d->strings.capacity, 1, sizeof(*d->strings.ids));
	d->strings.ids[d->strings.nr++] = 0; /* "" is not written */
}

void decoder_fini(struct decoder *d)
{
	free(d->strings.ids);
	free(d->modules.ids);
	free(d->threads.ids);
	free(d->frames.ids);
	free(d->stacks.ids);
	free(d->functions.ids);
	free(d->stack);
	free(d->locations);
	profile_free(d->part_sums);
}

/* Like id_map_get(), for strings; a lost string is "". */
static bool get_string_id(struct decoder *d, struct cursor *c, uint32_t *ret_id)
{
	uint32_t id;

	if (!id_map_get(c, &d->strings, &id))
		return false;
	*ret_id = id == PROFILE_NONE ? 0 : id;
	return true;
}

/* Marks numbers below `first` that have not come as lost. */
static bool map_skip_to(struct decoder *d, struct id_map *map, uint32_t first)
{
	if (first < map->nr || first - map->nr > MAX_GAP - d->nr_gap)
		return false;
	d->nr_gap += first - map->nr;
	while (map->nr < first) {
		if (!id_map_add(map, PROFILE_NONE))
			return false;
	}
	return true;
}

static bool decode_strings(struct decoder *d, struct cursor *c)
{
	while (c->at < c->end) {
		struct cursor s;
		size_t size;

		if (!cursor_get_bytes(c, RECORD_MAX_STRING, &s))
			return false;
		size = cursor_left(&s);
		d->nr_string_bytes += size;
		if (d->nr_string_bytes > MAX_STRING_BYTES ||
		    !id_map_add(&d->strings, profile_string(d->p, (const char *)s.at, size)))
			return false;
	}
	return true;
}

static uint64_t number_of(const struct profile *p, uint32_t string)
{
	return strtoull(p->strings[string], NULL, 10);
}

static void set_meta(struct profile *p, const char *key, uint32_t value)
{
	struct profile_meta *meta = &p->meta;
	const struct {
		const char *key;
		uint32_t *field;
	} strings[] = {
		{ "hostname", &meta->hostname }, { "kernel", &meta->kernel },
		{ "command", &meta->command },	 { "source", &meta->source },
		{ "event", &meta->event },	 { "version", &meta->version },
		{ "boot", &meta->boot },
	};

	for (size_t i = 0; i < sizeof(strings) / sizeof(*strings); i++) {
		if (strcmp(key, strings[i].key) == 0)
			*strings[i].field = value;
	}
	if (strcmp(key, "freq_hz") == 0)
		meta->freq_hz = (uint32_t)number_of(p, value);
	else if (strcmp(key, "nr_cpus") == 0)
		meta->nr_cpus = (uint32_t)number_of(p, value);
	else if (strcmp(key, "end_ns") == 0)
		meta->end_ns = number_of(p, value);
	else if (strcmp(key, "names") == 0)
		meta->names_beside = strcmp(p->strings[value], "beside") == 0;
}

static bool decode_meta(struct decoder *d, struct cursor *c)
{
	while (c->at < c->end) {
		struct cursor key, value;
		uint32_t id;
		char *name;

		if (!cursor_get_bytes(c, RECORD_MAX_STRING, &key) ||
		    !cursor_get_bytes(c, RECORD_MAX_STRING, &value))
			return false;
		d->nr_string_bytes += cursor_left(&value);
		if (d->nr_string_bytes > MAX_STRING_BYTES)
			return false;
		id = profile_string(d->p, (const char *)value.at, cursor_left(&value));
		name = strndup((const char *)key.at, cursor_left(&key));
		if (name)
			set_meta(d->p, name, id);
		free(name);
	}
	return decoder_wants_host(d);
}

static bool decode_module(struct decoder *d, struct cursor *c, uint32_t *ret_id)
{
	struct profile_module module = { 0 };
	struct cursor build_id;
	uint64_t kind;

	/* What pid and ino hold depends on the kind: struct profile_module. */
	if (!get_string_id(d, c, &module.path) || !cursor_get_u32(c, &module.pid) ||
	    !cursor_get(c, &kind) || !cursor_get(c, &module.dev) || !cursor_get(c, &module.ino) ||
	    !cursor_get_bytes(c, BUILD_ID_MAX, &build_id))
		return false;
	/* A kind from a later version: nothing is known about its frames. */
	*ret_id = PROFILE_NONE;
	if (kind > MODULE_PYTHON)
		return true;
	if (kind == MODULE_NAMED && module.function_kind >= NR_FUNCTION_KINDS)
		module.function_kind = FUNCTION_UNKNOWN;
	if (kind == MODULE_PYTHON) {
		if (module.code_name >= d->strings.nr)
			return true;
		module.code_name = d->strings.ids[module.code_name];
		if (module.code_name == PROFILE_NONE)
			module.code_name = 0;
	}
	module.kind = (uint8_t)kind;
	module.build_id_size = (uint8_t)cursor_left(&build_id);
	memcpy(module.build_id, build_id.at, module.build_id_size);
	if (module.kind == MODULE_JIT)
		module.ino += (uint64_t)d->part.number << 40;
	else if (!module.build_id_size && profile_module_has_addresses(&module))
		module.ino += (uint64_t)decoder_boot(d) << 40;
	*ret_id = profile_module(d->p, &module);
	return true;
}

static bool decode_modules(struct decoder *d, struct cursor *c)
{
	while (c->at < c->end) {
		struct cursor entry;
		uint32_t id;

		if (!cursor_get_bytes(c, SIZE_MAX, &entry) || !decode_module(d, &entry, &id) ||
		    !id_map_add(&d->modules, id))
			return false;
	}
	return true;
}

static bool decode_threads(struct decoder *d, struct cursor *c)
{
	struct profile_thread thread = { .host = decoder_host(d) };

	while (c->at < c->end) {
		if (!cursor_get_u32(c, &thread.pid) || !cursor_get_u32(c, &thread.tid) ||
		    !get_string_id(d, c, &thread.comm) ||
		    !id_map_add(&d->threads, profile_thread_of_host(d->p, &thread)))
			return false;
	}
	return true;
}

/* Adds the deltas to `delta`, the sample before. */
static bool decode_sample(struct decoder *d, struct cursor columns[NR_RECORD_COLUMNS],
			  struct profile_sample *delta)
{
	struct profile_sample sample;
	uint64_t thread, cpu, column, gil = GIL_UNKNOWN;
	uint32_t labels = 0;

	if (!cursor_get_delta(&columns[RECORD_COLUMN_TIME], &delta->time_ns) ||
	    !cursor_get_below(&columns[RECORD_COLUMN_THREAD], d->threads.nr + 1, &thread) ||
	    !id_map_get(&columns[RECORD_COLUMN_STACK], &d->stacks, &delta->stack) ||
	    !cursor_get_below(&columns[RECORD_COLUMN_CPU], UINT16_MAX + 1, &cpu) ||
	    !cursor_get_delta(&columns[RECORD_COLUMN_WEIGHT], &delta->weight) ||
	    !cursor_get(&columns[RECORD_COLUMN_COLUMN], &column) ||
	    (columns[RECORD_COLUMN_GIL].at && !cursor_get(&columns[RECORD_COLUMN_GIL], &gil)) ||
	    (columns[RECORD_COLUMN_LABELS].at &&
	     !get_string_id(d, &columns[RECORD_COLUMN_LABELS], &labels)))
		return false;
	if (delta->stack == PROFILE_NONE || column >= NR_COLUMNS)
		return true; /* missing records: nr_claimed tells how many */
	if (d->p->nr_samples >= MAX_SAMPLES)
		return false;
	sample = (struct profile_sample){
		.time_ns = delta->time_ns,
		.weight = delta->weight,
		.thread = thread ? d->threads.ids[thread - 1] : PROFILE_NONE,
		.stack = delta->stack,
		.cpu = (uint16_t)cpu,
		.column = (uint8_t)column,
		.gil = gil < NR_GIL ? (uint8_t)gil : GIL_UNKNOWN,
		.labels = labels,
	};
	if (!decoder_wants(d, &sample))
		return true;
	profile_add_sample(d->p, &sample);
	if (sample.time_ns < d->min_time_ns)
		d->min_time_ns = sample.time_ns;
	if (sample.time_ns > d->max_time_ns)
		d->max_time_ns = sample.time_ns;
	return true;
}

static bool decode_samples(struct decoder *d, struct cursor *c)
{
	struct cursor columns[NR_RECORD_COLUMNS] = { 0 };
	uint64_t sizes[NR_RECORD_COLUMNS];
	struct profile_sample delta = { 0 };
	uint64_t nr, nr_columns;

	if (!cursor_get(c, &nr) || !cursor_get(c, &nr_columns) || nr_columns < MIN_RECORD_COLUMNS)
		return false;
	for (uint64_t i = 0; i < nr_columns; i++) {
		uint64_t size;

		if (!cursor_get(c, &size))
			return false;
		if (i < NR_RECORD_COLUMNS)
			sizes[i] = size;
	}
	for (size_t i = 0; i < NR_RECORD_COLUMNS && i < nr_columns; i++) {
		if (sizes[i] > cursor_left(c))
			return false;
		columns[i] = (struct cursor){ .at = c->at, .end = c->at + sizes[i] };
		c->at += sizes[i];
	}
	for (uint64_t i = 0; i < nr; i++) {
		if (!decode_sample(d, columns, &delta))
			return false;
	}
	return true;
}

static bool decode_stats(struct decoder *d, struct cursor *c)
{
	struct profile_stats *stats = &d->p->stats;

	while (c->at < c->end) {
		uint64_t stat, value;

		if (!cursor_get(c, &stat) || !cursor_get(c, &value))
			return false;
		switch (stat) {
		case RECORD_STAT_SAMPLES:
			if (value > d->nr_claimed)
				d->nr_claimed = value;
			break;
		case RECORD_STAT_LOST: stats->nr_lost = value; break;
		case RECORD_STAT_SNAPSHOTS: stats->nr_snapshots = value; break;
		case RECORD_STAT_THROTTLED: stats->nr_throttled = value; break;
		case RECORD_STAT_ROWS: stats->nr_rows = value; break;
		case RECORD_STAT_LIMITS: stats->nr_limits = value; break;
		default:
			if (stat >= RECORD_STAT_INCOMPLETE &&
			    stat < RECORD_STAT_INCOMPLETE + NR_MARKERS)
				stats->nr_incomplete[stat - RECORD_STAT_INCOMPLETE] = value;
		}
	}
	return true;
}

static bool decode_functions(struct decoder *d, struct cursor *c)
{
	while (c->at < c->end) {
		struct profile_function function = { .module = PROFILE_NONE };
		uint64_t module, kind;

		if (!get_string_id(d, c, &function.name) ||
		    !get_string_id(d, c, &function.system_name) ||
		    !cursor_get_below(c, d->modules.nr + 1, &module) ||
		    !get_string_id(d, c, &function.file) ||
		    !cursor_get_u32(c, &function.start_line) || !cursor_get(c, &kind))
			return false;
		if (module)
			function.module = d->modules.ids[module - 1];
		function.kind = kind < NR_FUNCTION_KINDS ? (uint8_t)kind : FUNCTION_UNKNOWN;
		if (!id_map_add(&d->functions, profile_function(d->p, &function)))
			return false;
	}
	return true;
}

static bool decode_location(struct decoder *d, struct cursor *c,
			    struct profile_location *ret_location)
{
	uint64_t line;

	if (!id_map_get(c, &d->functions, &ret_location->function) ||
	    !cursor_get_below(c, 1ull << 33, &line))
		return false;
	ret_location->line = (uint32_t)(line >> 1);
	ret_location->inlined = line & 1;
	return true;
}

static bool decode_locations(struct decoder *d, struct cursor *c)
{
	while (c->at < c->end) {
		bool known = true;
		uint32_t frame;
		uint64_t nr;

		if (!id_map_get(c, &d->frames, &frame) || !cursor_get(c, &nr) ||
		    nr > cursor_left(c) || d->p->nr_locations + nr > MAX_LOCATIONS)
			return false;
		d->locations =
			xgrow(d->locations, &d->locations_capacity, nr, sizeof(*d->locations));
		for (size_t i = 0; i < nr; i++) {
			if (!decode_location(d, c, &d->locations[i]))
				return false;
			known = known && d->locations[i].function != PROFILE_NONE;
		}
		if (known && frame != PROFILE_NONE)
			profile_set_locations(d->p, frame, d->locations, nr);
	}
	return true;
}

static bool decode_record(struct decoder *d, uint16_t type, struct cursor *c)
{
	switch (type) {
	case RECORD_META: return decode_meta(d, c);
	case RECORD_STRINGS: return decode_strings(d, c);
	case RECORD_MODULES: return decode_modules(d, c);
	case RECORD_THREADS: return decode_threads(d, c);
	case RECORD_FRAMES: return frames_decode(d, c);
	case RECORD_STACKS: return stacks_decode(d, c);
	case RECORD_SAMPLES: return decode_samples(d, c);
	case RECORD_STATS: return decode_stats(d, c);
	case RECORD_FUNCTIONS: return decode_functions(d, c);
	case RECORD_LOCATIONS: return decode_locations(d, c);
	case RECORD_FACTS: return facts_decode(d, c);
	}
	return true; /* from a later version */
}

bool decoder_chunk(struct decoder *d, const struct record_chunk *chunk, const uint8_t *content,
		   size_t size)
{
	const struct record_first *first = &chunk->first;
	struct cursor c = { .at = content, .end = content + size };

	if (chunk->first_sample > d->nr_claimed)
		d->nr_claimed = chunk->first_sample;
	if (!map_skip_to(d, &d->strings, first->string) ||
	    !map_skip_to(d, &d->modules, first->module) ||
	    !map_skip_to(d, &d->threads, first->thread) ||
	    !map_skip_to(d, &d->frames, first->frame) ||
	    !map_skip_to(d, &d->stacks, first->stack) ||
	    !map_skip_to(d, &d->functions, first->function))
		return false;
	while (c.at < c.end) {
		struct record_head head;
		struct cursor payload;

		if (cursor_left(&c) < sizeof(head))
			return false;
		memcpy(&head, c.at, sizeof(head));
		c.at += sizeof(head);
		if (head.size > cursor_left(&c))
			return false;
		payload = (struct cursor){ .at = c.at, .end = c.at + head.size };
		c.at += head.size;
		if (!decode_record(d, head.type, &payload))
			return false;
	}
	return true;
}
