/*
 * Writes collapsed stacks, the text that flamegraph.pl and many others read: one line per path with
 * self time, sorted by path. The names of a path are separated by ';', which becomes ':' within a
 * name, and a suffix tells the kind: _[k] kernel, _[j] runtime code, _[g] GPU, _[i] inlined.
 */
#ifndef SPROF_COLLAPSED_WRITER_H
#define SPROF_COLLAPSED_WRITER_H

#include <stdbool.h>

struct buffer;
struct tree;

/*
 * Make the tree without modules, or a path may have several lines. A line ends with the number of
 * samples, or with `weights` with their sum in the unit of the column (ns for CPU time).
 */
void collapsed_write(struct buffer *b, const struct tree *tree, bool weights);

#endif
