/*
 * Packs a tree. To help zlib, names leave out the beginning that they share with the name before,
 * and numbers of one kind lie together.
 */
#include "output/flame/svg_data.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/buffer.h"
#include "core/profile/column.h"
#include "output/flame/color.h"
#include "output/flame/svg_data_nodes.h"
#include "output/flame/svg_data_pack.h"
#include "output/flame/svg_data_wide.h"
#include "output/tree/diff.h"
#include "output/tree/label.h"
#include "output/text/text.h"
#include "output/flame/timeline_data.h"
#include "output/tree/tree.h"

enum {
	FLAG_TIME = 1,
	FLAG_SAMPLES = 2,
	FLAG_BYTES = 4,
	FLAG_EXACT = 8,
	FLAG_DIFF = 16,
	FLAG_ABSOLUTE = 32,
	FLAG_TIMELINE = 64,
	FLAG_UNEQUAL = 128,
	FLAG_OUTLINE = 256,
};

enum { LARGE = 1 << 18 }; /* nodes; a page reads fewer in some 30 ms */

struct svg_data {
	const struct tree *tree;
	const struct diff *diff;      /* or NULL */
	struct svg_data_nodes *nodes; /* of all nodes if the tree is an outline; else NULL */
	struct timeline *timeline;    /* or NULL */
	bool samples;		      /* samples have their own section */
};

/* The distinct strings of all functions, sorted. */
struct string_table {
	const char **list;
	size_t nr;
};

static int compare_strings(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void string_table_init(struct string_table *t, const struct tree *tree, bool files)
{
	size_t nr = tree->functions.nr, kept = 0;

	t->list = xcalloc(nr, sizeof(*t->list));
	for (size_t i = 0; i < nr; i++)
		t->list[i] = files ? tree->functions.list[i].file : tree->functions.list[i].module;
	qsort(t->list, nr, sizeof(*t->list), compare_strings);
	for (size_t i = 0; i < nr; i++)
		if (!kept || strcmp(t->list[kept - 1], t->list[i]))
			t->list[kept++] = t->list[i];
	t->nr = kept;
}

static size_t string_table_find(const struct string_table *t, const char *s)
{
	const char **found = bsearch(&s, t->list, t->nr, sizeof(*t->list), compare_strings);

	return (size_t)(found - t->list);
}

static void string_table_add(struct buffer *b, const struct string_table *t)
{
	struct buffer text = { 0 };

	buffer_add_varint(b, t->nr);
	for (size_t i = 0; i < t->nr; i++) {
		text.size = 0;
		text_add_clean(&text, t->list[i], strlen(t->list[i]));
		buffer_add_varint(b, text.size);
		buffer_add(b, text.data, text.size);
	}
	buffer_fini(&text);
}

/* The length in UTF-16 units, in which JavaScript counts. */
static size_t utf16_length(const char *s, size_t n)
{
	size_t units = 0, length;

	for (size_t i = 0; i < n; i += length)
		units += 1 + (text_decode(s + i, n - i, &length) > 0xffff);
	return units;
}

static void add_name(struct buffer *b, const struct label_name *name, const struct label_name *last)
{
	size_t shared = 0, n = last ? (last->size < name->size ? last->size : name->size) : 0;

	while (shared < n && last->text[shared] == name->text[shared])
		shared++;
	buffer_add_varint(b, shared);
	buffer_add_varint(b, name->size - shared);
	buffer_add(b, name->text + shared, name->size - shared);
	buffer_add_varint(b, utf16_length(name->text, name->short_start));
	buffer_add_varint(b, utf16_length(name->text + name->short_start, name->short_size));
}

/* By function of a wait: its first node, or 0. NULL: no waits. The caller frees the array. */
static uint32_t *find_waits(const struct tree *tree)
{
	uint32_t *nodes = NULL;

	for (size_t i = 0; i < tree->functions.nr && !nodes; i++)
		if (tree->functions.list[i].kind == FUNCTION_WAIT)
			nodes = xcalloc(tree->functions.nr, sizeof(*nodes));
	for (uint32_t i = tree->nr_nodes; nodes && --i > 0;)
		if (tree_function_of(tree, i)->kind == FUNCTION_WAIT)
			nodes[tree->nodes[i].function] = i;
	return nodes;
}

/* The class of a function, in which 'v' says that a wait's function is not the reason. */
static void add_class(struct buffer *b, const struct tree *tree, const struct tree_function *f,
		      uint32_t wait)
{
	char class[COLOR_NAME_SIZE];

	if (wait)
		color_class(tree, wait, class);
	else
		color_function_class(f, class);
	if (f->kind == FUNCTION_WAIT && !color_is_reason(f))
		class[0] = 'v';
	buffer_add(b, class, 2);
}

static void add_functions(struct buffer *b, const struct tree *tree)
{
	uint32_t *waits = find_waits(tree);
	struct string_table modules, files;
	struct label_name name, last;

	string_table_init(&modules, tree, false);
	string_table_init(&files, tree, true);
	string_table_add(b, &modules);
	string_table_add(b, &files);
	buffer_add_varint(b, tree->functions.nr);
	for (size_t i = 0; i < tree->functions.nr; i++) {
		const struct tree_function *f = &tree->functions.list[i];

		name = label_name_of(f);
		add_name(b, &name, i ? &last : NULL);
		last = name;
		add_class(b, tree, f, waits && !color_is_reason(f) ? waits[i] : 0);
		buffer_add_varint(b, f->kind);
		buffer_add_varint(b, string_table_find(&modules, f->module));
		buffer_add_varint(b, string_table_find(&files, f->file));
		buffer_add_varint(b, f->line);
	}
	free(waits);
	free(modules.list);
	free(files.list);
}

/* The parts of the data, in this order. */
enum { HEAD, NODES, REST = NODES + SVG_NODES_PARTS, NR_PARTS };

/* The nodes of the tree, or those of an outline of it. */
static void add_nodes(struct buffer *parts, const struct svg_data *d, const struct wide_nodes *wide)
{
	struct svg_data_nodes *all = wide ? NULL : d->nodes;
	struct svg_data_nodes *nodes = all ? all : svg_data_nodes_of(d->tree, wide);

	svg_data_nodes_move(nodes, &parts[HEAD], &parts[NODES]);
	if (!all)
		svg_data_nodes_free(nodes);
}

/* A section of the values: is it of before, is it of samples? */
struct section {
	bool before, samples;
};

static const struct section sections[] = { { false, true }, { true, false }, { true, true } };

static bool has_section(const struct svg_data *d, struct section s)
{
	return (!s.samples || d->samples) && (!s.before || d->diff);
}

/* A value or the number of its samples, which of samples that weigh differently is `equal`. */
static uint64_t number_of(const struct svg_data *d, struct section s,
			  const struct diff_amount *amount)
{
	bool unequal = d->diff && d->diff->has_variances;

	return !s.samples ? amount->value : unequal ? amount->equal : amount->samples;
}

/* The self of a node, or its total. */
static struct diff_amount amount_of(const struct svg_data *d, bool before, uint32_t node,
				    bool total)
{
	const struct tree_node *n = &d->tree->nodes[node];
	struct tree_events events;
	uint64_t equal = 0;

	if (before)
		return total ? d->diff->before[node].total : d->diff->before[node].self;
	events = tree_events_of(d->tree, n);
	if (d->diff)
		equal = total ? d->diff->after[node].total : d->diff->after[node].self;
	return (struct diff_amount){ total ? tree_total(d->tree, n) : tree_self(d->tree, n),
				     total ? events.total : events.self, equal };
}

/* Adds the sections of the values, apart from the selves now. */
static void add_values(struct buffer *b, const struct svg_data *d, const struct wide_nodes *wide)
{
	uint32_t nr = wide ? wide->nr : d->tree->nr_nodes;

	for (size_t s = 0; s < sizeof(sections) / sizeof(*sections); s++) {
		for (uint32_t i = 0; has_section(d, sections[s]) && i < nr; i++) {
			uint32_t node = wide ? wide->list[i].node : i;
			struct diff_amount amount = amount_of(d, sections[s].before, node,
							      wide && wide->list[i].cut.nr);

			svg_data_add_number(b, number_of(d, sections[s], &amount));
		}
	}
}

static bool samples_differ(const struct tree *tree, const struct diff *diff)
{
	if (!diff && tree->info->counted_by == tree->column)
		return false;
	if (diff && diff->has_variances)
		return true;
	for (uint32_t i = 0; i < tree->nr_nodes; i++)
		if (tree_self(tree, &tree->nodes[i]) !=
			    tree_events_of(tree, &tree->nodes[i]).self ||
		    (diff && diff->before[i].self.value != diff->before[i].self.samples))
			return true;
	return false;
}

/* Adds what comes before the nodes. */
static void add_head(struct buffer *b, const struct svg_data *d, bool outline)
{
	const struct column_info *column = d->tree->info;
	const struct diff *diff = d->diff;

	buffer_add_varint(b, (outline ? FLAG_OUTLINE : 0) | (d->samples ? FLAG_SAMPLES : 0) |
				     (d->timeline ? FLAG_TIMELINE : 0) |
				     (column->unit == UNIT_NS ? FLAG_TIME : 0) |
				     (column->unit == UNIT_BYTES ? FLAG_BYTES : 0) |
				     (column->exact ? FLAG_EXACT : 0) | (diff ? FLAG_DIFF : 0) |
				     (diff && diff->absolute ? FLAG_ABSOLUTE : 0) |
				     (diff && diff->has_variances ? FLAG_UNEQUAL : 0));
	buffer_add_varint(b, strlen(column->events));
	buffer_add_string(b, column->events);
	if (diff && diff->has_variances) {
		buffer_add_varint(b, diff->step_before);
		buffer_add_varint(b, diff->step_after);
	}
	add_functions(b, d->tree);
}

struct svg_data *svg_data_new(const struct tree *tree, const struct diff *diff,
			      const struct profile *p, struct svg_data_nodes *nodes)
{
	struct svg_data *d = xcalloc(1, sizeof(*d));

	assert(!tree->outline || nodes);
	*d = (struct svg_data){
		.tree = tree,
		.diff = diff,
		.nodes = tree->outline ? nodes : NULL,
		.timeline = p ? timeline_new(tree, p) : NULL,
		.samples = samples_differ(tree, diff),
	};
	return d;
}

void svg_data_free(struct svg_data *data)
{
	if (!data)
		return;
	timeline_free(data->timeline);
	free(data);
}

bool svg_data_is_large(const struct svg_data *data)
{
	const struct tree *tree = data->tree;
	size_t nr = data->nodes ? svg_data_nodes_count(data->nodes) : tree->nr_nodes;
	struct wide_nodes wide;
	bool large;

	if (nr < LARGE)
		return false;
	wide_nodes_init(&wide, tree, data->diff);
	large = wide.nr <= nr / 2;
	wide_nodes_fini(&wide);
	return large;
}

void svg_data_add(struct buffer *b, struct svg_data *data)
{
	struct buffer parts[NR_PARTS] = { 0 };

	add_head(&parts[HEAD], data, false);
	add_nodes(parts, data, NULL);
	add_values(&parts[REST], data, NULL);
	if (data->timeline) {
		timeline_data_add(&parts[REST], data->timeline);
		timeline_data_add_nodes(&parts[REST], data->timeline);
	}
	svg_data_pack(b, parts, NR_PARTS);
}

/* Adds self and total by function. */
static void add_sums(struct buffer *b, const struct svg_data *d, struct section s,
		     const struct diff_row *rows)
{
	size_t nr = d->tree->functions.nr;

	for (size_t i = 0; i < nr; i++)
		svg_data_add_number(
			b, number_of(d, s, s.before ? &rows[i].before.self : &rows[i].after.self));
	for (size_t i = 0; i < nr; i++)
		svg_data_add_number(
			b,
			number_of(d, s, s.before ? &rows[i].before.total : &rows[i].after.total));
}

static struct diff_row *rows_of(const struct svg_data *d, const struct tree_sum *sums)
{
	size_t nr = d->tree->functions.nr;
	struct diff_row *rows;

	if (d->diff)
		return diff_sums(d->diff);
	rows = xcalloc(nr, sizeof(*rows));
	for (size_t i = 0; i < nr; i++)
		rows[i].after = (struct diff_side){
			.self = { .value = sums[i].self, .samples = sums[i].self_samples },
			.total = { .value = sums[i].total, .samples = sums[i].total_samples },
		};
	return rows;
}

/* Adds the sums of all nodes by function, and their number. */
static void add_all_sums(struct buffer *b, const struct svg_data *d)
{
	struct tree_sum *sums = tree_sums(d->tree);
	struct diff_row *rows = rows_of(d, sums);

	add_sums(b, d, (struct section){ 0 }, rows);
	for (size_t s = 0; s < sizeof(sections) / sizeof(*sections); s++)
		if (has_section(d, sections[s]))
			add_sums(b, d, sections[s], rows);
	for (size_t i = 0; i < d->tree->functions.nr; i++)
		svg_data_add_number(b, sums[i].nr_nodes);
	free(rows);
	free(sums);
}

/* Adds what is left out of an outline. */
static void add_cuts(struct buffer *b, const struct svg_data *d, const struct wide_nodes *wide)
{
	buffer_add_varint(b, wide->least);
	for (uint32_t i = 0; i < wide->nr; i++)
		svg_data_add_number(b, wide->list[i].cut.nr);
	for (uint32_t i = 0; i < wide->nr; i++)
		if (wide->list[i].cut.nr)
			svg_data_add_number(b, wide->list[i].cut.deepest);
	for (uint32_t i = 0; d->diff && i < wide->nr; i++)
		if (wide->list[i].cut.nr)
			svg_data_add_number(b, d->diff->removed_total[wide->list[i].node]);
}

void svg_data_add_outline(struct buffer *b, const struct svg_data *data)
{
	struct buffer parts[NR_PARTS] = { 0 };
	struct wide_nodes wide;

	wide_nodes_init(&wide, data->tree, data->diff);
	add_head(&parts[HEAD], data, true);
	add_nodes(parts, data, &wide);
	add_values(&parts[REST], data, &wide);
	add_cuts(&parts[REST], data, &wide);
	add_all_sums(&parts[REST], data);
	if (data->timeline)
		timeline_data_add(&parts[REST], data->timeline);
	svg_data_pack(b, parts, NR_PARTS);
	wide_nodes_fini(&wide);
}

void svg_data_add_rest(struct buffer *b, struct svg_data *data)
{
	struct buffer parts[NR_PARTS] = { 0 };

	add_nodes(parts, data, NULL);
	add_values(&parts[REST], data, NULL);
	if (data->timeline)
		timeline_data_add_nodes(&parts[REST], data->timeline);
	svg_data_pack(b, parts, NR_PARTS);
}
