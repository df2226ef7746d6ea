/*
 * The first data element of a large picture, read back as the page reads it: each node of the
 * outline has its place in the whole tree and the exact total of that one, what is left out is
 * counted, and the sums by function are those of all nodes.
 */
#include "tests/unit/unit.h"
#include "tests/unit/random.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "core/base/alloc.h"
#include "core/base/buffer.h"
#include "core/profile/profile.h"
#include "output/flame/svg.h"
#include "output/flame/svg_data.h"
#include "output/flame/svg_data_nodes.h"
#include "output/tree/tree.h"

enum { MOST_DEPTH = 128, FLAG_OUTLINE = 256 };

/* The inflated data. */
struct data {
	unsigned char *bytes;
	size_t size, at;
};

static unsigned sextet(char c)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *found = strchr(digits, c);

	assert_non_null(found);
	return (unsigned)(found - digits);
}

static size_t from_base64(const struct buffer *text, unsigned char *to)
{
	size_t size = 0;

	assert_int_equal(text->size % 4, 0);
	for (size_t i = 0; i < text->size; i += 4) {
		unsigned group = 0, nr = 3;

		for (size_t j = 0; j < 4; j++) {
			char c = text->data[i + j];

			nr -= c == '=';
			group = group << 6 | (c == '=' ? 0 : sextet(c));
		}
		for (unsigned j = 0; j < nr; j++)
			to[size++] = (unsigned char)(group >> (16 - 8 * j));
	}
	return size;
}

static struct data unpack(const struct buffer *text)
{
	size_t room = 64 << 20;
	struct data data = { .bytes = xcalloc(room, 1) };
	unsigned char *packed = xcalloc(text->size + 3, 1);
	z_stream z = { .next_in = packed,
		       .avail_in = (uInt)from_base64(text, packed),
		       .next_out = data.bytes,
		       .avail_out = (uInt)room };

	assert_int_equal(inflateInit2(&z, -15), Z_OK);
	assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
	data.size = room - z.avail_out;
	inflateEnd(&z);
	free(packed);
	return data;
}

static uint64_t number(struct data *d)
{
	uint64_t value = 0;

	for (unsigned shift = 0;; shift += 7) {
		assert_true(d->at < d->size);
		value |= (uint64_t)(d->bytes[d->at] & 127) << shift;
		if (d->bytes[d->at++] < 128)
			return value;
	}
}

static void pass(struct data *d, size_t size)
{
	assert_true(size <= d->size - d->at);
	d->at += size;
}

static void pass_strings(struct data *d)
{
	for (uint64_t nr = number(d); nr; nr--)
		pass(d, number(d));
}

/* Passes what comes before the nodes; returns the number of functions. */
static size_t pass_head(struct data *d)
{
	size_t nr;

	assert_true(number(d) & FLAG_OUTLINE);
	pass(d, number(d));
	pass_strings(d);
	pass_strings(d);
	nr = number(d);
	for (size_t i = 0; i < nr; i++) {
		number(d);
		pass(d, number(d));
		number(d);
		number(d);
		pass(d, 2);
		for (int j = 0; j < 4; j++)
			number(d);
	}
	return nr;
}

/* A node that was read. */
struct node {
	uint32_t function, depth;
	uint64_t self, total, left_out, deepest;
};

static uint32_t call_at(const unsigned char *calls, uint64_t nr, unsigned nr_bytes, uint64_t i)
{
	uint32_t value = 0;

	for (unsigned j = 0; j < nr_bytes; j++)
		value |= (uint32_t)calls[j * nr + i] << 8 * j;
	return value;
}

static uint32_t take_recent(uint32_t *recent, unsigned place, uint32_t new)
{
	uint32_t function = place < SVG_DATA_RECENT ? recent[place] : new;

	for (unsigned i = place < SVG_DATA_RECENT ? place : SVG_DATA_RECENT - 1; i; i--)
		recent[i] = recent[i - 1];
	recent[0] = function;
	return function;
}

/* Reads functions and depths of the nodes. */
static void read_steps(struct data *d, struct node *nodes, uint64_t nr, uint64_t nr_calls,
		       size_t steps_size, size_t nr_functions)
{
	unsigned nr_bytes = nr_functions < 256 ? 1 : 2;
	uint32_t last[MOST_DEPTH] = { 0 };
	uint32_t(*recent)[SVG_DATA_RECENT] = xcalloc(nr_functions, sizeof(*recent));
	size_t end = d->at + steps_size;
	const unsigned char *calls = d->bytes + end;
	uint64_t call = 0;

	for (uint64_t i = 1; i < nr; i++) {
		uint64_t step = number(d), up = step >> 3;
		uint32_t depth = nodes[i - 1].depth + 1 - (uint32_t)up, new = 0;
		unsigned place = step & 3;

		assert_in_range(depth, 1, MOST_DEPTH - 1);
		if (place == SVG_DATA_RECENT)
			new = call_at(calls, nr_calls, nr_bytes, call++) + (up ? last[depth] : 0);
		last[depth] = take_recent(recent[last[depth - 1]], place, new);
		nodes[i] = (struct node){ .function = last[depth], .depth = depth };
	}
	assert_int_equal(d->at, end);
	assert_int_equal(call, nr_calls);
	pass(d, nr_calls * nr_bytes);
	free(recent);
}

static struct node *read_nodes(struct data *d, size_t nr_functions, uint64_t *ret_nr,
			       uint64_t *ret_least)
{
	uint64_t nr = number(d), steps_size = number(d), nr_calls = number(d);
	struct node *nodes = xcalloc(nr, sizeof(*nodes));

	read_steps(d, nodes, nr, nr_calls, steps_size, nr_functions);
	for (uint64_t i = 0; i < nr; i++)
		nodes[i].self = number(d);
	for (uint64_t i = 0; i < nr; i++)
		for (uint64_t j = i; j < nr && (j == i || nodes[j].depth > nodes[i].depth); j++)
			nodes[i].total += nodes[j].self;
	*ret_least = number(d);
	for (uint64_t i = 0; i < nr; i++)
		nodes[i].left_out = number(d);
	for (uint64_t i = 0; i < nr; i++)
		nodes[i].deepest = nodes[i].left_out ? number(d) : 0;
	*ret_nr = nr;
	return nodes;
}

/* Checks a node against the one at its place in the whole tree. Returns how many are left out. */
static uint64_t check_node(const struct node *n, const struct tree *whole, uint32_t place,
			   uint64_t least)
{
	const struct tree_node *same = &whole->nodes[place];
	uint32_t deepest = 0;

	assert_true(place < whole->nr_nodes);
	assert_int_equal(n->function, same->function);
	assert_int_equal(n->depth, same->depth);
	assert_int_equal(n->total, tree_total(whole, same));
	if (!n->left_out) {
		assert_int_equal(n->self, tree_self(whole, same));
		return 0;
	}
	assert_true(n->total < least);
	assert_int_equal(n->left_out, same->end - place - 1);
	for (uint32_t i = place + 1; i < same->end; i++)
		deepest = deepest > whole->nodes[i].depth ? deepest : whole->nodes[i].depth;
	assert_int_equal(n->deepest, deepest);
	return n->left_out;
}

static void check_sums(struct data *d, const struct tree *whole)
{
	struct tree_sum *sums = tree_sums(whole);
	size_t nr = whole->functions.nr;

	for (size_t i = 0; i < nr; i++)
		assert_int_equal(number(d), sums[i].self);
	for (size_t i = 0; i < nr; i++)
		assert_int_equal(number(d), sums[i].total);
	for (size_t i = 0; i < nr; i++)
		assert_int_equal(number(d), sums[i].nr_nodes);
	free(sums);
}

static void add_outline(struct buffer *text, const struct tree *tree, struct svg_data_nodes *nodes)
{
	struct svg_data *data = svg_data_new(tree, NULL, NULL, nodes);

	svg_data_add_outline(text, data);
	svg_data_free(data);
}

static void add_rest(struct buffer *text, const struct tree *tree, struct svg_data_nodes *nodes)
{
	struct svg_data *data = svg_data_new(tree, NULL, NULL, nodes);

	svg_data_add_rest(text, data);
	svg_data_free(data);
}

/* Both elements of a whole tree are those of a tree that was built as an outline. */
static void check_same(const struct buffer *text, const struct tree *whole,
		       const struct tree *outline, struct svg_data_nodes *encoded)
{
	struct buffer same = { 0 }, rest = { 0 };

	add_outline(&same, whole, NULL);
	assert_int_equal(same.size, text->size);
	assert_memory_equal(same.data, text->data, same.size);
	same.size = 0;
	add_rest(&same, whole, NULL);
	add_rest(&rest, outline, encoded);
	assert_int_equal(same.size, rest.size);
	assert_memory_equal(same.data, rest.data, same.size);
	buffer_fini(&same);
	buffer_fini(&rest);
}

/* Returns how many nodes the outline left out. */
static uint64_t check(const struct profile *p)
{
	struct tree_opts opts = { .column_given = true, .column = COLUMN_COUNT };
	struct tree *whole, *outline;
	struct svg_data_nodes *encoded;
	struct buffer text = { 0 };
	uint64_t nr, least, left_out = 0;
	struct node *nodes;
	struct data data;

	assert_int_equal(tree_new(p, &opts, &whole), 0);
	encoded = svg_outline(&opts);
	assert_int_equal(tree_new(p, &opts, &outline), 0);
	assert_int_equal(svg_data_nodes_count(encoded), whole->nr_nodes);
	add_outline(&text, outline, encoded);
	data = unpack(&text);
	nodes = read_nodes(&data, pass_head(&data), &nr, &least);
	for (uint64_t i = 0; i < nr; i++)
		left_out += check_node(&nodes[i], whole, (uint32_t)(i + left_out), least);
	assert_int_equal(nr + left_out, whole->nr_nodes);
	check_sums(&data, whole);
	assert_int_equal(data.at, data.size);
	check_same(&text, whole, outline, encoded);
	free(nodes);
	free(data.bytes);
	buffer_fini(&text);
	tree_free(outline);
	tree_free(whole);
	svg_outline_free(encoded);
	return left_out;
}

/* A function is called by several others and by itself. */
static struct profile *random_profile(unsigned nr_stacks, unsigned max_depth, unsigned nr_names)
{
	struct profile *p = profile_new();
	uint32_t frames[MOST_DEPTH];

	for (unsigned i = 0; i < nr_stacks; i++) {
		unsigned depth = rng(max_depth);

		for (unsigned j = 0; j < depth; j++) {
			char name[16];

			snprintf(name, sizeof(name), "f%u", rng(3) ? 7 % nr_names : rng(nr_names));
			frames[j] = profile_named_frame(p, name, strlen(name), FUNCTION_NATIVE);
		}
		profile_add_sample(p, &(struct profile_sample){
					      .weight = rng(500) ? rng(9) : 5000,
					      .thread = PROFILE_NONE,
					      .stack = profile_stack(p, frames, depth),
					      .column = COLUMN_COUNT,
				      });
	}
	return p;
}

static void nothing_is_lost_and_all_sums_are_exact(void **state)
{
	static const unsigned shapes[][3] = {
		{ 4000, 20, 5 }, { 2000, 100, 30 }, { 4000, 6, 700 }, { 10, 8, 3 }, { 1, 2, 2 }
	};
	uint64_t left_out = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++) {
		struct profile *p;

		rng_state = 0x9e3779b97f4a7c15u * (i + 1);
		p = random_profile(shapes[i][0], shapes[i][1], shapes[i][2]);
		left_out += check(p);
		profile_free(p);
	}
	assert_true(left_out > 10000);
}

static void an_empty_profile_has_a_root(void **state)
{
	struct profile *p = profile_new();

	(void)state;
	assert_int_equal(check(p), 0);
	profile_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_lost_and_all_sums_are_exact),
		cmocka_unit_test(an_empty_profile_has_a_root),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
