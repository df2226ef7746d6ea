/* Stacks as lines of text, "f;g;": random ones, samples of them, and the paths of a tree's nodes. */
#ifndef SPROF_TESTS_TREE_LINES_H
#define SPROF_TESTS_TREE_LINES_H

#include <stdio.h>
#include <string.h>

#include "core/profile/profile.h"
#include "output/tree/tree.h"
#include "tests/unit/random.h"

enum { LINES_MAX_DEPTH = 9 };

/* One of 1 to max_depth names; the two next to the root are among the first two. */
static inline void random_line(char *text, size_t size, unsigned max_depth,
			       const char *const *names, unsigned nr_names)
{
	unsigned depth = 1 + rng(max_depth);
	size_t at = 0;

	for (unsigned i = 0; i < depth; i++)
		at += (size_t)snprintf(text + at, size - at, "%s;",
				       names[rng(i < 2 ? 2 : nr_names)]);
}

static inline void add_line(struct profile *p, const char *s, uint64_t weight)
{
	uint32_t frames[LINES_MAX_DEPTH], n = 0;

	for (const char *end; (end = strchr(s, ';')); s = end + 1)
		frames[n++] = profile_named_frame(p, s, (size_t)(end - s), FUNCTION_NATIVE);
	profile_add_sample(p, &(struct profile_sample){ .weight = weight,
							.thread = PROFILE_NONE,
							.stack = profile_stack(p, frames, n),
							.column = COLUMN_COUNT });
}

static inline void path_of(const struct tree *tree, uint32_t node, char *buf, size_t size)
{
	size_t at;

	if (!node) {
		buf[0] = '\0';
		return;
	}
	path_of(tree, tree->nodes[node].parent, buf, size);
	at = strlen(buf);
	snprintf(buf + at, size - at, "%s;", tree_function_of(tree, node)->name);
}

/* Is the function in the line? Is it the leaf? */
static inline bool line_has(const char *line, const char *function, bool *ret_leaf)
{
	size_t n = strlen(function);
	const char *at = line, *end;

	*ret_leaf = false;
	for (bool found = false;; at = end + 1) {
		end = strchr(at, ';');
		if (!end)
			return found;
		*ret_leaf = (size_t)(end - at) == n && !memcmp(at, function, n);
		found |= *ret_leaf;
	}
}

#endif
