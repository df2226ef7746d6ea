/*
 * Frames of collapsed stacks: a name, a mark that says what kind of code it is ("read_[k]"), or the place
 * of a Python function ("train (train.py:15)").
 */
#ifndef SPROF_COLLAPSED_FRAME_H
#define SPROF_COLLAPSED_FRAME_H

#include <stddef.h>
#include <stdint.h>

struct profile;

/* The frame that is spelled so; the name holds no NUL. */
uint32_t collapsed_frame(struct profile *p, const char *s, size_t n);

#endif
