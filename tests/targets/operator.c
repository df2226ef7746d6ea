// What PyTorch's operators look like on a stack: a function named like an operator, and below it
// assembly without unwind rules. All time is in main;at::_ops::linear::call();gemm.
// BUILD: -fomit-frame-pointer
#include "tests/targets/work.h"

/* Saves registers, and uses rbp for a number. */
__asm__(".text\n"
	".p2align 4\n"
	".globl gemm\n"
	".type gemm, @function\n"
	"gemm:\n"
	"	pushq %rbx\n"
	"	pushq %rbp\n"
	"	subq $0x28, %rsp\n"
	"	movq %rdi, %rbp\n"
	"1:	imulq $0x4c957f2d, %rax, %rax\n"
	"	incq %rax\n"
	"	decq %rbp\n"
	"	jnz 1b\n"
	"	addq $0x28, %rsp\n"
	"	popq %rbp\n"
	"	popq %rbx\n"
	"	ret\n"
	".size gemm, . - gemm\n");

void gemm(uint64_t iterations);
void linear(uint64_t iterations) __asm__("_ZN2at4_ops6linear4callEv");

NOIPA void linear(uint64_t iterations)
{
	gemm(iterations);
	NO_TAIL_CALL();
}

int main(int argc, char **argv)
{
	uint64_t budget = budget_ns(argc, argv), ns = 0;

	while (ns < budget)
		TIMED(ns, linear(2500000));
	truth(ns, "main;at::_ops::linear::call();gemm");
	return 0;
}
