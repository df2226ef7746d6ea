// A hot leaf whose CFA is a DWARF expression that needs an evaluator, as in hand-written assembly:
// no unwind row can describe it. True shares: plain 30 %, by_expression 70 %.
// BUILD: -fomit-frame-pointer
#include "tests/targets/work.h"

void by_expression(uint64_t nr); /* as much work as BURN(nr / 250000) */

/*
 * The CFA is breg7 (rsp) + 24, lit8, plus. It is easy to evaluate, but it is not one of the
 * expressions that the table builder recognises.
 */
__asm__(".text\n"
	".type by_expression, @function\n"
	"by_expression:\n"
	"	.cfi_startproc\n"
	"	sub $24, %rsp\n"
	"	.cfi_escape 0x0f, 4, 0x77, 24, 0x38, 0x22\n"
	"	mov $1, %eax\n"
	"	movabs $6364136223846793005, %rdx\n"
	"1:	imul %rdx, %rax\n"
	"	add $1, %rax\n"
	"	dec %rdi\n"
	"	jnz 1b\n"
	"	add $24, %rsp\n"
	"	.cfi_def_cfa %rsp, 8\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size by_expression, . - by_expression\n");

NOIPA void plain(void)
{
	BURN(30);
}

int main(int argc, char **argv)
{
	uint64_t budget = budget_ns(argc, argv), ns_plain = 0, ns_expression = 0;

	while (ns_plain + ns_expression < budget) {
		TIMED(ns_plain, plain());
		TIMED(ns_expression, by_expression(70 * 250000));
	}
	truth(ns_plain, "main;plain");
	truth(ns_expression, "main;by_expression");
	return 0;
}
