/*
 * The calls in the order in which they are made: by inject.c and the stub, by hand_over.c, by the
 * payload (sampler/agent/), by detach.c. A call that the thread was stopped in may be resumed by
 * restart_syscall(2).
 */
#include "sampler/inject/x86_64/seccomp_calls.h"

#include <asm/prctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#define SIGNAL_SET_SIZE 8
#define NONE 0
#define ARG(n) (1u << (n))

const struct inject_known_call inject_known_calls[] = {
	{ "mmap",
	  { SYS_mmap,
	    ARG(2) | ARG(3) | ARG(4) | ARG(5),
	    { 0, 0, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE,
	      (uint64_t)-1, 0 } } },
	{ "madvise", { SYS_madvise, ARG(2), { 0, 0, MADV_DONTFORK } } },
	{ "ppoll", { SYS_ppoll, ARG(0) | ARG(1) | ARG(3) | ARG(4), { 0 } } },
	{ "socketpair",
	  { SYS_socketpair, ARG(0) | ARG(1) | ARG(2), { AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0 } } },
	{ "recvmsg", { SYS_recvmsg, ARG(2), { 0, 0, MSG_CMSG_CLOEXEC | MSG_DONTWAIT } } },
	{ "mmap",
	  { SYS_mmap,
	    ARG(2) | ARG(3) | ARG(5),
	    { 0, 0, PROT_READ, MAP_SHARED | MAP_FIXED_NOREPLACE, 0, 0 } } },
	{ "mprotect", { SYS_mprotect, ARG(2), { 0, 0, PROT_READ | PROT_EXEC } } },
	{ "mprotect", { SYS_mprotect, ARG(2), { 0, 0, PROT_READ | PROT_WRITE } } },
	{ "close", { SYS_close, NONE, { 0 } } },
	{ "rt_sigaction", { SYS_rt_sigaction, ARG(3), { 0, 0, 0, SIGNAL_SET_SIZE } } },
	{ "timer_create", { SYS_timer_create, NONE, { 0 } } },
	{ "timer_settime", { SYS_timer_settime, ARG(1) | ARG(3), { 0 } } },
	{ "timer_delete", { SYS_timer_delete, NONE, { 0 } } },
	{ "rt_sigreturn", { SYS_rt_sigreturn, NONE, { 0 } } },
	{ "restart_syscall", { SYS_restart_syscall, NONE, { 0 } } },
	/* clocks of the system and of threads */
	{ "clock_gettime", { SYS_clock_gettime, NONE, { 0 } } },
	{ "getpid", { SYS_getpid, NONE, { 0 } } },
	{ "gettid", { SYS_gettid, NONE, { 0 } } },
	{ "process_vm_readv", { SYS_process_vm_readv, ARG(2) | ARG(5), { 0, 0, 1, 0, 0, 0 } } },
	{ "rt_sigprocmask", { SYS_rt_sigprocmask, ARG(2) | ARG(3), { 0, 0, 0, SIGNAL_SET_SIZE } } },
	{ "arch_prctl", { SYS_arch_prctl, ARG(0), { ARCH_GET_FS } } },
	{ "kill", { SYS_kill, NONE, { 0 } } },
	{ "munmap", { SYS_munmap, NONE, { 0 } } },
};

const size_t inject_nr_known_calls = sizeof(inject_known_calls) / sizeof(*inject_known_calls);
