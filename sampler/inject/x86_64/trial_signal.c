/*
 * Where rt_sigreturn(2) fails, the restorer of the C library runs on into whatever code follows;
 * ours ends the process.
 */
#include "sampler/inject/x86_64/trial_signal.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#define KERNEL_SA_RESTORER 0x04000000u
#define SIGNAL_SET_SIZE 8

/* As rt_sigaction(2) takes it. */
struct kernel_action {
	void (*handler)(int);
	uint64_t flags;
	void (*restorer)(void);
	uint64_t mask;
};

void inject_trial_restorer(void);

__asm__(".pushsection .text\n"
	".globl inject_trial_restorer\n"
	".hidden inject_trial_restorer\n"
	".type inject_trial_restorer, @function\n"
	"inject_trial_restorer:\n"
	"	movl	$15, %eax\n"
	"	syscall\n"
	"	ud2\n"
	".size inject_trial_restorer, .-inject_trial_restorer\n"
	".popsection\n");

static void on_signal(int signal)
{
	(void)signal;
}

int inject_trial_signal(pid_t self, int signal)
{
	const struct kernel_action action = {
		.handler = on_signal,
		.flags = KERNEL_SA_RESTORER,
		.restorer = inject_trial_restorer,
	};
	const uint64_t set = 1ull << (signal - 1);

	if (syscall(SYS_rt_sigaction, signal, &action, NULL, SIGNAL_SET_SIZE) ||
	    syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &set, NULL, SIGNAL_SET_SIZE))
		return -errno;
	/* Unlike kill(2), tgkill(2) takes no wrong number for "all processes". */
	return syscall(SYS_tgkill, self, self, signal) ? -errno : 0;
}
