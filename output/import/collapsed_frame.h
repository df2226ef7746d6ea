/*
 * Makes a frame of one name in a collapsed stack. The spelling tells its kind: a suffix as
 * flamegraph.pl and sprof write it ("read_[k]" is kernel code), brackets for markers, or the place
 * where a Python function is defined ("train (train.py:15)").
 */
#ifndef SPROF_COLLAPSED_FRAME_H
#define SPROF_COLLAPSED_FRAME_H

#include <stddef.h>
#include <stdint.h>

struct profile;

/* Returns the frame for the name s, n bytes without a NUL. Equal names give the same frame. */
uint32_t collapsed_frame(struct profile *p, const char *s, size_t n);

#endif
