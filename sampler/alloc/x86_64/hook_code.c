/*
 * Generates stubs. Of the registers, rax, r10, r11 and the flags are free at a function's start;
 * the first instruction may have used no other.
 */
#include "sampler/alloc/x86_64/hook_code.h"

#include <errno.h>
#include <string.h>

#include "sampler/alloc/x86_64/move_instruction.h"
#include "sampler/unwind/x86_64/instruction.h"

#define JUMP_SIZE 5u
#define SCRATCH_REGS (1u << 0 | 1u << 10 | 1u << 11) /* rax, r10, r11 */

/* ---- plans */

static bool is_endbr64(const uint8_t *code)
{
	return !memcmp(code, "\xf3\x0f\x1e\xfa", 4);
}

static bool is_scratch(uint8_t reg)
{
	return reg < 16 && SCRATCH_REGS >> reg & 1;
}

/*
 * Can the instruction be run a second time with the same effect? It reads no register that it or
 * the stub changes, and writes nothing but rax, r10, r11 and flags: cmp, test, and loads.
 */
static bool may_run_again(const uint8_t *code, struct instruction in)
{
	uint8_t opcode, modrm;
	size_t at = 0;

	if (in.kind == INSTRUCTION_LOAD || in.kind == INSTRUCTION_MOVE ||
	    in.kind == INSTRUCTION_LEA)
		return is_scratch(in.reg) && !is_scratch(in.base);
	if (in.kind == INSTRUCTION_LEA_PC || in.kind == INSTRUCTION_CONSTANT)
		return is_scratch(in.reg);
	if (in.kind != INSTRUCTION_OTHER || in.writes)
		return false;
	if ((code[at] & 0xf0) == 0x40)
		at++;
	opcode = code[at];
	modrm = code[at + 1];
	if (opcode == 0x84 || opcode == 0x85 || (opcode >= 0x38 && opcode <= 0x3b)) {
		/* test and cmp of registers and memory; the others are rdi, rsi, rdx in practice */
		bool of_pc = (modrm & 0xc7) == 5, of_regs = modrm >> 6 == 3;

		return (of_pc || (of_regs && (modrm & 7) != 0)) && (modrm >> 3 & 7) != 0 &&
		       !(code[0] >= 0x41 && code[0] <= 0x4f && code[0] & 5);
	}
	/* cmp $n, disp(%rip); cmp $n, %rdi */
	return (opcode == 0x80 || opcode == 0x81 || opcode == 0x83) && (modrm >> 3 & 7) == 7 &&
	       ((modrm & 0xc7) == 5 || (modrm >> 6 == 3 && (modrm & 7) != 0)) &&
	       (at == 0 || !(code[0] & 1));
}

static int plan_first(const uint8_t *code, struct instruction in, struct hook_plan *p)
{
	if (in.kind == INSTRUCTION_PUSH)
		p->undo = 8;
	else if (in.kind == INSTRUCTION_ADD && in.reg == INSTRUCTION_RSP && in.value < 0 &&
		 in.value >= -120)
		p->undo = (uint8_t)-in.value;
	else if (in.kind != INSTRUCTION_NOP && !is_endbr64(code) && may_run_again(code, in))
		p->again = true;
	else if (in.kind != INSTRUCTION_NOP && !is_endbr64(code))
		return -ENOTSUP;
	p->kept = in.length;
	p->length = in.length;
	return 0;
}

int hook_plan_make(const uint8_t *code, size_t size, uint64_t function, struct hook_plan *ret,
		   const char **ret_why)
{
	struct hook_plan p = { .function = function };
	struct instruction in = instruction_decode(code, size);

	*ret_why = "its first instruction cannot be undone";
	if (!in.length || size < HOOK_MAX_BYTES || plan_first(code, in, &p))
		return -ENOTSUP;
	while (p.length < p.kept + JUMP_SIZE) {
		in = instruction_decode(code + p.length, size - p.length);
		*ret_why = "its first instructions cannot be moved";
		if (!instruction_can_move(code + p.length, in) ||
		    p.length + in.length > HOOK_MAX_BYTES)
			return -ENOTSUP;
		p.length += in.length;
		*ret_why = "it is too short";
		if ((in.kind == INSTRUCTION_RET || in.kind == INSTRUCTION_JUMP) &&
		    p.length < p.kept + JUMP_SIZE)
			return -ENOTSUP;
	}
	memcpy(p.was, code, p.length);
	*ret = p;
	return 0;
}

/* ---- stubs */

static void put(struct code *c, const void *bytes, size_t size)
{
	code_put(c, bytes, size);
}

#define PUT(...)                                                                                   \
	do {                                                                                       \
		const uint8_t bytes_[] = { __VA_ARGS__ };                                          \
		put(c, bytes_, sizeof(bytes_));                                                    \
	} while (0)

static void put_32(struct code *c, uint32_t value)
{
	put(c, &value, sizeof(value));
}

/* A jump that is forward in the stub: where its distance stands, for land(). */
static size_t put_forward(struct code *c, uint8_t condition)
{
	PUT(0x0f, condition);
	put_32(c, 0);
	return c->size - 4;
}

static void land(struct code *c, size_t at)
{
	uint32_t distance = (uint32_t)(c->size - (at + 4));

	if (at)
		memcpy(c->bytes + at, &distance, sizeof(distance));
}

/* The forward jumps of a stub; 0: there is none. */
struct exits {
	size_t slow[2], original[2];
};

#define JUMP_OVERFLOW 0x80
#define JUMP_ZERO 0x84
#define JUMP_NOT_ZERO 0x85
#define JUMP_SIGN 0x88

/* The number of the register with the size, as in ModRM; calloc's product goes to r10. */
static uint8_t size_register(struct code *c, enum alloc_entry entry, struct exits *x)
{
	switch (entry) {
	case ALLOC_MALLOC: return 7;
	case ALLOC_REALLOC:
	case ALLOC_ALIGNED: return 6;
	case ALLOC_POSIX_ALIGNED: return 2;
	default:
		PUT(0x49, 0x89, 0xfa);	     /* mov %rdi, %r10 */
		PUT(0x4c, 0x0f, 0xaf, 0xd6); /* imul %rsi, %r10 */
		x->original[0] = put_forward(c, JUMP_OVERFLOW);
		return 10;
	}
}

static void put_countdown(struct code *c, const struct hook_places *places, enum alloc_entry entry,
			  struct exits *x)
{
	uint8_t reg = size_register(c, entry, x);

	PUT(0x64, 0x48, 0x8b, 0x04, 0x25, 0, 0, 0, 0); /* mov %fs:0, %rax */
	PUT(0x69, 0xc0);			       /* imul $hash, %eax, %eax */
	put_32(c, ALLOC_COUNTER_HASH);
	PUT(0xc1, 0xe8, ALLOC_COUNTER_SHIFT); /* shr $22, %eax */
	PUT(0xc1, 0xe0, 6);		      /* shl $6, %eax */
	PUT(0x4c, 0x8d, 0x1d);		      /* lea counters(%rip), %r11 */
	code_put_distance(c, places->counters);
	PUT((uint8_t)(0x49 | (reg >= 8 ? 4 : 0)), 0x29, (uint8_t)(0x04 | (reg & 7) << 3),
	    0x03); /* sub %reg, (%r11,%rax) */
	x->slow[0] = put_forward(c, JUMP_SIGN);
}
_Static_assert(sizeof(struct alloc_counter) == 1 << 6, "shl $6");

/* The block is in rdi. */
static void put_filter(struct code *c, const struct hook_places *places, struct exits *x)
{
	PUT(0x48, 0x89, 0xf8);	  /* mov %rdi, %rax */
	PUT(0x48, 0xc1, 0xe8, 4); /* shr $4, %rax */
	PUT(0x0f, 0xb7, 0xc0);	  /* movzwl %ax, %eax */
	PUT(0x4c, 0x8d, 0x1d);	  /* lea filter(%rip), %r11 */
	code_put_distance(c, places->filter);
	PUT(0x41, 0x80, 0x3c, 0x03, 0); /* cmpb $0, (%r11,%rax) */
	x->slow[1] = put_forward(c, JUMP_NOT_ZERO);
}
_Static_assert(ALLOC_NR_FILTER == 1 << 16, "movzwl");

static bool put_moved(struct code *c, const struct hook_plan *p)
{
	for (size_t at = p->again ? 0 : p->kept; at < p->length;) {
		struct instruction in = instruction_decode(p->was + at, p->length - at);

		if (!in.length || !instruction_move(c, p->was + at, p->function + at, in))
			return false;
		at += in.length;
	}
	return code_put_jump(c, p->function + p->length);
}

/* Returns the address of the whole function for callers from the slow path. */
static uint64_t put_original(struct code *c, const struct hook_plan *p, uint64_t resume)
{
	uint64_t original = c->address + c->size;

	if (p->again)
		return resume;
	put(c, p->was, p->kept);
	code_put_jump(c, resume);
	return original;
}

size_t hook_stub_write(const struct hook_plan *p, const struct hook_kind *kind,
		       const struct hook_places *places, uint8_t *ret_code)
{
	struct code code = { .address = places->stub }, *c = &code;
	struct exits x = { { 0 }, { 0 } };
	uint64_t resume, original;

	if (kind->entry == ALLOC_REALLOC && kind->null_is_malloc) {
		PUT(0x48, 0x85, 0xff); /* test %rdi, %rdi */
		x.original[1] = put_forward(c, JUMP_ZERO);
	}
	if (kind->entry != ALLOC_FREE)
		put_countdown(c, places, kind->entry, &x);
	/* After the countdown, so the slow path finds that done. */
	if (kind->entry == ALLOC_FREE || kind->entry == ALLOC_REALLOC)
		put_filter(c, places, &x);
	land(c, x.original[0]);
	land(c, x.original[1]);
	resume = c->address + c->size;
	if (!put_moved(c, p))
		return 0;
	original = put_original(c, p, resume);
	land(c, x.slow[0]);
	land(c, x.slow[1]);
	if (p->undo)
		PUT(0x48, 0x8d, 0x64, 0x24, p->undo); /* lea undo(%rsp), %rsp */
	PUT(0x48, 0x8d, 0x0d);			      /* lea original(%rip), %rcx */
	code_put_distance(c, original);
	PUT(0x41, 0xb8); /* mov $site, %r8d */
	put_32(c, kind->site);
	if (!code_put_jump(c, places->slow) || c->bad)
		return 0;
	memcpy(ret_code, c->bytes, c->size);
	return c->size;
}

void hook_patch_write(const struct hook_plan *p, uint64_t stub, uint8_t *ret)
{
	uint32_t distance = (uint32_t)(stub - (p->function + p->kept + JUMP_SIZE));

	memcpy(ret, p->was, p->length);
	ret[p->kept] = 0xe9;
	memcpy(ret + p->kept + 1, &distance, sizeof(distance));
}

/* ---- who jumps where */

/* How much of a function is searched for short jumps to its start: they reach 128 bytes. */
#define SHORT_REACH 160u

static bool enters(const struct hook_plan *p, uint64_t from, uint64_t to)
{
	bool is_own = from >= p->function && from < p->function + p->length;

	return to > p->function && to < p->function + p->length && !is_own;
}

static bool is_entered_from_inside(const struct hook_plan *p, const uint8_t *code, size_t size)
{
	for (size_t at = 0; at < size && at < SHORT_REACH;) {
		struct instruction in = instruction_decode(code + at, size - at);
		uint64_t from = p->function + at;

		if (!in.length)
			return false;
		at += in.length;
		if ((in.kind == INSTRUCTION_JUMP || in.kind == INSTRUCTION_JUMP_IF) &&
		    enters(p, from, p->function + at + (uint64_t)(int64_t)in.value))
			return true;
	}
	return false;
}

/* The bytes before the distance of a jump or call that may start here; 0: none does. */
static size_t far_jump(const uint8_t *code)
{
	if (*code == 0xe8 || *code == 0xe9)
		return 1;
	return *code == 0x0f && (code[1] & 0xf0) == 0x80 ? 2 : 0;
}

size_t hook_find_entered(const uint8_t *code, size_t size, uint64_t address,
			 const struct hook_plan *plans, size_t nr)
{
	uint64_t low = UINT64_MAX, high = 0;

	for (size_t i = 0; i < nr; i++) {
		uint64_t at = plans[i].function - address;

		if (at < size && is_entered_from_inside(&plans[i], code + at, size - at))
			return i;
		low = plans[i].function < low ? plans[i].function : low;
		high = plans[i].function > high ? plans[i].function : high;
	}
	for (size_t at = 0; at + 6 <= size; at++) {
		size_t skip = far_jump(code + at);
		int32_t distance;
		uint64_t to;

		if (!skip)
			continue;
		memcpy(&distance, code + at + skip, sizeof(distance));
		to = address + at + skip + 4 + (uint64_t)(int64_t)distance;
		for (size_t i = 0; to > low && to < high + HOOK_MAX_BYTES && i < nr; i++)
			if (enters(&plans[i], address + at, to))
				return i;
	}
	return nr;
}

bool hook_jumps_to(const uint8_t *code, size_t size, uint64_t function, uint64_t to)
{
	for (size_t at = 0; at < size;) {
		struct instruction in = instruction_decode(code + at, size - at);

		if (!in.length)
			return false;
		at += in.length;
		if ((in.kind == INSTRUCTION_JUMP || in.kind == INSTRUCTION_JUMP_IF) &&
		    function + at + (uint64_t)(int64_t)in.value == to)
			return true;
	}
	return false;
}
