/*
 * Packs a tree: names share their beginnings, numbers of one sort lie together, zlib does the rest.
 */
#include "output/svg_data.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "core/alloc.h"
#include "core/buffer.h"
#include "core/column.h"
#include "output/base64.h"
#include "output/color.h"
#include "output/diff.h"
#include "output/label.h"
#include "output/text.h"
#include "output/timeline_data.h"
#include "output/tree.h"

enum {
	FLAG_TIME = 1,
	FLAG_SAMPLES = 2,
	FLAG_BYTES = 4,
	FLAG_EXACT = 8,
	FLAG_DIFF = 16,
	FLAG_ABSOLUTE = 32,
	FLAG_TIMELINE = 64,
};

enum { PIECE = 128 << 10 };

/* Distinct strings in order of appearance; equal ones are few, so sorting finds them. */
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

/* JavaScript counts in UTF-16 units. */
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

static void add_functions(struct buffer *b, const struct tree *tree, const struct label_name *names)
{
	struct string_table modules, files;

	string_table_init(&modules, tree, false);
	string_table_init(&files, tree, true);
	string_table_add(b, &modules);
	string_table_add(b, &files);
	buffer_add_varint(b, tree->functions.nr);
	for (size_t i = 0; i < tree->functions.nr; i++) {
		const struct tree_function *f = &tree->functions.list[i];
		char class[COLOR_NAME_SIZE];

		add_name(b, &names[i], i ? &names[i - 1] : NULL);
		color_class(f, class);
		buffer_add(b, class, 2);
		buffer_add_varint(b, f->kind);
		buffer_add_varint(b, string_table_find(&modules, f->module));
		buffer_add_varint(b, string_table_find(&files, f->file));
		buffer_add_varint(b, f->line);
	}
	free(modules.list);
	free(files.list);
}

static void add_nodes(struct buffer *b, const struct tree *tree, bool samples,
		      const struct diff *diff)
{
	const struct tree_node *nodes = tree->nodes;

	buffer_add_varint(b, tree->nr_nodes);
	for (uint32_t i = 1; i < tree->nr_nodes; i++)
		buffer_add_varint(b, (uint64_t)(nodes[i - 1].depth + 1 - nodes[i].depth) * 2 +
					     nodes[i].inlined);
	for (uint32_t i = 0; i < tree->nr_nodes; i++)
		buffer_add_varint(b, nodes[i].function);
	for (uint32_t i = 0; i < tree->nr_nodes; i++)
		buffer_add_varint(b, nodes[i].self);
	for (uint32_t i = 0; samples && i < tree->nr_nodes; i++)
		buffer_add_varint(b, nodes[i].self_samples);
	for (uint32_t i = 0; diff && i < tree->nr_nodes; i++)
		buffer_add_varint(b, diff->before[i].self.value);
	for (uint32_t i = 0; diff && samples && i < tree->nr_nodes; i++)
		buffer_add_varint(b, diff->before[i].self.samples);
}

static void deflate_all(const struct buffer *in, int strategy, struct buffer *out)
{
	z_stream z = { 0 };
	int err;

	/* -15: raw deflate, no header. Level 1 is within a tenth of level 6 here, at a third of the time. */
	err = deflateInit2(&z, 1, Z_DEFLATED, -15, 9, strategy);
	assert(err == Z_OK);
	z.next_in = (Bytef *)in->data;
	for (size_t left = in->size; err != Z_STREAM_END;) {
		size_t piece = left < (1u << 30) ? left : (1u << 30);

		if (!z.avail_in) {
			z.avail_in = (uInt)piece;
			left -= piece;
		}
		z.next_out = (Bytef *)buffer_reserve(out, 1 << 16);
		z.avail_out = 1 << 16;
		err = deflate(&z, left ? Z_NO_FLUSH : Z_FINISH);
		assert(err == Z_OK || err == Z_STREAM_END || err == Z_BUF_ERROR);
		out->size += (1 << 16) - z.avail_out;
	}
	deflateEnd(&z);
}

/*
 * Looking for repetitions takes half of the time, and in trees of many different paths there are none.
 * A piece from the middle tells.
 */
static int choose_strategy(const struct buffer *in)
{
	struct buffer piece = { .data = in->data + in->size / 2, .size = PIECE };
	struct buffer with = { 0 }, without = { 0 };
	bool repeats;

	if (in->size < 4 * PIECE)
		return Z_DEFAULT_STRATEGY;
	deflate_all(&piece, Z_DEFAULT_STRATEGY, &with);
	deflate_all(&piece, Z_RLE, &without);
	repeats = with.size < without.size - without.size / 16;
	buffer_fini(&with);
	buffer_fini(&without);
	return repeats ? Z_DEFAULT_STRATEGY : Z_RLE;
}

static bool samples_differ(const struct tree *tree, const struct diff *diff)
{
	for (uint32_t i = 0; i < tree->nr_nodes; i++)
		if (tree->nodes[i].self != tree->nodes[i].self_samples ||
		    (diff && diff->before[i].self.value != diff->before[i].self.samples))
			return true;
	return false;
}

void svg_data_add(struct buffer *b, const struct tree *tree, const struct diff *diff,
		  const struct profile *p)
{
	struct label_name *names = label_names(tree);
	const struct column_info *column = &column_table[tree->column];
	bool samples = samples_differ(tree, diff), times = p && timeline_data_has(tree, p);
	struct buffer raw = { 0 }, packed = { 0 };

	buffer_add_varint(&raw, (column->unit == UNIT_NS ? FLAG_TIME : 0) |
					(samples ? FLAG_SAMPLES : 0) |
					(column->unit == UNIT_BYTES ? FLAG_BYTES : 0) |
					(column->exact ? FLAG_EXACT : 0) | (diff ? FLAG_DIFF : 0) |
					(diff && diff->absolute ? FLAG_ABSOLUTE : 0) |
					(times ? FLAG_TIMELINE : 0));
	buffer_add_varint(&raw, strlen(column->events));
	buffer_add_string(&raw, column->events);
	add_functions(&raw, tree, names);
	add_nodes(&raw, tree, samples, diff);
	if (times)
		timeline_data_add(&raw, tree, p);
	free(names);
	deflate_all(&raw, choose_strategy(&raw), &packed);
	base64_add(b, packed.data, packed.size);
	buffer_fini(&raw);
	buffer_fini(&packed);
}
