/*
 * Each shape is searched for in its own pass, by its rarest byte or its alignment, because gaps
 * between FDEs may have tens of megabytes.
 */
#include "sampler/unwind/x86_64/known_code.h"

#include <stdbool.h>
#include <string.h>

#include "sampler/unwind/x86_64/instruction.h"

#define MAX_INIT_SIZE 64 /* of _init; it calls one function */
/* In more code than start-up files have, other functions look alike. */
#define MAX_TEXT_OF_INIT 2048
#define FRAME_HEAD 4	    /* bytes of "push %rbp; mov %rsp, %rbp" */
#define MAX_SWITCH_SIZE 512 /* of a function that switches stacks */
#define GO_SCHED_SP 56	    /* where a g keeps the stack pointer */

static const uint8_t INIT_TAIL[] = { 0x48, 0x83, 0xc4, 8, 0xc3 };

struct search {
	uint64_t vaddr;
	const uint8_t *text;
	size_t size;
	known_code_fn *found;
	void *context;
};

static void report(const struct search *s, size_t at, size_t length, enum known_code kind)
{
	s->found(s->context, s->vaddr + at, length, kind);
}

/*
 * Do the bytes begin with the instructions that return from a signal handler: "mov $15, %rax" in
 * either length and "syscall" (15 is rt_sigreturn)? Debuggers and libgcc recognise them by these
 * bytes too.
 */
static bool is_sigreturn(const uint8_t *at, size_t size)
{
	static const uint8_t mov_rax[] = { 0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05 };
	static const uint8_t mov_eax[] = { 0xb8, 15, 0, 0, 0, 0x0f, 0x05 };

	return (size >= sizeof(mov_rax) && !memcmp(at, mov_rax, sizeof(mov_rax))) ||
	       (size >= sizeof(mov_eax) && !memcmp(at, mov_eax, sizeof(mov_eax)));
}

/* Finds signal trampolines in text without FDEs: musl and Go write no CFI for theirs. */
static void find_trampolines(const struct search *s)
{
	enum { LENGTH = 9 };
	const uint8_t *text = s->text;
	size_t size = s->size;

	for (size_t i = 1; i < size; i++) {
		const uint8_t *at = memchr(text + i, 15, size - i);

		/* the 15 of either form; its opcode comes before it */
		if (!at)
			break;
		i = (size_t)(at - text);
		for (size_t before = 1; before <= 3 && before < i; before += 2) {
			if (is_sigreturn(at - before, size - i + before))
				report(s, i - before - 1, LENGTH + 1, KNOWN_SIGNAL);
		}
	}
}

/*
 * Finds "add $8, %rsp; ret" behind the start of _init or _fini. 0: anything else is done to the stack
 * before, or the function ends otherwise.
 */
static size_t find_init_end(const uint8_t *text, size_t at, size_t end)
{
	while (at + sizeof(INIT_TAIL) <= end) {
		struct instruction in = instruction_decode(text + at, end - at);

		if (!memcmp(text + at, INIT_TAIL, sizeof(INIT_TAIL)))
			return at;
		if (in.kind == INSTRUCTION_BAD || in.kind == INSTRUCTION_RET ||
		    in.kind == INSTRUCTION_JUMP || in.kind == INSTRUCTION_PUSH ||
		    in.kind == INSTRUCTION_POP || in.kind == INSTRUCTION_ADD)
			return 0;
		at += in.length;
	}
	return 0;
}

/*
 * Finds _init and _fini: glibc's crti.o has no CFI for them, and every program and library runs
 * them. "sub $8, %rsp" ... "add $8, %rsp; ret".
 */
static void find_init(const struct search *s)
{
	static const uint8_t endbr[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	static const uint8_t head[] = { 0x48, 0x83, 0xec, 8 };
	const uint8_t *text = s->text;
	size_t size = s->size;

	/* their sections are aligned to 4 bytes; memmem() would cost more than all the rest */
	for (size_t i = -s->vaddr & 3; i + sizeof(head) + sizeof(INIT_TAIL) <= size; i += 4) {
		const uint8_t *at = text + i;
		size_t start, body = i + sizeof(head), left;

		if (memcmp(at, head, sizeof(head)))
			continue;
		left = find_init_end(text, body,
				     size < body + MAX_INIT_SIZE ? size : body + MAX_INIT_SIZE);
		if (!left)
			continue;
		start = i;
		if (i >= sizeof(endbr) && !memcmp(at - sizeof(endbr), endbr, sizeof(endbr)))
			start -= sizeof(endbr);
		left += sizeof(INIT_TAIL) - 1;
		report(s, start, body - start, KNOWN_CALLED);
		report(s, body, left - body, KNOWN_CALLED_8);
		report(s, left, 1, KNOWN_CALLED);
	}
}

/* Does the instruction leave rbp as the frame pointer of its function? */
static bool keeps_frame(const struct instruction *in)
{
	switch (in->kind) {
	case INSTRUCTION_OTHER:
	case INSTRUCTION_LEA_PC:
	case INSTRUCTION_CONSTANT:
	case INSTRUCTION_JUMP_IF: return !(in->writes >> INSTRUCTION_RBP & 1);
	case INSTRUCTION_ADD:
	case INSTRUCTION_AND:
	case INSTRUCTION_MOVE:
	case INSTRUCTION_LEA:
	case INSTRUCTION_LOAD:
	case INSTRUCTION_POP: return in->reg != INSTRUCTION_RBP;
	case INSTRUCTION_BAD:
	case INSTRUCTION_SYSCALL:
	case INSTRUCTION_LEAVE:
	case INSTRUCTION_RET: return false;
	default: return true;
	}
}

/*
 * Reports the function at `start`, which begins with "push %rbp; mov %rsp, %rbp", up to where its
 * frame ends, if that is behind the switch.
 */
static bool report_switch(const struct search *s, size_t start, size_t at_switch)
{
	size_t at = start + FRAME_HEAD, size = s->size - start;
	bool is_met = false;

	size = start + (size < MAX_SWITCH_SIZE ? size : MAX_SWITCH_SIZE);
	while (at < size) {
		struct instruction in = instruction_decode(s->text + at, s->size - at);

		is_met |= at == at_switch;
		if (!keeps_frame(&in))
			break;
		at += in.length;
	}
	if (!is_met)
		return false;
	report(s, start, 1, KNOWN_CALLED);
	report(s, start + 1, FRAME_HEAD - 1, KNOWN_CALLED_8);
	report(s, start + FRAME_HEAD, at - start - FRAME_HEAD, KNOWN_OTHER_STACK);
	if (at + 1 < s->size && s->text[at] == 0x5d) /* pop %rbp; the rule of pop is the same */
		report(s, at + 1, 1, KNOWN_CALLED);
	return true;
}

/*
 * Finds the functions of Go's runtime that go on on the stack of their thread and return to that of
 * the goroutine: systemstack, asmcgocall and those that call the vdso. They load rsp from
 * g.sched.sp, which lies 56 bytes into a g in all versions, and since Go 1.21 they keep the frame
 * pointer of the stack that they come from. mcall and morestack do not: no goroutine waits for them
 * to return.
 */
static void find_stack_switches(const struct search *s)
{
	static const uint8_t head[FRAME_HEAD] = { 0x55, 0x48, 0x89, 0xe5 };
	size_t done = 0;

	for (size_t i = 3; i < s->size; i++) {
		const uint8_t *at = memchr(s->text + i, GO_SCHED_SP, s->size - i);

		if (!at)
			break;
		/* mov 56(%reg), %rsp: 48 or 49, 8b, 60 + reg */
		i = (size_t)(at - s->text);
		if (s->text[i - 2] != 0x8b || (s->text[i - 3] & 0xfe) != 0x48 ||
		    (s->text[i - 1] & 0xf8) != 0x60 || (s->text[i - 1] & 7) == 4)
			continue;
		/* functions are aligned to 16 bytes */
		for (size_t back = (s->vaddr + i) & 15; back <= i - done && back < MAX_SWITCH_SIZE;
		     back += 16) {
			if (back < FRAME_HEAD + 3 || memcmp(at - back, head, FRAME_HEAD))
				continue;
			if (report_switch(s, i - back, i - 3))
				done = i;
			break;
		}
	}
}

/*
 * Finds where coroutines of Boost.Context begin (make_fcontext): "push %rbp; jmp *%rbx", and what
 * their function returns to: "xor %rdi, %rdi; call _exit; hlt". A walk looks up a return address
 * one byte early, in the jump.
 */
static void find_coroutine_roots(const struct search *s)
{
	static const uint8_t head[] = { 0x55, 0xff, 0xe3 };
	enum { CALL = 0xe8, HLT = 0xf4, CALL_LENGTH = 5 };
	const uint8_t *text = s->text;

	for (size_t i = 0; i + sizeof(head) < s->size; i++) {
		const uint8_t *at = memchr(text + i, head[0], s->size - i);
		size_t finish, end;

		if (!at)
			break;
		i = (size_t)(at - text);
		finish = i + sizeof(head);
		if (finish + 3 + CALL_LENGTH >= s->size || memcmp(at, head, sizeof(head)))
			continue;
		end = finish + (text[finish] == 0x48); /* the prefix of 64 bits */
		if (text[end] != 0x31 || text[end + 1] != 0xff || text[end + 2] != CALL)
			continue;
		end += 2 + CALL_LENGTH;
		if (end < s->size && text[end] == HLT)
			report(s, finish - 1, end + 1 - (finish - 1), KNOWN_ROOT);
	}
}

void known_code_find(uint64_t vaddr, const uint8_t *text, size_t size, known_code_fn *found,
		     void *context)
{
	const struct search search = { vaddr, text, size, found, context };

	find_trampolines(&search);
	if (size <= MAX_TEXT_OF_INIT)
		find_init(&search);
	find_stack_switches(&search);
	find_coroutine_roots(&search);
}
