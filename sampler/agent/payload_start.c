/*
 * What makes the in-target code a blob that can be put anywhere: a header at its start, the region
 * right behind it, and a way in for a thread that was stopped in the middle of something.
 */
#include "sampler/agent/agent.h"

/* The numbers are AGENT_PAYLOAD_MAGIC and REGION_VERSION. */
_Static_assert(AGENT_PAYLOAD_MAGIC == 0x31424f4c42525053 && REGION_VERSION == 4, "as below");
__asm__(".section .payload, \"ax\"\n"
	".hidden agent_payload_start, agent_payload_end\n"
	".globl agent_payload_start\n"
	"agent_payload_start:\n"
	"	.quad 0x31424f4c42525053\n"
	"	.long agent_payload_end - agent_payload_start\n"
	"	.long 4\n"
	"	.long agent_enter - agent_payload_start\n"
	"	.long agent_payload_park - agent_payload_start\n"
	/* rdi: the region, esi: commands; then in ppoll(NULL, 0, {0, 100 ms}, NULL, 8) for good. poll
	 * and nanosleep would leave their mark in the thread's restart block, ppoll does not. */
	"agent_payload_park:\n"
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

struct agent_region *agent_home(void)
{
	return (struct agent_region *)(agent_payload_start + REGION_CODE_SIZE);
}
