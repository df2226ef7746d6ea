/*
 * Chooses columns. A type that sprof has a column for goes there: "cpu" in nanoseconds,
 * "inuse_space" in bytes. Any other goes to a general column of its unit: time, bytes, or count. A
 * column takes one type.
 */
#include "output/import/pprof_values.h"

#include <errno.h>
#include <string.h>

#include "core/base/buffer.h"
#include "core/base/log.h"
#include "core/profile/column.h"
#include "output/codec/pprof_fields.h"
#include "output/codec/protobuf.h"
#include "output/import/pprof_tables.h"

/* A value type of the file, in words. */
struct value_type {
	const char *type, *unit;
};

/* Units that are converted. Everything else is a count: "count", "objects", "cycles". */
static const struct unit {
	const char *name;
	enum column_unit unit;
	uint64_t scale;
} units[] = {
	{ "nanoseconds", UNIT_NS, 1 },
	{ "nanosecond", UNIT_NS, 1 },
	{ "ns", UNIT_NS, 1 },
	{ "microseconds", UNIT_NS, 1000 },
	{ "microsecond", UNIT_NS, 1000 },
	{ "us", UNIT_NS, 1000 },
	{ "milliseconds", UNIT_NS, 1000000 },
	{ "millisecond", UNIT_NS, 1000000 },
	{ "ms", UNIT_NS, 1000000 },
	{ "seconds", UNIT_NS, 1000000000 },
	{ "second", UNIT_NS, 1000000000 },
	{ "s", UNIT_NS, 1000000000 },
	{ "bytes", UNIT_BYTES, 1 },
	{ "byte", UNIT_BYTES, 1 },
	{ "kilobytes", UNIT_BYTES, 1 << 10 },
	{ "kb", UNIT_BYTES, 1 << 10 },
	{ "megabytes", UNIT_BYTES, 1 << 20 },
	{ "mb", UNIT_BYTES, 1 << 20 },
	{ "gigabytes", UNIT_BYTES, 1 << 30 },
	{ "gb", UNIT_BYTES, 1 << 30 },
};

void pprof_value_type(const struct pprof_tables *t, struct profile *p, struct cursor at,
		      uint32_t *ret_type, uint32_t *ret_unit)
{
	struct protobuf_field f;

	*ret_type = *ret_unit = 0;
	while (protobuf_next(&at, &f) > 0) {
		if (f.is_bytes)
			continue;
		if (f.number == PPROF_VALUE_TYPE_TYPE)
			*ret_type = pprof_string(t, p, f.value);
		else if (f.number == PPROF_VALUE_TYPE_UNIT)
			*ret_unit = pprof_string(t, p, f.value);
	}
}

static struct value_type value_type(const struct pprof_tables *t, struct profile *p, size_t i)
{
	uint32_t type, unit;

	pprof_value_type(t, p, t->types[i], &type, &unit);
	return (struct value_type){ profile_str(p, type), profile_str(p, unit) };
}

static enum column_unit unit_of(const char *name, uint64_t *ret_scale)
{
	*ret_scale = 1;
	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
		if (strcmp(units[i].name, name))
			continue;
		*ret_scale = units[i].scale;
		return units[i].unit;
	}
	return UNIT_COUNT;
}

static bool is_samples(struct value_type v)
{
	uint64_t scale;

	return (!strcmp(v.type, "samples") || !strcmp(v.type, "sample")) &&
	       unit_of(v.unit, &scale) == UNIT_COUNT;
}

static bool has_column(const struct pprof_values *v, size_t nr, int column)
{
	for (size_t i = 0; i < nr; i++)
		if (v->use[i] == column)
			return true;
	return false;
}

/* The column of that name, if its unit fits and no other value took it; else PPROF_USE_NONE. */
static int named_column(const struct pprof_values *v, size_t nr, struct value_type type,
			enum column_unit unit)
{
	enum profile_column column = column_find(type.type);

	if (column >= NR_COLUMNS || column_table[column].unit != unit || has_column(v, nr, column))
		return PPROF_USE_NONE;
	return column;
}

/* A sum needs the count of its events beside it; without that it is just bytes, or a time. */
static void require_pairs(struct pprof_values *v, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		const struct column_info *info =
			v->use[i] < NR_COLUMNS ? &column_table[v->use[i]] : NULL;

		if (info && info->sums && info->counted_by != NR_COLUMNS &&
		    !has_column(v, nr, info->counted_by))
			v->use[i] = PPROF_USE_NONE;
	}
}

static int general_column(enum column_unit unit)
{
	return unit == UNIT_NS ? COLUMN_TIME : unit == UNIT_BYTES ? COLUMN_BYTES : COLUMN_COUNT;
}

static void take_general(struct pprof_values *v, const struct pprof_tables *t, struct profile *p,
			 size_t i)
{
	struct value_type type = value_type(t, p, i);
	int column = general_column(unit_of(type.unit, &v->scale[i]));

	if (v->use[i] == PPROF_USE_NONE && !has_column(v, t->nr_types, column))
		v->use[i] = column;
}

/* Which column has its samples counted by a value "samples"? NR_COLUMNS: none. */
static int counted_column(const struct pprof_values *v, size_t nr)
{
	static const int columns[] = { COLUMN_CPU, COLUMN_WALL, COLUMN_EVENTS };

	for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++)
		if (has_column(v, nr, columns[i]))
			return columns[i];
	return NR_COLUMNS;
}

static void warn_left_out(const struct pprof_values *v, const struct pprof_tables *t,
			  struct profile *p, const char *name)
{
	struct buffer names = { 0 };

	for (size_t i = 0; i < t->nr_types; i++) {
		struct value_type type = value_type(t, p, i);

		if (v->use[i] == PPROF_USE_NONE)
			buffer_printf(&names, "%s%s", names.size ? ", " : "", type.type);
		else if (v->use[i] == COLUMN_COUNT && strcmp(type.unit, "count"))
			log_warning("'%s': %s is in %s and is shown as a plain number", name,
				    type.type, type.unit);
	}
	if (names.size)
		log_warning("'%s': values left out: %s", name, buffer_cstring(&names));
	buffer_fini(&names);
}

int pprof_choose_values(struct pprof_values *v, const struct pprof_tables *t, struct profile *p,
			const char *name)
{
	uint32_t shown = pprof_string(t, p, t->default_type);
	size_t first = t->nr_types - 1;

	if (t->nr_types > PPROF_MAX_VALUES)
		return -EINVAL;
	for (size_t i = 0; i < t->nr_types; i++) {
		struct value_type type = value_type(t, p, i);
		enum column_unit unit = unit_of(type.unit, &v->scale[i]);

		v->use[i] = named_column(v, i, type, unit);
		if (shown && !strcmp(type.type, profile_str(p, shown)))
			first = i;
	}
	require_pairs(v, t->nr_types);
	v->counted = counted_column(v, t->nr_types);
	for (size_t i = 0; i < t->nr_types && v->counted != NR_COLUMNS; i++)
		if (is_samples(value_type(t, p, i)))
			v->use[i] = PPROF_USE_SAMPLES;
	take_general(v, t, p, first);
	for (size_t i = 0; i < t->nr_types; i++)
		take_general(v, t, p, i);
	if (v->use[first] < NR_COLUMNS)
		p->meta.first_column = (uint8_t)(v->use[first] + 1);
	warn_left_out(v, t, p, name);
	return 0;
}
