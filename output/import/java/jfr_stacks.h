/*
 * Stacks and threads of a chunk of a JFR file become those of the profile. Each constant is looked
 * at once.
 */
#ifndef SPROF_JFR_STACKS_H
#define SPROF_JFR_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buffer.h"
#include "core/base/number_map.h"

struct jfr_chunk;
struct profile;

struct jfr_stacks {
	struct jfr_chunk *chunk;
	struct profile *p;
	uint32_t pid;
	/* Numbers of constants -> what they became. */
	struct number_map methods, traces, threads, kinds;
	struct buffer text;
	uint32_t *frames; /* of the stack that is made, leaf first */
	size_t frames_capacity;
};

/* The stack of a trace by its number; an empty stack if the chunk lacks it. */
uint32_t jfr_stack(struct jfr_stacks *s, uint64_t trace);
/* The thread of that number; PROFILE_NONE if the chunk lacks it. */
uint32_t jfr_thread(struct jfr_stacks *s, uint64_t thread);
void jfr_stacks_fini(struct jfr_stacks *s);

#endif
