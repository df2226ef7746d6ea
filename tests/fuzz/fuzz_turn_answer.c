/*
 * What a child that continues copied stacks may answer, if a file has taken it over. The input is a
 * header, the rules of the code (one for each 64 bytes), the copied stack, and the answers, each
 * two bytes of length and its bytes. Whatever comes, an answer is taken whole or not at all,
 * nothing but the copy is read, and the stack has its leaf, fits and ends.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/portable/frames.h"
#include "sampler/walk/confined/confined_turns.h"
#include "sampler/walk/confined/confined_walk.h"
#include "sampler/walk/snapshot_unwind.h"
#include "sampler/walk/user_walk.h"

#define STACK 0x7ffc00000000ull
#define CODE 0x400000ull
#define CODE_SIZE 0x1000u
#define NR_RULES 8
#define FRAMES_MAX 64
#define ROOM_MAX 32 /* frames of one answer, which are checked for writes beyond it */
#define TURNS_MAX 8 /* snapshot_unwind.h asks for no more */

struct header {
	uint16_t pc, fp, sp;
	uint8_t max, room;
	uint16_t stack_size;
	uint8_t pending; /* bit n: rule n is in no table */
	uint8_t pad[5];
	struct walk_rule rules[NR_RULES];
};

static struct {
	struct header h;
	const uint8_t *answers;
	size_t size;
	uint64_t *frames, *sps; /* of exactly h.room, so that a write beyond them is seen */
	unsigned int nr_turns;
} process;

static bool find_mapping(void *context, uint64_t address, struct snapshot_mapping *ret)
{
	(void)context;
	*ret = (struct snapshot_mapping){ CODE, CODE + CODE_SIZE, 0, 1, false };
	return address >= CODE && address < CODE + CODE_SIZE;
}

static bool open_module(void *context, uint64_t module, struct snapshot_file *ret)
{
	(void)context;
	(void)module;
	(void)ret;
	return false;
}

static bool find_rule(void *context, uint64_t module, uint64_t vaddr, struct walk_rule *ret)
{
	unsigned int nr = vaddr >> 6 & (NR_RULES - 1);

	(void)context;
	(void)module;
	*ret = process.h.rules[nr];
	return !(process.h.pending >> nr & 1);
}

/* The next answer, in memory of its own size. */
static void *next_answer(size_t *ret_size)
{
	size_t size = 0;
	void *answer;

	if (process.size >= 2) {
		size = process.answers[0] | (size_t)process.answers[1] << 8;
		process.answers += 2;
		process.size -= 2;
		size = size < process.size ? size : process.size;
	}
	answer = malloc(size);
	memcpy(answer, process.answers, size);
	process.answers += size;
	process.size -= size;
	*ret_size = size;
	return answer;
}

/* It is also read as the answer of the other kind of child. */
static void take_as_word(const void *answer, size_t size)
{
	struct snapshot_result r;

	if (walk_word_take(answer, size, process.h.room, process.frames, process.sps, &r))
		return;
	if (!r.nr || r.nr > process.h.room || r.gap > r.nr || r.marker < -1 ||
	    r.marker > MARKER_TOO_LONG || !r.sps != (r.gap != 0))
		abort();
}

static bool take_turn(void *context, const struct snapshot_sample *sample,
		      struct snapshot_turn *turn)
{
	struct snapshot_turn own = *turn, before;
	size_t size;
	void *answer = next_answer(&size);
	int err;

	(void)context;
	if (++process.nr_turns > TURNS_MAX)
		abort();
	take_as_word(answer, size);
	own.frames = process.frames;
	own.sps = process.sps;
	own.max = process.h.room;
	before = own;
	err = turn_answer_take(answer, size, sample, &own);
	if (err ? err != -EBADMSG || memcmp(&own, &before, sizeof(own)) != 0
		: own.nr_found > own.max || own.status < WALK_OK || own.status > WALK_TOO_LONG ||
			    own.regs.exact > 1 || own.regs.leaf_regs > 1 ||
			    (own.from_leaf && (own.nr_found <= own.nr ||
					       own.frames[0] != user_walk_frame(&sample->regs))))
		abort();
	if (turn_answer_take(answer, size, sample, turn) && !err)
		abort(); /* there was room for it */
	free(answer);
	return !err;
}

static void unwind(const uint8_t *stack)
{
	const struct snapshot_ops ops = {
		.find_mapping = find_mapping,
		.open_module = open_module,
		.find_rule = find_rule,
		.take_turn = take_turn,
	};
	const struct snapshot_sample sample = {
		.regs = {
			.pc = CODE + process.h.pc,
			.sp = STACK + process.h.sp,
			.fp = STACK + process.h.fp,
			.exact = 1,
			.leaf_regs = 1,
		},
		.stack = stack,
		.stack_start = STACK,
		.stack_size = process.h.stack_size,
		.guess = true,
	};
	static struct snapshot_unwinder *unwinder;
	uint64_t frames[FRAMES_MAX];
	size_t max = 8 + process.h.max % (FRAMES_MAX - 7);
	struct snapshot_result r;

	if (!unwinder)
		unwinder = snapshot_unwinder_new(&ops, NULL);
	r = snapshot_unwind(unwinder, &sample, frames, max);
	if (!r.nr || r.nr + r.nr_guessed > max || r.gap > r.nr || !r.sps != (r.gap != 0) ||
	    frames[0] != user_walk_frame(&sample.regs))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *stack;

	if (size < sizeof(struct header))
		return 0;
	memcpy(&process.h, data, sizeof(process.h));
	data += sizeof(process.h);
	size -= sizeof(process.h);
	process.h.room %= ROOM_MAX + 1;
	if (process.h.stack_size > size)
		process.h.stack_size = (uint16_t)size;
	stack = malloc(process.h.stack_size);
	memcpy(stack, data, process.h.stack_size);
	process.answers = data + process.h.stack_size;
	process.size = size - process.h.stack_size;
	process.frames = malloc(process.h.room * sizeof(*process.frames));
	process.sps = malloc(process.h.room * sizeof(*process.sps));
	process.nr_turns = 0;
	unwind(stack);
	free(process.frames);
	free(process.sps);
	free(stack);
	return 0;
}
