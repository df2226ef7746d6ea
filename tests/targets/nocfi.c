// Assembly without call frame information, as in numeric libraries, below functions whose frames
// are found through rbp. Shares, all below main: with_frame;pushes 20 % (saves all registers,
// overwrites rbp), with_frame;aligned;part_20 20 %, with_frame;realigned;part_20b 20 % (the old rsp
// in a slot), with_frame;calls;leaf 20 %, with_frame;part_20c 20 % (entered by a jump).
// BUILD: -fomit-frame-pointer
#include "tests/targets/work.h"

#include <alloca.h>

#define FUNCTION(name) ".globl " #name "\n.type " #name ", @function\n.p2align 4\n" #name ":\n"
#define END(name) ".size " #name ", . - " #name "\n"
/* Works rdi times as long as BURN(1). */
#define LOOP                                                                                       \
	"	imulq $250000, %rdi, %rcx\n"                                                             \
	"	movabsq $6364136223846793005, %rdx\n"                                                    \
	"	movl $1, %eax\n"                                                                         \
	"1:	imulq %rdx, %rax\n"                                                                    \
	"	addq $1, %rax\n"                                                                         \
	"	subq $1, %rcx\n"                                                                         \
	"	jnz 1b\n"

__asm__(".text\n"
	/* clang-format off */
	FUNCTION(pushes)
	"	pushq %rbx\n"
	"	pushq %rbp\n"
	"	pushq %r12\n"
	"	pushq %r15\n"
	"	subq $0x88, %rsp\n"
	"	movq %rdi, 0x58(%rsp)\n"
	"	leaq 0x40(%rsp), %rbp\n"
	"	movq 0x58(%rsp), %rdi\n"
	LOOP
	"	movups %xmm4, 0x10(%rsp)\n"
	"	addq $0x88, %rsp\n"
	"	popq %r15\n"
	"	popq %r12\n"
	"	popq %rbp\n"
	"	popq %rbx\n"
	"	ret\n"
	END(pushes)
	FUNCTION(aligned)
	"	pushq %rbp\n"
	"	movq %rsp, %rbp\n"
	"	pushq %rbx\n"
	"	subq $200, %rsp\n"
	"	andq $-64, %rsp\n"
	"	call part_20\n"
	"	movq -8(%rbp), %rbx\n"
	"	leave\n"
	"	ret\n"
	END(aligned)
	FUNCTION(realigned)
	"	pushq %rbp\n"
	"	movq %rsp, %rax\n"
	"	subq $100, %rsp\n"
	"	andq $-32, %rsp\n"
	"	movq %rax, 0x28(%rsp)\n"
	"	xorl %ebp, %ebp\n"
	"	testq %rdi, %rdi\n"
	"	jz 2f\n"
	"	call part_20b\n"
	"2:	movq 0x28(%rsp), %rsp\n"
	"	popq %rbp\n"
	"	ret\n"
	END(realigned)
	FUNCTION(leaf)
	LOOP
	"	ret\n"
	END(leaf)
	FUNCTION(calls)
	"	subq $8, %rsp\n"
	"	call leaf\n"
	"	addq $8, %rsp\n"
	"	ret\n"
	END(calls)
	FUNCTION(jumps)
	"	pushq %rbp\n"
	"	movq %rdi, %rbp\n"
	"	movq %rbp, %rdi\n"
	"	popq %rbp\n"
	"	jmp part_20c\n"
	END(jumps)
	/* clang-format on */
);

void pushes(uint64_t units);
void aligned(uint64_t units);
void realigned(uint64_t units);
void leaf(uint64_t units);
void calls(uint64_t units);
void jumps(uint64_t units);

void part_20(uint64_t units);
void part_20b(uint64_t units);
void part_20c(uint64_t units);

NOIPA void part_20(uint64_t units)
{
	BURN(units);
}

NOIPA void part_20b(uint64_t units)
{
	BURN(units);
}

NOIPA void part_20c(uint64_t units)
{
	BURN(units);
}

/* A frame of a size that only its rbp tells. */
NOIPA char with_frame(void (*function)(uint64_t), size_t size)
{
	char *memory = alloca(size);

	__asm__ volatile("" : : "r"(memory) : "memory");
	function(20);
	return memory[0];
}

int main(int argc, char **argv)
{
	static const struct {
		void (*function)(uint64_t);
		const char *chain;
	} parts[] = {
		{ pushes, "main;with_frame;pushes" },
		{ aligned, "main;with_frame;aligned;part_20" },
		{ realigned, "main;with_frame;realigned;part_20b" },
		{ calls, "main;with_frame;calls;leaf" },
		{ jumps, "main;with_frame;part_20c" },
	};
	enum { NR = sizeof(parts) / sizeof(parts[0]) };
	uint64_t budget = budget_ns(argc, argv), ns[NR] = { 0 }, all = 0;
	int sum = 0;

	for (size_t i = 1; all < budget; i++) {
		all = 0;
		for (int part = 0; part < NR; part++) {
			TIMED(ns[part], sum += with_frame(parts[part].function, 100 * (i % 7 + 1)));
			all += ns[part];
		}
	}
	for (int part = 0; part < NR; part++)
		truth(ns[part], "%s", parts[part].chain);
	return sum == -1;
}
