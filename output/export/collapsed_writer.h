/*
 * Writes collapsed stacks, the text that flamegraph.pl and many others read: see collapsed_reader.c. One
 * line per path with time of its own, sorted by path.
 *
 * ';' in names becomes ':'; the kind is a suffix: _[k] kernel, _[j] JIT,
 * _[g] GPU, _[i] inlined.
 */
#ifndef SPROF_COLLAPSED_WRITER_H
#define SPROF_COLLAPSED_WRITER_H

#include <stdbool.h>

struct buffer;
struct tree;

/*
 * The tree is one without modules, or a path may have several lines. Counts are samples, or the
 * weight (ns of CPU time) with `weights`.
 */
void collapsed_write(struct buffer *b, const struct tree *tree, bool weights);

#endif
