// Runtime code in anonymous memory, without frame pointers and unwind rules: it saves three
// registers, counts in rbp, allocates a frame and calls back. Every [ms] (second argument; 0: once,
// in the middle) it is rewritten at the same address with a frame of another size, which contains
// the return address to decoy() that the rules of the previous code would read. Chains below main:
// narrow;JIT, narrow;JIT;of_narrow and wide;JIT, wide;JIT;of_wide, where JIT is an unnamed frame;
// half of the time is in JIT itself, half in of_narrow and of_wide.
// BUILD: -fomit-frame-pointer
#include "tests/targets/work.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define NARROW 0x40
#define WIDE 0x240
#define SAVED 24 /* bytes below the return address */

static const unsigned char template[] = {
	0x53,					     /* push %rbx */
	0x55,					     /* push %rbp */
	0x41, 0x54,				     /* push %r12 */
	0x48, 0x81, 0xec, 0,	0,    0,    0,	     /* 4: sub $size,%rsp */
	0x48, 0x89, 0x94, 0x24, 0,    0,    0,	  0, /* 11: mov %rdx,decoy(%rsp) */
	0x48, 0x89, 0xfd,			     /* mov %rdi,%rbp */
	0x48, 0x89, 0xf3,			     /* mov %rsi,%rbx */
	0x48, 0x69, 0xc0, 0x2d, 0x7f, 0x95, 0x4c,    /* imul $0x4c957f2d,%rax,%rax */
	0x48, 0xff, 0xc0,			     /* inc %rax */
	0x48, 0xff, 0xcd,			     /* dec %rbp */
	0x75, 0xf1,				     /* jnz back to imul */
	0xff, 0xd3,				     /* call *%rbx */
	0x48, 0x81, 0xc4, 0,	0,    0,    0,	     /* 42: add $size,%rsp */
	0x41, 0x5c,				     /* pop %r12 */
	0x5d,					     /* pop %rbp */
	0x5b,					     /* pop %rbx */
	0xc3,					     /* ret */
};

typedef void (*kernel)(uint64_t iterations, void (*callback)(void), void *decoy);

static void put(unsigned char *code, size_t at, int32_t value)
{
	memcpy(code + at, &value, sizeof(value));
}

/* `decoy`: offset of the word that the other code's rules would take for a return address. */
static void compile(unsigned char *code, int32_t size, int32_t decoy)
{
	memcpy(code, template, sizeof(template));
	put(code, 7, size);
	put(code, 15, decoy);
	put(code, 45, size);
}

NOIPA void decoy(void)
{
	BURN(1);
}

NOIPA void of_narrow(void)
{
	BURN(10);
}

NOIPA void of_wide(void)
{
	BURN(10);
}

NOIPA void narrow(kernel code)
{
	code(2500000, of_narrow, (char *)decoy + 1);
	NO_TAIL_CALL();
}

NOIPA void wide(kernel code)
{
	code(2500000, of_wide, (char *)decoy + 1);
	NO_TAIL_CALL();
}

int main(int argc, char **argv)
{
	uint64_t budget = budget_ns(argc, argv), ns_narrow = 0, ns_wide = 0;
	uint64_t period = argc > 2 ? strtoull(argv[2], NULL, 10) * 1000000 : 0;
	unsigned char *code = mmap(NULL, 1 << 18, PROT_READ | PROT_WRITE | PROT_EXEC,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	kernel run = (kernel)(uintptr_t)code;

	if (code == MAP_FAILED)
		return 1;
	if (!period)
		period = budget / 2;
	while (ns_narrow + ns_wide < budget) {
		uint64_t until = ns_narrow + ns_wide + period;

		compile(code, NARROW, 0);
		while (ns_narrow + ns_wide < until)
			TIMED(ns_narrow, narrow(run));
		until += period;
		compile(code, WIDE, NARROW + SAVED);
		while (ns_narrow + ns_wide < until)
			TIMED(ns_wide, wide(run));
	}
	truth(ns_narrow / 2, "main;narrow;*");
	truth(ns_narrow / 2, "main;narrow;*;of_narrow");
	truth(ns_wide / 2, "main;wide;*");
	truth(ns_wide / 2, "main;wide;*;of_wide");
	return 0;
}
