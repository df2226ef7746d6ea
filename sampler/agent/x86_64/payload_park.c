/*
 * A way into the payload for a thread that was stopped in the middle of something: rdi is the
 * region, esi the commands, on any stack. It calls agent_enter() and then waits for ever in
 * ppoll(NULL, 0, {0, 100 ms}, NULL, 8). poll(2) and nanosleep(2) would leave their mark in the
 * thread's restart block; ppoll(2) does not.
 */
__asm__(".text\n"
	".hidden agent_payload_park\n"
	".globl agent_payload_park\n"
	".type agent_payload_park, @function\n"
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
	".size agent_payload_park, .-agent_payload_park\n");
