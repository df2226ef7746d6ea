/* Two orders of the same registers: asm/perf_regs.h of the kernel, and ptrace's. */
#include "sampler/target/registers_x86_64.h"

#include <asm/perf_regs.h>
#include <sys/user.h>

int registers_of_perf(unsigned int number)
{
	/* One more than what is returned, 0 where there is none. */
	static const uint8_t places[PERF_REG_X86_64_MAX] = {
		[PERF_REG_X86_AX] = 1,
		[PERF_REG_X86_DX] = 2,
		[PERF_REG_X86_CX] = 3,
		[PERF_REG_X86_BX] = 4,
		[PERF_REG_X86_SI] = 5,
		[PERF_REG_X86_DI] = 6,
		[PERF_REG_X86_BP] = 7,
		[PERF_REG_X86_SP] = 8,
		[PERF_REG_X86_R8] = 9,
		[PERF_REG_X86_R9] = 10,
		[PERF_REG_X86_R10] = 11,
		[PERF_REG_X86_R11] = 12,
		[PERF_REG_X86_R12] = 13,
		[PERF_REG_X86_R13] = 14,
		[PERF_REG_X86_R14] = 15,
		[PERF_REG_X86_R15] = 16,
		[PERF_REG_X86_IP] = WALK_REG_RA + 1,
	};

	return number < sizeof(places) ? places[number] - 1 : -1;
}

struct walk_regs registers_of_ptrace(const struct user_regs_struct *r)
{
	return (struct walk_regs){
		.pc = r->rip,
		.sp = r->rsp,
		.fp = r->rbp,
		/* Inside a system call the pc is where it returns to. */
		.exact = (int64_t)r->orig_rax == -1,
		.leaf_regs = 1,
		.gpr = { r->rax, r->rdx, r->rcx, r->rbx, r->rsi, r->rdi, r->rbp, r->rsp, r->r8,
			 r->r9, r->r10, r->r11, r->r12, r->r13, r->r14, r->r15 },
	};
}
