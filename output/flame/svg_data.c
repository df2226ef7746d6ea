/*
 * Packs a tree. To help zlib, names leave out the beginning that they share with the name before,
 * and numbers of one kind lie together.
 */
#include "output/flame/svg_data.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "core/base/alloc.h"
#include "core/base/buffer.h"
#include "core/profile/column.h"
#include "output/codec/base64.h"
#include "output/codec/run_deflate.h"
#include "output/flame/color.h"
#include "output/flame/svg_data_nodes.h"
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

enum { PIECE = 64 << 10, ROOM = 64 << 10 };
enum { LARGE = 1 << 18 }; /* nodes; a page reads fewer in some 30 ms */

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

/* `nodes`: NULL, or what was made of an outline. */
static void add_nodes(struct buffer *parts, const struct tree *tree, struct svg_data_nodes *nodes)
{
	struct svg_data_nodes *w = nodes ? nodes : svg_data_nodes_of(tree);

	svg_data_nodes_move(w, &parts[HEAD], &parts[NODES]);
	if (!nodes)
		svg_data_nodes_free(w);
}

static void add_rest(struct buffer *b, const struct tree *tree, bool samples,
		     const struct diff *diff)
{
	bool unequal = diff && diff->has_variances;

	for (uint32_t i = 0; samples && i < tree->nr_nodes; i++)
		svg_data_add_number(b, unequal ? diff->after[i].self
					       : tree_events_of(tree, &tree->nodes[i]).self);
	for (uint32_t i = 0; diff && i < tree->nr_nodes; i++)
		svg_data_add_number(b, diff->before[i].self.value);
	for (uint32_t i = 0; diff && samples && i < tree->nr_nodes; i++)
		svg_data_add_number(b, unequal ? diff->before[i].self.equal
					       : diff->before[i].self.samples);
}

static void make_room(z_stream *z, struct buffer *out)
{
	z->next_out = (Bytef *)buffer_reserve(out, ROOM);
	z->avail_out = ROOM;
}

/*
 * Appends blocks of a raw deflate stream (-15), and ends at a byte, so that others may follow.
 * Level 1 gives at most 10 % more bytes than level 6 here, in a third of the time.
 */
static void deflate_part(const struct buffer *in, struct buffer *out)
{
	z_stream z = { .next_in = (Bytef *)in->data };
	int err = deflateInit2(&z, 1, Z_DEFLATED, -15, 9, Z_DEFAULT_STRATEGY);
	size_t left = in->size;

	assert(err == Z_OK);
	do {
		if (!z.avail_in) {
			z.avail_in = left < (1u << 30) ? (uInt)left : (1u << 30);
			left -= z.avail_in;
		}
		make_room(&z, out);
		err = deflate(&z, left ? Z_NO_FLUSH : Z_SYNC_FLUSH);
		assert(err == Z_OK || err == Z_BUF_ERROR);
		out->size += ROOM - z.avail_out;
	} while (left || z.avail_in || !z.avail_out);
	deflateEnd(&z);
}

static size_t size_of(void (*add)(const struct buffer *in, struct buffer *out),
		      const struct buffer *in)
{
	struct buffer out = { 0 };
	size_t size;

	add(in, &out);
	size = out.size;
	buffer_fini(&out);
	return size;
}

static void add_runs(const struct buffer *in, struct buffer *out)
{
	run_deflate_add(out, in->data, in->size);
}

/*
 * The search for repetitions takes most of the time and is useless in trees of many different
 * paths. Compressing a piece from the middle both ways shows whether it pays.
 */
static bool has_repetitions(const struct buffer *in)
{
	struct buffer piece = { .data = in->data + in->size / 2, .size = PIECE };
	size_t without;

	if (in->size < 8 * PIECE)
		return true;
	without = size_of(add_runs, &piece);
	return size_of(deflate_part, &piece) < without - without / 16;
}

static void deflate_parts(struct buffer *parts, struct buffer *out)
{
	for (int i = 0; i < NR_PARTS; i++) {
		if (i == HEAD || has_repetitions(&parts[i]))
			deflate_part(&parts[i], out);
		else
			add_runs(&parts[i], out);
		buffer_fini(&parts[i]);
	}
	run_deflate_end(out);
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

/* Adds what comes before the nodes. `flags`: those that the column and the diff do not tell. */
static void add_head(struct buffer *b, const struct tree *tree, const struct diff *diff,
		     unsigned flags)
{
	const struct column_info *column = tree->info;

	buffer_add_varint(b, flags | (column->unit == UNIT_NS ? FLAG_TIME : 0) |
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
	add_functions(b, tree);
}

static void add_packed(struct buffer *b, struct buffer *parts)
{
	struct buffer packed = { 0 };

	deflate_parts(parts, &packed);
	base64_add(b, packed.data, packed.size);
	buffer_fini(&packed);
}

void svg_data_add(struct buffer *b, const struct tree *tree, const struct diff *diff,
		  const struct profile *p, struct svg_data_nodes *nodes)
{
	bool samples = samples_differ(tree, diff), times = p && timeline_data_has(tree, p);
	struct buffer parts[NR_PARTS] = { 0 };

	assert(!tree->outline || nodes);
	add_head(&parts[HEAD], tree, diff,
		 (samples ? FLAG_SAMPLES : 0) | (times ? FLAG_TIMELINE : 0));
	add_nodes(parts, tree, nodes);
	add_rest(&parts[REST], tree, samples, diff);
	if (times)
		timeline_data_add(&parts[REST], tree, p);
	add_packed(b, parts);
}

bool svg_data_is_large(const struct tree *tree, const struct svg_data_nodes *nodes)
{
	size_t nr = nodes && tree->outline ? svg_data_nodes_count(nodes) : 0;

	return nr >= LARGE && tree->nr_nodes <= nr / 2;
}

/* Adds what the nodes of an outline do not tell. */
static void add_outline(struct buffer *b, const struct tree *tree)
{
	struct tree_sum *sums = tree_sums(tree);
	size_t nr = tree->functions.nr;

	buffer_add_varint(b, tree->outline->least);
	for (uint32_t i = 0; i < tree->nr_nodes; i++)
		svg_data_add_number(b, tree_cut_of(tree, i).nr);
	for (uint32_t i = 0; i < tree->nr_nodes; i++)
		if (tree_cut_of(tree, i).nr)
			svg_data_add_number(b, tree_cut_of(tree, i).deepest);
	for (size_t i = 0; i < nr; i++)
		svg_data_add_number(b, sums[i].self);
	for (size_t i = 0; i < nr; i++)
		svg_data_add_number(b, sums[i].total);
	for (size_t i = 0; i < nr; i++)
		svg_data_add_number(b, sums[i].nr_nodes);
	free(sums);
}

void svg_data_add_outline(struct buffer *b, const struct tree *tree)
{
	struct buffer parts[NR_PARTS] = { 0 };

	assert(tree->outline && !samples_differ(tree, NULL));
	add_head(&parts[HEAD], tree, NULL, FLAG_OUTLINE);
	add_nodes(parts, tree, NULL);
	add_outline(&parts[REST], tree);
	add_packed(b, parts);
}

void svg_data_add_all_nodes(struct buffer *b, struct svg_data_nodes *nodes)
{
	struct buffer parts[NR_PARTS] = { 0 };

	svg_data_nodes_move(nodes, &parts[HEAD], &parts[NODES]);
	add_packed(b, parts);
}
