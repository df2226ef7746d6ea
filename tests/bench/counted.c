/*
 * counted CALLS: calls three functions CALLS times each and prints the nanoseconds per call: one
 * begins with a push, one with endbr64 and a push, and one with an instruction that the kernel
 * cannot emulate.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

void push(void);
void cet(void);
void plain(void);

__asm__(".text\n"
	".globl push, cet, plain\n"
	".type push, @function\n.type cet, @function\n.type plain, @function\n"
	"push:	push %rbp\n	pop %rbp\n	ret\n	.size push, .-push\n"
	"cet:	endbr64\n	push %rbp\n	pop %rbp\n	ret\n	.size cet, .-cet\n"
	"plain:	lea 1(%rdi), %rax\n	ret\n	.size plain, .-plain\n");

static double ns_per_call(void (*f)(void), long nr)
{
	struct timespec a, b;

	clock_gettime(CLOCK_MONOTONIC, &a);
	for (long i = 0; i < nr; i++)
		f();
	clock_gettime(CLOCK_MONOTONIC, &b);
	return ((double)(b.tv_sec - a.tv_sec) * 1e9 + (double)(b.tv_nsec - a.tv_nsec)) / (double)nr;
}

int main(int argc, char **argv)
{
	long nr = argc > 1 ? atol(argv[1]) : 100000;

	printf("push %.1f\n", ns_per_call(push, nr));
	printf("cet %.1f\n", ns_per_call(cet, nr));
	printf("plain %.1f\n", ns_per_call(plain, nr));
	return 0;
}
