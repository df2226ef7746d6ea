/*
 * Random profiles, together with their content in the plainest form: a list of samples, each a list
 * of names. Results computed from a profile are compared with results that brute force gets from
 * that list.
 */
#ifndef SPROF_TESTS_RANDOM_PROFILE_H
#define SPROF_TESTS_RANDOM_PROFILE_H

#include "tests/unit/random.h"
#include "tests/unit/unit.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/profile/profile.h"
#include "output/tree/tree.h"

enum { PLAIN_DEPTH = 24, PLAIN_SAMPLES = 40, PLAIN_TEXT = 400, NR_PLAIN_FUNCTIONS = 10 };

struct plain_function {
	const char *name, *module;
	uint8_t kind;
};

/*
 * Names with equal beginnings, equal names in different modules, and a name that needs escaping
 * everywhere.
 */
static const struct plain_function plain_functions[NR_PLAIN_FUNCTIONS] = {
	{ "f", "/bin/a", FUNCTION_NATIVE },
	{ "f.part.0", "/bin/a", FUNCTION_NATIVE },
	{ "f(int)", "/bin/a", FUNCTION_NATIVE },
	{ "g", "/lib/b.so", FUNCTION_NATIVE },
	{ "F", "/lib/b.so", FUNCTION_NATIVE },
	{ "h<\"x\", '&\\'>", "/lib/b.so", FUNCTION_NATIVE },
	{ "do_syscall", "[kernel]", FUNCTION_KERNEL },
	{ "page_fault", "[kernel]", FUNCTION_KERNEL },
	{ "JIT:x", "[jit]", FUNCTION_JIT },
	{ "f2", "/lib/b.so", FUNCTION_NATIVE },
};

struct plain_sample {
	uint8_t functions[PLAIN_DEPTH]; /* root first */
	unsigned nr;
	uint64_t weight, time_ns;
	uint32_t pid, tid;
	const char *comm; /* NULL: no thread */
};

struct plain_profile {
	struct plain_sample samples[PLAIN_SAMPLES];
	unsigned nr;
};

/* The samples of one path, as text. */
struct plain_lines {
	struct plain_line {
		char path[PLAIN_TEXT];
		uint64_t weight, samples;
	} lines[PLAIN_SAMPLES * 2];
	unsigned nr;
};

static uint32_t plain_module(struct profile *p, const struct plain_function *f)
{
	struct profile_module module = {
		.path = profile_cstring(p, f->module),
		.kind = f->kind == FUNCTION_KERNEL ? MODULE_KERNEL
			: f->kind == FUNCTION_JIT  ? MODULE_JIT
						   : MODULE_ELF,
	};

	if (module.kind == MODULE_JIT)
		module.pid = 7;
	if (module.kind == MODULE_ELF) {
		module.build_id_size = 3;
		memcpy(module.build_id, f->module + 1, 3);
	}
	return profile_module(p, &module);
}

/*
 * Frames of one to three functions of one module, the later ones inlined; equal chains are one
 * frame.
 */
static uint32_t plain_frame(struct profile *p, const uint8_t *functions, unsigned nr)
{
	uint32_t module = plain_module(p, &plain_functions[functions[0]]);
	struct profile_location locations[3];
	uint64_t address = 0;
	uint32_t frame;

	for (unsigned i = 0; i < nr; i++) {
		const struct plain_function *f = &plain_functions[functions[i]];
		uint32_t name = profile_cstring(p, f->name);

		address = address * 16 + functions[i] + 1;
		locations[i] = (struct profile_location){
			.function = profile_function(p,
						     &(struct profile_function){
							     .name = name,
							     .system_name = name,
							     .module = module,
							     .kind = f->kind,
						     }),
			.line = functions[i] + 10,
			.inlined = i > 0,
		};
	}
	frame = profile_frame(p, module, address);
	profile_set_locations(p, frame, locations, nr);
	return frame;
}

static unsigned plain_chain(const struct plain_sample *s, unsigned at)
{
	unsigned nr = 1;

	while (at + nr < s->nr && nr < 3 && rng(3) == 0 &&
	       !strcmp(plain_functions[s->functions[at]].module,
		       plain_functions[s->functions[at + nr]].module))
		nr++;
	return nr;
}

static void plain_add(struct profile *p, const struct plain_sample *s)
{
	uint32_t frames[PLAIN_DEPTH], nr = 0;
	struct profile_sample sample = {
		.time_ns = s->time_ns,
		.weight = s->weight,
		.thread = PROFILE_NONE,
		.column = COLUMN_CPU,
	};

	for (unsigned at = 0; at < s->nr;) {
		unsigned chain = plain_chain(s, at);

		frames[nr++] = plain_frame(p, s->functions + at, chain);
		at += chain;
	}
	sample.stack = profile_stack(p, frames, nr);
	if (s->comm)
		sample.thread = profile_thread(p, s->pid, s->tid, profile_cstring(p, s->comm));
	profile_add_sample(p, &sample);
}

/* A profile and the list of its content. Recording begins at 1000 ns. */
__attribute__((unused)) static struct profile *plain_make(struct plain_profile *plain, bool threads)
{
	static const char *const comms[] = { "main", "worker", "gc \"2\"" };
	struct profile *p = profile_new();

	p->meta.start_ns = 1000;
	p->meta.end_ns = 101000;
	plain->nr = 1 + rng(PLAIN_SAMPLES);
	for (unsigned i = 0; i < plain->nr; i++) {
		struct plain_sample *s = &plain->samples[i];

		*s = (struct plain_sample){
			.nr = rng(PLAIN_DEPTH / (1 + rng(4))),
			.weight = 1 + rng(1000),
			.time_ns = 1000 + rng(100000),
			.pid = 10 + rng(2),
		};
		for (unsigned j = 0; j < s->nr; j++)
			s->functions[j] = (uint8_t)rng(j < 2 ? 3 : NR_PLAIN_FUNCTIONS);
		s->comm = threads ? comms[rng(3)] : NULL;
		s->tid = s->pid * 10 + rng(2);
		plain_add(p, s);
	}
	return p;
}

static void plain_lines_add(struct plain_lines *l, const char *path, uint64_t weight,
			    uint64_t samples)
{
	for (unsigned i = 0; i < l->nr; i++) {
		if (!strcmp(l->lines[i].path, path)) {
			l->lines[i].weight += weight;
			l->lines[i].samples += samples;
			return;
		}
	}
	assert_true(l->nr < sizeof(l->lines) / sizeof(*l->lines));
	snprintf(l->lines[l->nr].path, PLAIN_TEXT, "%s", path);
	l->lines[l->nr].weight = weight;
	l->lines[l->nr++].samples = samples;
}

/* The functions of the sample, as a line below its thread's name. */
__attribute__((unused)) static void plain_lines_add_sample(struct plain_lines *l,
							   const struct plain_sample *s)
{
	char path[PLAIN_TEXT];
	size_t at = 0;

	path[0] = '\0';
	if (s->comm)
		at += (size_t)snprintf(path, sizeof(path), "%s@;", s->comm);
	for (unsigned i = 0; i < s->nr; i++) {
		const struct plain_function *f = &plain_functions[s->functions[i]];
		const char *slash = strrchr(f->module, '/');

		at += (size_t)snprintf(path + at, sizeof(path) - at, "%s@%s;", f->name,
				       slash ? slash + 1 : f->module);
	}
	plain_lines_add(l, path, s->weight, 1);
}

static void plain_path(const struct tree *tree, uint32_t node, char *path)
{
	const struct tree_function *f;
	size_t at;

	path[0] = '\0';
	if (!node)
		return;
	plain_path(tree, tree->nodes[node].parent, path);
	at = strlen(path);
	f = tree_function_of(tree, node);
	snprintf(path + at, PLAIN_TEXT - at, "%s@%s;", f->name, f->module);
}

static int plain_compare(const void *a, const void *b)
{
	return strcmp(a, b); /* compares the paths, which come first */
}

/* Does the tree have exactly these lines? */
__attribute__((unused)) static void plain_assert_tree(const struct tree *tree,
						      struct plain_lines *want)
{
	static struct plain_lines got;

	got.nr = 0;
	for (uint32_t i = 0; i < tree->nr_nodes; i++) {
		char path[PLAIN_TEXT];

		plain_path(tree, i, path);
		if (tree_events_of(tree, &tree->nodes[i]).self)
			plain_lines_add(&got, path, tree_self(tree, &tree->nodes[i]),
					tree_events_of(tree, &tree->nodes[i]).self);
	}
	qsort(want->lines, want->nr, sizeof(*want->lines), plain_compare);
	qsort(got.lines, got.nr, sizeof(*got.lines), plain_compare);
	for (unsigned i = 0; i < want->nr && i < got.nr; i++) {
		assert_string_equal(got.lines[i].path, want->lines[i].path);
		assert_int_equal(got.lines[i].weight, want->lines[i].weight);
		assert_int_equal(got.lines[i].samples, want->lines[i].samples);
	}
	assert_int_equal(got.nr, want->nr);
}

__attribute__((unused)) static void plain_assert_profile(const struct profile *p,
							 struct plain_lines *want)
{
	struct tree *tree;

	assert_int_equal(tree_new(p, &(struct tree_opts){ 0 }, &tree), 0);
	plain_assert_tree(tree, want);
	tree_free(tree);
}

#endif
