/*
 * Where libc starts a thread that pthread_create(3) made: the argument is a struct agent_start. It
 * jumps to the thread's own function, so no stack shows it.
 */
__asm__(".text\n"
	".hidden agent_thread_entry\n"
	".globl agent_thread_entry\n"
	".type agent_thread_entry, @function\n"
	"agent_thread_entry:\n"
	"	.cfi_startproc\n"
	"	sub $8, %rsp\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	call agent_begin_thread\n"
	"	mov %rdx, %rdi\n"
	"	add $8, %rsp\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	jmp *%rax\n"
	"	.cfi_endproc\n"
	".size agent_thread_entry, .-agent_thread_entry\n");
