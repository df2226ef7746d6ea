/*
 * The allocation functions of a process that could not be hooked: they are named on standard error
 * at once, and in the recording.
 */
#ifndef SPROF_UNHOOKED_H
#define SPROF_UNHOOKED_H

#include <stddef.h>

struct alloc_target;
struct sink;

/* Names those from number `from` on in warnings. */
void unhooked_say(const struct alloc_target *target, size_t from);
/* Puts those into the recording that are not there yet. */
void unhooked_tell(struct alloc_target *target, struct sink *sink);

#endif
