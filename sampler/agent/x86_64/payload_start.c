/*
 * The beginning of the payload: struct agent_payload, and a way in for a thread that was stopped in
 * the middle of something. payload.lds places this section first.
 */
#include "sampler/agent/agent.h"

/* The numbers are AGENT_PAYLOAD_MAGIC and REGION_VERSION. */
_Static_assert(AGENT_PAYLOAD_MAGIC == 0x31424f4c42525053 && REGION_VERSION == 4, "as below");
__asm__(".section .payload, \"ax\"\n"
	".hidden agent_payload_end\n"
	"header:\n"
	"	.quad 0x31424f4c42525053\n"
	"	.long agent_payload_end - header\n"
	"	.long 4\n"
	"	.long agent_enter - header\n"
	"	.long park - header\n"
	/*
	 * rdi: the region, esi: commands. Then the thread waits for ever in ppoll(NULL, 0, {0, 100
	 * ms}, NULL, 8). poll(2) and nanosleep(2) would leave their mark in the thread's restart
	 * block; ppoll(2) does not.
	 */
	"park:\n"
	"	and $-16, %rsp\n"
	"	call agent_enter\n"
	"1:	sub $32, %rsp\n"
	"	movq $0, (%rsp)\n"
	"	movq $100000000, 8(%rsp)\n"
	"	xor %edi, %edi\n"
	"	xor %esi, %esi\n"
	"	mov %rsp, %rdx\n"
	"	xor %r10d, %r10d\n"
	"	mov $8, %r8d\n"
	"	mov $271, %eax\n"
	"	syscall\n"
	"	add $32, %rsp\n"
	"	jmp 1b\n"
	".text\n");
