/*
 * Follows the code from the entry, with what is known of the frame: an instruction is a return of
 * the function where rsp points to its return address again. A jump with a bare frame to far away
 * is a tail call and is followed; other far jumps lead to code that throws. Offsets in the file
 * stand for addresses, as the code of a file is mapped in one piece.
 *
 * The file may be hostile. What is found wrongly costs a probe: the BPF program compares the stack
 * pointer.
 */
#include "sampler/function_returns_x86_64.h"

#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/number_map.h"
#include "sampler/unwind/x86_64/abstract_frame.h"
#include "sampler/unwind/x86_64/instruction.h"

#define INSTRUCTION_BYTES 15 /* at most */
#define MAX_STEPS 16384
#define MAX_PLACES 512 /* that wait to be followed */
#define NEAR 32768     /* bytes around where a function begins, if its size is unknown */

struct place {
	uint64_t offset;
	uint64_t from, to; /* the code that belongs to the function */
	struct abstract_frame frame;
};

struct returns {
	int fd;
	struct place places[MAX_PLACES];
	size_t nr_places, nr_steps, nr;
	struct number_map seen; /* offsets: 1 */
	uint64_t *list;
};

static void add_place(struct returns *r, const struct place *from, uint64_t offset)
{
	if (r->nr_places == MAX_PLACES)
		return;
	r->places[r->nr_places] = *from;
	r->places[r->nr_places++].offset = offset;
}

static void jump(struct returns *r, const struct place *at, uint64_t target)
{
	struct place tail = *at;

	if (target >= at->from && target < at->to) {
		add_place(r, at, target);
	} else if (abstract_frame_is_bare(&at->frame)) {
		tail.from = target > NEAR ? target - NEAR : 0;
		tail.to = target + NEAR;
		add_place(r, &tail, target);
	}
}

static void add_return(struct returns *r, uint64_t offset)
{
	if (r->nr < FUNCTION_MAX_RETURNS)
		r->list[r->nr] = offset;
	r->nr++;
}

/* Follows code until it ends, leaves the function, or has been followed before. */
static void follow(struct returns *r, struct place *at)
{
	uint8_t code[INSTRUCTION_BYTES];

	while (r->nr_steps++ < MAX_STEPS && at->offset >= at->from && at->offset < at->to) {
		ssize_t nr = pread(r->fd, code, sizeof(code), (off_t)at->offset);
		struct instruction i;
		uint64_t next;
		bool is_new;

		*number_map_at(&r->seen, at->offset, &is_new) = 1;
		if (!is_new || nr <= 0)
			return;
		i = instruction_decode(code, (size_t)nr);
		next = at->offset + i.length;
		switch (i.kind) {
		case INSTRUCTION_BAD:
		case INSTRUCTION_STOP:
		case INSTRUCTION_JUMP_INDIRECT: return;
		case INSTRUCTION_RET:
			if (abstract_frame_is_bare(&at->frame))
				add_return(r, at->offset);
			return;
		case INSTRUCTION_JUMP: jump(r, at, next + (uint64_t)(int64_t)i.value); return;
		case INSTRUCTION_JUMP_IF: jump(r, at, next + (uint64_t)(int64_t)i.value); break;
		default: break;
		}
		if (!abstract_frame_step(&at->frame, &i))
			return;
		at->offset = next;
	}
}

size_t function_returns_find(int fd, uint64_t offset, uint64_t size,
			     uint64_t ret_returns[FUNCTION_MAX_RETURNS])
{
	struct returns *r = xcalloc(1, sizeof(*r));
	struct place at = { .offset = offset, .from = offset, .to = offset + size };
	size_t nr;

	r->fd = fd;
	r->list = ret_returns;
	if (!size) {
		at.from = offset > NEAR ? offset - NEAR : 0;
		at.to = offset + NEAR;
	}
	abstract_frame_init(&at.frame);
	add_place(r, &at, offset);
	while (r->nr_places) {
		at = r->places[--r->nr_places];
		follow(r, &at);
	}
	nr = r->nr <= FUNCTION_MAX_RETURNS ? r->nr : 0;
	number_map_fini(&r->seen);
	free(r);
	return nr;
}
