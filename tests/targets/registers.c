/*
 * Two threads, the first one and another, keep known values in every general and vector register
 * while they count down, and check them afterwards, again and again:
 *
 *	registers MILLISECONDS
 *
 * Prints `rounds N bad N`; exits with status 1 if a register had changed.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/clock.h"

static atomic_long nr_rounds, nr_bad;
static uint64_t end_ns;
static const char *end_file; /* from END_FILE: the program ends early when it appears */

#define EACH_VECTOR(op)                                                                            \
	op(0) op(1) op(2) op(3) op(4) op(5) op(6) op(7) op(8) op(9) op(10) op(11) op(12) op(13)    \
		op(14) op(15)
#define LOAD(n) "movdqu 16*" #n "(%%rsi), %%xmm" #n "\n"
#define STORE(n) "movdqu %%xmm" #n ", 16*" #n "(%%rsi)\n"

/* The general registers hold primes, which add up to 158, and the carry flag is set. */
static bool round_is_good(const uint8_t *in)
{
	struct {
		const uint8_t *in;
		uint8_t *out;
		uint64_t sum, carry;
	} job;
	uint8_t out[256];

	job.in = in;
	job.out = out;
	__asm__ volatile(
		"movq (%%rdi), %%rsi\n" EACH_VECTOR(
			LOAD) "movq $3, %%r8\n movq $5, %%r9\n movq $7, %%r10\n movq $11, %%r11\n"
			      "movq $13, %%r12\n movq $17, %%r13\n movq $19, %%r14\n movq $23, "
			      "%%r15\n"
			      "movq $29, %%rax\n movq $31, %%rdx\n movl $200000, %%ecx\n stc\n"
			      "1: leal -1(%%ecx), %%ecx\n jrcxz 2f\n jmp 1b\n"
			      "2: setc 24(%%rdi)\n"
			      "addq %%r8, %%rax\n addq %%r9, %%rax\n addq %%r10, %%rax\n addq "
			      "%%r11, %%rax\n"
			      "addq %%r12, %%rax\n addq %%r13, %%rax\n addq %%r14, %%rax\n addq "
			      "%%r15, %%rax\n"
			      "addq %%rdx, %%rax\n movq %%rax, 16(%%rdi)\n"
			      "movq 8(%%rdi), %%rsi\n" EACH_VECTOR(STORE)
		:
		: "D"(&job)
		: "memory", "cc", "rsi", "rax", "rcx", "rdx", "r8", "r9", "r10", "r11", "r12",
		  "r13", "r14", "r15", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6",
		  "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
	return job.sum == 158 && (uint8_t)job.carry == 1 && !memcmp(in, out, sizeof(out));
}

static void *loop(void *argument)
{
	uint8_t in[256];

	for (size_t i = 0; i < sizeof(in); i++)
		in[i] = (uint8_t)(i * 7 + (uintptr_t)argument);
	for (uint64_t round = 0; monotonic_ns() < end_ns; round++) {
		if (end_file && !(round % 1024) && !access(end_file, F_OK))
			break;
		nr_rounds++;
		if (!round_is_good(in))
			nr_bad++;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	end_file = getenv("END_FILE");
	end_ns = monotonic_ns() + (argc > 1 ? strtoull(argv[1], NULL, 10) : 1000) * 1000000;
	pthread_create(&thread, NULL, loop, (void *)1);
	loop((void *)2);
	pthread_join(thread, NULL);
	printf("rounds %ld bad %ld\n", nr_rounds, nr_bad);
	return nr_bad != 0;
}
