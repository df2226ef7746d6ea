/*
 * A stub is entered behind the first instruction of the function, so its frame is what that has
 * left, and the instructions that were moved change it as they did in the function.
 *
 * Source: LSB 5.0 core, "Exception Frames"; DWARF 5 section 6.4.2.
 */
#include "sampler/alloc/x86_64/stub_frame.h"

#include <string.h>

#include "sampler/alloc/x86_64/hook_code.h"
#include "sampler/unwind/x86_64/abstract_frame.h"
#include "sampler/unwind/x86_64/instruction.h"

/* DWARF's numbers of registers and instructions. */
#define RBP 6u
#define RSP 7u
#define ADVANCE_1 0x02u
#define DEFINE_CFA 0x0cu
#define ADVANCE 0x40u /* | distance */
#define OFFSET 0x80u  /* | register */
#define RESTORE 0xc0u /* | register */

#define WORD 8

/* The bytes of an FDE, in its order; the rest is its program. */
struct head {
	uint32_t length;
	uint32_t cie; /* how far it is back from here */
	int32_t start;
	uint32_t size;
	uint8_t nr_more; /* bytes of augmentation: none */
};
#define HEAD_SIZE 17u

struct program {
	uint8_t bytes[ALLOC_FRAME_SIZE - HEAD_SIZE];
	size_t size;
	bool is_full;
	size_t at; /* where in the code the last rule begins */
	struct walk_rule rule;
};

static void put(struct program *p, unsigned int byte)
{
	if (p->size < sizeof(p->bytes))
		p->bytes[p->size++] = (uint8_t)byte;
	else
		p->is_full = true;
}

static void put_uleb(struct program *p, uint32_t value)
{
	for (; value >= 0x80; value >>= 7)
		put(p, value | 0x80);
	put(p, value);
}

static void put_advance(struct program *p, size_t distance)
{
	if (distance >= ADVANCE) {
		put(p, ADVANCE_1);
		put(p, (unsigned int)distance);
	} else if (distance) {
		put(p, ADVANCE | (unsigned int)distance);
	}
}

/* false: the rule cannot be said. */
static bool put_rule(struct program *p, size_t at, struct walk_rule rule)
{
	if ((rule.cfa != WALK_CFA_SP && rule.cfa != WALK_CFA_FP) || rule.cfa_off < 0 ||
	    (rule.fp != WALK_FP_SAME && (rule.fp != WALK_FP_CFA || rule.fp_off % WORD)))
		return false;
	if (!memcmp(&rule, &p->rule, sizeof(rule)))
		return true;
	put_advance(p, at - p->at);
	put(p, DEFINE_CFA);
	put(p, rule.cfa == WALK_CFA_SP ? RSP : RBP);
	put_uleb(p, (uint32_t)rule.cfa_off);
	if (rule.fp == WALK_FP_SAME) {
		put(p, RESTORE | RBP);
	} else {
		put(p, OFFSET | RBP);
		put_uleb(p, (uint32_t)(-rule.fp_off / WORD));
	}
	p->at = at;
	p->rule = rule;
	return true;
}

/* A part of the code that is run in the order of its bytes. */
static bool put_part(struct program *p, const struct hook_stub *stub, size_t from, size_t to,
		     struct abstract_frame frame)
{
	for (size_t at = from; at < to;) {
		struct instruction in = instruction_decode(stub->bytes + at, to - at);
		struct walk_rule rule;

		if (!in.length || !abstract_frame_rule(&frame, &rule) || !put_rule(p, at, rule) ||
		    !abstract_frame_step(&frame, &in))
			return false;
		at += in.length;
	}
	return true;
}

static bool make_program(const struct hook_plan *plan, const struct hook_stub *stub,
			 struct program *ret)
{
	struct program p = { .rule = { .cfa = WALK_CFA_SP, .cfa_off = WORD } };
	struct abstract_frame called, entered;
	struct instruction first = { 0 };
	size_t moved_end = stub->original == stub->resume ? stub->slow : stub->original;

	abstract_frame_init(&called);
	entered = called;
	if (!plan->is_slot && !plan->is_jump)
		first = instruction_decode(plan->was, plan->length);
	if (first.length && !abstract_frame_step(&entered, &first))
		return false;
	if (!put_part(&p, stub, 0, stub->resume, entered) ||
	    !put_part(&p, stub, stub->resume, moved_end, entered) ||
	    !put_part(&p, stub, moved_end, stub->slow, called) ||
	    !put_part(&p, stub, stub->slow, stub->nr_code, entered) || p.is_full)
		return false;
	*ret = p;
	return true;
}

void stub_frame_write(const struct hook_plan *plan, const struct hook_stub *stub,
		      const struct stub_frame_places *places, uint8_t *ret)
{
	struct head head = {
		.length = ALLOC_FRAME_SIZE - sizeof(head.length),
		.cie = (uint32_t)(places->frame + offsetof(struct head, cie) - places->cie),
		.start = (int32_t)(places->stub - (places->frame + offsetof(struct head, start))),
	};
	struct program program = { .size = 0 };

	if (stub && make_program(plan, stub, &program))
		head.size = (uint32_t)stub->nr_code;
	memset(ret, 0, ALLOC_FRAME_SIZE);
	memcpy(ret, &head, HEAD_SIZE);
	memcpy(ret + HEAD_SIZE, program.bytes, program.size);
}
