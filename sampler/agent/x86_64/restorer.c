/*
 * Where a signal handler returns to: rt_sigreturn(2). Debuggers and unwinders know a signal
 * trampoline by exactly these bytes.
 */
__asm__(".text\n"
	".p2align 4\n"
	".hidden agent_restorer\n"
	".globl agent_restorer\n"
	".type agent_restorer, @function\n"
	"agent_restorer:\n"
	"	.byte 0x48, 0xc7, 0xc0, 0x0f, 0x00, 0x00, 0x00\n" /* mov $15 (rt_sigreturn), %rax */
	"	syscall\n"
	".size agent_restorer, .-agent_restorer\n");
