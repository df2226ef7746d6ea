/*
 * Linux takes the opcode of an instruction with a VEX or EVEX prefix for one of the plain map
 * (branch_setup_ops() in arch/x86/kernel/uprobes.c, seen in 6.18): it emulates vpbroadcastb, with
 * which memset() begins, as a conditional jump, and vpbroadcastd as a push. A probe there, in libc,
 * would break every program of the machine. REX2 and XOP are refused too, because what the kernel
 * does with them has not been tested.
 */
#include "sampler/probe_safety_x86_64.h"

#include <string.h>

bool probe_is_safe(const uint8_t *code, size_t nr)
{
	static const uint8_t prefixes[] = { 0x66, 0x67, 0xf2, 0xf3, 0x2e,
					    0x36, 0x3e, 0x26, 0x64, 0x65 };
	size_t i = 0;

	while (i < nr && memchr(prefixes, code[i], sizeof(prefixes)))
		i++;
	if (i < nr && (code[i] & 0xf0) == 0x40) /* REX */
		i++;
	/* EVEX, VEX (two forms), REX2 */
	return i + 1 < nr && !memchr("\x62\xc4\xc5\xd5", code[i], 4) &&
	       (code[i] != 0x8f || !(code[i + 1] & 0x38)); /* XOP shares its first byte with pop */
}
