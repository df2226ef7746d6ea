/*
 * The beginning of the payload: struct agent_payload, with the offsets of the two ways in.
 * payload.lds places this section first.
 */
#include "sampler/agent/region.h"

/* The numbers are AGENT_PAYLOAD_MAGIC and REGION_VERSION. */
_Static_assert(AGENT_PAYLOAD_MAGIC == 0x31424f4c42525053 && REGION_VERSION == 8, "as below");
__asm__(".section .payload, \"ax\"\n"
	".hidden agent_payload_end, agent_payload_park\n"
	"header:\n"
	"	.quad 0x31424f4c42525053\n"
	"	.long agent_payload_end - header\n"
	"	.long 8\n"
	"	.long agent_enter - header\n"
	"	.long agent_payload_park - header\n"
	".text\n");
