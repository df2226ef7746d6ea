/*
 * Sequences of instructions that are searched for in the code of a process, because its threads
 * have to run them before any code of ours is there. libc has all of them; a program that handles
 * no signals may lack the restorer, and then pop_rax and a system call do its work.
 */
#ifndef SPROF_CODE_SEQUENCES_H
#define SPROF_CODE_SEQUENCES_H

#include <stdint.h>

enum inject_sequence_id {
	INJECT_SYSCALL_RETURN, /* syscall; ret */
	INJECT_RESTORER,       /* mov $15, %rax; syscall: rt_sigreturn(2) */
	INJECT_POP_RAX,	       /* pop %rax; ret */
	INJECT_NR_SEQUENCES
};

#define INJECT_MAX_SEQUENCE 9u

struct inject_sequence {
	uint8_t size; /* bytes */
	uint8_t code[INJECT_MAX_SEQUENCE];
};

extern const struct inject_sequence inject_sequences[INJECT_NR_SEQUENCES];

#endif
