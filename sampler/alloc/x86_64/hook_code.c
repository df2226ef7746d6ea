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
#define SCRATCH_REGS (1u << 0 | 1u << 10 | 1u << 11) /* rax, r10, r11: what stubs change */
/* Those that a function may change and that hold no argument of an allocation function. */
#define FREE_REGS (SCRATCH_REGS | 1u << 1 | 1u << 8 | 1u << 9)

/* ---- plans */

static bool is_endbr64(const uint8_t *code)
{
	return !memcmp(code, "\xf3\x0f\x1e\xfa", 4);
}

static bool is_scratch(uint8_t reg)
{
	return reg < 16 && SCRATCH_REGS >> reg & 1;
}

static bool is_free(uint8_t reg)
{
	return reg < 16 && FREE_REGS >> reg & 1;
}

/* mov disp(%rip), %reg, of 32 or 64 bits, into a free register. */
static bool loads_by_pc(const uint8_t *code)
{
	uint8_t rex = (code[0] & 0xf0) == 0x40 ? code[0] : 0;
	const uint8_t *at = code + (rex != 0);

	return at[0] == 0x8b && (at[1] & 0xc7) == 5 &&
	       is_free((uint8_t)((at[1] >> 3 & 7) | (rex & 4) << 1));
}

/*
 * Can the instruction be run a second time with the same effect? It reads no register that it or
 * the stub changes, and writes nothing but flags and registers that are free: cmp, test, and loads.
 */
static bool may_run_again(const uint8_t *code, struct instruction in)
{
	uint8_t opcode, modrm;
	size_t at = 0;

	if (loads_by_pc(code))
		return true;
	if (in.kind == INSTRUCTION_LOAD || in.kind == INSTRUCTION_MOVE ||
	    in.kind == INSTRUCTION_LEA)
		return is_free(in.reg) && in.base < 16 && !is_scratch(in.base) && in.base != in.reg;
	if (in.kind == INSTRUCTION_LEA_PC || in.kind == INSTRUCTION_CONSTANT)
		return is_free(in.reg);
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
	if (in.kind == INSTRUCTION_JUMP && code[0] == 0xe9) { /* its opcode stays */
		p->is_jump = p->again = true;
		p->kept = 1;
		p->length = in.length;
		return 0;
	}
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
	while (p.length < p.kept + JUMP_SIZE && !p.is_jump) {
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

void hook_plan_slot(uint64_t slot, uint64_t function, struct hook_plan *ret)
{
	*ret = (struct hook_plan){ .function = slot, .is_slot = true, .length = sizeof(function) };
	memcpy(ret->was, &function, sizeof(function));
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
	size_t slow[3], uncounted[3];
};

#define JUMP_OVERFLOW 0x80
#define JUMP_CARRY 0x82
#define JUMP_ZERO 0x84
#define JUMP_ABOVE 0x87
#define JUMP_SIGN 0x88

/* Registers as in ModRM. */
#define RDX 2u
#define RSI 6u
#define RDI 7u
#define R10 10u

/* Where the arguments of an entry are. */
static const struct shape {
	uint8_t size;	    /* register; R10: a product; 0: nothing is allocated */
	uint8_t is_shifted; /* the product's factors are in rsi and rdx, not rdi and rsi */
	uint8_t block;	    /* register; 0: nothing is freed */
	/* Every call enters the slow path, and rcx and r8 are arguments. */
	uint8_t always;
} shapes[NR_ALLOC_ENTRIES] = {
	[ALLOC_MALLOC] = { .size = RDI },
	[ALLOC_CALLOC] = { .size = R10 },
	[ALLOC_REALLOC] = { .size = RSI, .block = RDI },
	[ALLOC_ALIGNED] = { .size = RSI },
	[ALLOC_POSIX_ALIGNED] = { .size = RDX },
	[ALLOC_FREE] = { .block = RDI },
	[ALLOC_NEW] = { .size = RDI },
	[ALLOC_NEW_ALIGNED] = { .size = RDI },
	[ALLOC_PYTHON_MALLOC] = { .size = RSI },
	[ALLOC_PYTHON_CALLOC] = { .size = R10, .is_shifted = 1 },
	[ALLOC_PYTHON_REALLOC] = { .size = RDX, .block = RSI },
	[ALLOC_PYTHON_FREE] = { .block = RSI },
	[ALLOC_TENSOR] = { .always = 1 },
	[ALLOC_TENSOR_SHORT] = { .always = 1 },
};

/* Puts a product into r10; one that overflows becomes a size that cannot be had. */
static void put_product(struct code *c, const struct shape *shape, struct exits *x)
{
	if (shape->is_shifted) {
		PUT(0x49, 0x89, 0xf2);	     /* mov %rsi, %r10 */
		PUT(0x4c, 0x0f, 0xaf, 0xd2); /* imul %rdx, %r10 */
	} else {
		PUT(0x49, 0x89, 0xfa);	     /* mov %rdi, %r10 */
		PUT(0x4c, 0x0f, 0xaf, 0xd6); /* imul %rsi, %r10 */
	}
	x->uncounted[0] = put_forward(c, JUMP_OVERFLOW);
}

static void put_limit(struct code *c, uint8_t reg, uint32_t limit, struct exits *x)
{
	PUT((uint8_t)(reg >= 8 ? 0x49 : 0x48), 0x81, (uint8_t)(0xf8 | (reg & 7))); /* cmp */
	put_32(c, limit);
	x->uncounted[1] = put_forward(c, JUMP_ABOVE);
}

static void put_countdown(struct code *c, const struct hook_places *places, uint8_t reg,
			  struct exits *x)
{
	PUT(0x64, 0x69, 0x04, 0x25, 0, 0, 0, 0); /* imul $hash, %fs:0, %eax */
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

static void put_filter(struct code *c, const struct hook_places *places, uint8_t block,
		       struct exits *x)
{
	PUT(0x89, (uint8_t)(0xc0 | block << 3));  /* mov %block, %eax */
	PUT(0xc1, 0xe8, ALLOC_FILTER_WORD_SHIFT); /* shr $9, %eax */
	PUT(0x25);				  /* and $words - 1, %eax */
	put_32(c, ALLOC_NR_FILTER / 32 - 1);
	PUT(0x4c, 0x8d, 0x1d); /* lea filter(%rip), %r11 */
	code_put_distance(c, places->filter);
	PUT(0x41, 0x8b, 0x04, 0x83);		       /* mov (%r11,%rax,4), %eax */
	PUT(0x41, 0x89, (uint8_t)(0xc3 | block << 3)); /* mov %block, %r11d */
	PUT(0x41, 0xc1, 0xeb, 4);		       /* shr $4, %r11d */
	PUT(0x44, 0x0f, 0xa3, 0xd8);		       /* bt %r11d, %eax: its lower 5 bits */
	x->slow[1] = put_forward(c, JUMP_CARRY);
}
_Static_assert(ALLOC_FILTER_WORD_SHIFT == 4 + 5, "a word has 32 bits");

static bool put_moved(struct code *c, const struct hook_plan *p, struct hook_stub *ret)
{
	for (size_t at = p->again ? 0 : p->kept; at < p->length;) {
		struct instruction in = instruction_decode(p->was + at, p->length - at);

		if (at == hook_jump_at(p))
			ret->moved = c->size;
		if (!in.length || !instruction_move(c, p->was + at, p->function + at, in))
			return false;
		at += in.length;
	}
	ret->moved_end = c->size;
	return code_put_jump(c, p->function + p->length);
}

/* To the function that a slot has held, whose address stands behind the stub, too. */
static void put_jump_anywhere(struct code *c, const uint8_t *function)
{
	uint64_t to;
	int64_t distance;

	memcpy(&to, function, sizeof(to));
	distance = (int64_t)(to - (c->address + c->size + JUMP_SIZE));
	if (distance == (int32_t)distance) {
		code_put_jump(c, to);
		return;
	}
	PUT(0xff, 0x25); /* jmp *function(%rip) */
	code_put_distance(c, c->address + HOOK_STUB_CODE);
}

/*
 * Goes on in the function. Returns where all of it can be entered from the slow path; 0: an
 * instruction cannot be moved there.
 */
static size_t put_original(struct code *c, const struct hook_plan *p, struct hook_stub *ret)
{
	size_t resume = c->size, original;

	if (p->is_slot) {
		put_jump_anywhere(c, p->was);
		return resume;
	}
	if (!put_moved(c, p, ret))
		return 0;
	if (p->again)
		return resume;
	original = c->size;
	put(c, p->was, p->kept);
	code_put_jump(c, c->address + resume);
	return original;
}

static void put_slow(struct code *c, const struct hook_plan *p, const struct hook_kind *kind,
		     const struct hook_places *places, uint64_t original)
{
	if (p->undo)
		PUT(0x48, 0x8d, 0x64, 0x24, p->undo); /* lea undo(%rsp), %rsp */
	if (shapes[kind->entry].always) {
		PUT(0x4c, 0x8d, 0x0d); /* lea original(%rip), %r9 */
		code_put_distance(c, original);
		code_put_jump(c, places->slow);
		return;
	}
	PUT(0x48, 0x8d, 0x0d); /* lea original(%rip), %rcx */
	code_put_distance(c, original);
	PUT(0x41, 0xb8); /* mov $site, %r8d */
	put_32(c, kind->site);
	if (kind->more) {
		PUT(0x49, 0xb9); /* mov $more, %r9 */
		put(c, &kind->more, sizeof(kind->more));
	}
	code_put_jump(c, places->slow);
}

bool hook_stub_make(const struct hook_plan *p, const struct hook_kind *kind,
		    const struct hook_places *places, struct hook_stub *ret)
{
	const struct shape *shape = &shapes[kind->entry];
	struct code code = { .address = places->stub }, *c = &code;
	struct exits x = { { 0 }, { 0 } };

	if (shape->always) {
		PUT(0xe9, 0, 0, 0, 0); /* jmp slow */
		x.slow[2] = c->size - 4;
	}
	if (kind->entry == ALLOC_REALLOC && kind->null_is_malloc) {
		PUT(0x48, 0x85, 0xff); /* test %rdi, %rdi */
		x.uncounted[2] = put_forward(c, JUMP_ZERO);
	}
	if (shape->size == R10)
		put_product(c, shape, &x);
	if (shape->size && kind->limit)
		put_limit(c, shape->size, kind->limit, &x);
	if (shape->size)
		put_countdown(c, places, shape->size, &x);
	for (size_t i = 0; i < 3; i++)
		land(c, x.uncounted[i]);
	/* After the countdown, so the slow path finds that done. */
	if (shape->block)
		put_filter(c, places, shape->block, &x);
	ret->resume = c->size;
	ret->moved = ret->moved_end = 0;
	ret->original = put_original(c, p, ret);
	ret->slow = c->size;
	for (size_t i = 0; i < 3; i++)
		land(c, x.slow[i]);
	put_slow(c, p, kind, places, c->address + ret->original);
	if (!ret->original || c->bad || c->size > HOOK_STUB_CODE)
		return false;
	ret->nr_code = ret->size = c->size;
	memcpy(ret->bytes, c->bytes, c->size);
	if (!p->is_slot)
		return true;
	ret->size = HOOK_STUB_MAX;
	memset(ret->bytes + c->size, 0xcc, HOOK_STUB_CODE - c->size);
	memcpy(ret->bytes + HOOK_STUB_CODE, p->was, p->length);
	return true;
}

/* Allocation functions have three arguments, so may_run_again() lets rcx, r8 and r9 be changed. */
const char *hook_plan_refuses(const struct hook_plan *p, enum alloc_entry entry)
{
	if (!shapes[entry].always || !p->again || p->is_jump)
		return NULL;
	return "its first instruction may change an argument";
}

void hook_patch_write(const struct hook_plan *p, uint64_t stub, uint8_t *ret)
{
	uint8_t at = hook_jump_at(p);
	uint32_t distance = (uint32_t)(stub - (p->function + at + JUMP_SIZE));

	if (p->is_slot) {
		memcpy(ret, &stub, sizeof(stub));
		return;
	}
	memcpy(ret, p->was, p->length);
	ret[at] = 0xe9;
	memcpy(ret + at + 1, &distance, sizeof(distance));
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

uint64_t hook_next_jump(const uint8_t *code, size_t size, uint64_t function, bool calls, size_t *at)
{
	while (*at < size) {
		struct instruction in = instruction_decode(code + *at, size - *at);

		*at = in.length ? *at + in.length : size;
		if (in.kind == INSTRUCTION_JUMP || in.kind == INSTRUCTION_JUMP_IF ||
		    (calls && in.kind == INSTRUCTION_CALL))
			return function + *at + (uint64_t)(int64_t)in.value;
	}
	return 0;
}

uint64_t hook_plt_slot(const uint8_t *code, size_t size, uint64_t address)
{
	size_t at = size >= 4 && is_endbr64(code) ? 4 : 0;
	int32_t distance;

	at += at < size && code[at] == 0xf2; /* bnd */
	if (at + 6 > size || code[at] != 0xff || code[at + 1] != 0x25)
		return 0;
	memcpy(&distance, code + at + 2, sizeof(distance));
	return address + at + 6 + (uint64_t)(int64_t)distance;
}
