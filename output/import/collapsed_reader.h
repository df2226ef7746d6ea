/*
 * Reads collapsed stacks, the text that stackcollapse-*.pl, inferno and `sprof fold` write and that
 * flamegraph.pl draws: a stack per line, root first, names separated by ';', then a space and a
 * count. The kind of a name is told by its suffix, see collapsed_write.h; "f (x.py:12)" is Python.
 */
#ifndef SPROF_COLLAPSED_READER_H
#define SPROF_COLLAPSED_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct profile;

/*
 * Reads to the end of the file. `name` is for messages and becomes the profile's command. Lines that
 * are no stack are counted and reported once, with the number of the first. -EINVAL, reported, when
 * no line is one; -errno, reported, when reading fails. The caller frees the profile.
 */
int collapsed_read(FILE *f, const char *name, struct profile **ret_profile);

/* Does the beginning of a file look like collapsed stacks? */
bool collapsed_is(const char *data, size_t size);

#endif
