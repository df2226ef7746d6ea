/*
 * A function that calls another one from a frame of `bytes` bytes (8 more than a multiple of 16),
 * in which the word at offset `zero` is 0. Its instructions, and so its addresses, are the same for
 * any size, but the unwind rules of one size are wrong for another. With `zero` equal to the other
 * version's `bytes`, the wrong rules take that word for the end of the stack.
 */
#ifndef SPROF_TESTS_FRAME_H
#define SPROF_TESTS_FRAME_H

/* clang-format off */
#define FRAME(name, bytes, zero)                                                                   \
	void name(void (*call)(void));                                                             \
	__asm__(".text\n"                                                                          \
		".globl " #name "\n"                                                               \
		".type " #name ", @function\n"                                                     \
		".p2align 4\n"                                                                     \
		#name ":\n"                                                                        \
		"	.cfi_startproc\n"                                                          \
		"	.byte 0x48, 0x81, 0xec\n" /* subq $bytes, %rsp */                          \
		"	.long " #bytes "\n"                                                        \
		"	.cfi_adjust_cfa_offset " #bytes "\n"                                       \
		"	movq $0, " #zero "(%rsp)\n"                                                \
		"	call *%rdi\n"                                                              \
		"	.byte 0x48, 0x81, 0xc4\n" /* addq $bytes, %rsp */                          \
		"	.long " #bytes "\n"                                                        \
		"	.cfi_adjust_cfa_offset -" #bytes "\n"                                      \
		"	ret\n"                                                                     \
		"	.cfi_endproc\n"                                                            \
		".size " #name ", . - " #name "\n")
/* clang-format on */

#endif
