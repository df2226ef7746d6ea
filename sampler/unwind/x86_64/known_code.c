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

void known_code_find(uint64_t vaddr, const uint8_t *text, size_t size, known_code_fn *found,
		     void *context)
{
	const struct search search = { vaddr, text, size, found, context };

	find_trampolines(&search);
	if (size <= MAX_TEXT_OF_INIT)
		find_init(&search);
}
