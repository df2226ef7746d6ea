/*
 * The bytes of each sequence. Any place in the code will do, also in the middle of an instruction.
 */
#include "sampler/inject/x86_64/code_sequences.h"

const struct inject_sequence inject_sequences[INJECT_NR_SEQUENCES] = {
	[INJECT_SYSCALL_RETURN] = { 3, { 0x0f, 0x05, 0xc3 } },
	[INJECT_RESTORER] = { 9, { 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05 } },
	[INJECT_POP_RAX] = { 2, { 0x58, 0xc3 } },
};
