/*
 * The calls in the order in which they are made: by inject.c and the stub, by hand_over.c, by the
 * payload (sampler/agent/), by detach.c; allocation hooks (sampler/alloc/) make some of these. A
 * call that the thread was stopped in may be resumed by restart_syscall(2).
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
	      (uint64_t)-1, 0 } },
	  { TRIAL_PAGE, TRIAL_SIZE },
	  CALL_ALWAYS },
	{ "madvise",
	  { SYS_madvise, ARG(2), { 0, 0, MADV_DONTFORK } },
	  { TRIAL_PAGE, TRIAL_SIZE },
	  CALL_ALWAYS },
	{ "madvise",
	  { SYS_madvise, ARG(2), { 0, 0, MADV_WIPEONFORK } },
	  { TRIAL_PAGE, TRIAL_SIZE },
	  CALL_ALWAYS },
	{ "ppoll",
	  { SYS_ppoll, ARG(0) | ARG(1) | ARG(3) | ARG(4), { 0 } },
	  { 0, 0, TRIAL_NO_TIME },
	  CALL_ALWAYS },
	{ "socketpair",
	  { SYS_socketpair, ARG(0) | ARG(1) | ARG(2), { AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0 } },
	  { 0, 0, 0, TRIAL_SOCKETS },
	  CALL_ALWAYS },
	{ "bind",
	  { SYS_bind, NONE, { 0 } },
	  { TRIAL_BOUND, TRIAL_ADDRESS, TRIAL_ADDRESS_SIZE },
	  CALL_BY_NAME },
	{ "connect",
	  { SYS_connect, NONE, { 0 } },
	  { TRIAL_CONNECTED, TRIAL_ADDRESS, TRIAL_ADDRESS_SIZE },
	  CALL_BY_NAME },
	{ "recvmsg",
	  { SYS_recvmsg, ARG(2), { 0, 0, MSG_CMSG_CLOEXEC | MSG_DONTWAIT } },
	  { TRIAL_SOCKET, TRIAL_MESSAGE },
	  CALL_ALWAYS },
	{ "mmap",
	  { SYS_mmap,
	    ARG(2) | ARG(3) | ARG(5),
	    { 0, 0, PROT_READ, MAP_SHARED | MAP_FIXED_NOREPLACE, 0, 0 } },
	  { TRIAL_FILE_PAGE, TRIAL_SIZE, 0, 0, TRIAL_FILE },
	  CALL_ALWAYS },
	{ "mprotect",
	  { SYS_mprotect, ARG(2), { 0, 0, PROT_READ | PROT_EXEC } },
	  { TRIAL_FILE_PAGE, TRIAL_SIZE },
	  CALL_ALWAYS },
	{ "mprotect",
	  { SYS_mprotect, ARG(2), { 0, 0, PROT_READ | PROT_WRITE } },
	  { TRIAL_FILE_PAGE, TRIAL_SIZE },
	  CALL_ALWAYS },
	{ "close", { SYS_close, NONE, { 0 } }, { TRIAL_FILE }, CALL_ALWAYS },
	{ "rt_sigaction",
	  { SYS_rt_sigaction, ARG(3), { 0, 0, 0, SIGNAL_SET_SIZE } },
	  { TRIAL_SIGNAL, 0, TRIAL_ROOM },
	  CALL_ALWAYS },
	{ "timer_create",
	  { SYS_timer_create, NONE, { 0 } },
	  { TRIAL_CLOCK, TRIAL_EVENT, TRIAL_TIMER_ROOM },
	  CALL_ALWAYS },
	{ "timer_settime",
	  { SYS_timer_settime, ARG(1) | ARG(3), { 0 } },
	  { TRIAL_TIMER, 0, TRIAL_SETTING },
	  CALL_ALWAYS },
	{ "timer_delete", { SYS_timer_delete, NONE, { 0 } }, { TRIAL_TIMER }, CALL_ALWAYS },
	{ "rt_sigreturn", { SYS_rt_sigreturn, NONE, { 0 } }, { 0 }, CALL_ALWAYS },
	{ "restart_syscall", { SYS_restart_syscall, NONE, { 0 } }, { 0 }, CALL_ALWAYS },
	/* clocks of the system and of threads */
	{ "clock_gettime",
	  { SYS_clock_gettime, NONE, { 0 } },
	  { TRIAL_CLOCK, TRIAL_ROOM },
	  CALL_ALWAYS },
	{ "getpid", { SYS_getpid, NONE, { 0 } }, { 0 }, CALL_ALWAYS },
	{ "gettid", { SYS_gettid, NONE, { 0 } }, { 0 }, CALL_ALWAYS },
	{ "process_vm_readv",
	  { SYS_process_vm_readv, ARG(2) | ARG(5), { 0, 0, 1, 0, 0, 0 } },
	  { TRIAL_SELF, TRIAL_VECTOR, 0, TRIAL_VECTOR, TRIAL_ZERO },
	  CALL_OPTIONAL },
	{ "rt_sigprocmask",
	  { SYS_rt_sigprocmask, ARG(2) | ARG(3), { 0, 0, 0, SIGNAL_SET_SIZE } },
	  { 0 },
	  CALL_ALWAYS },
	{ "arch_prctl",
	  { SYS_arch_prctl, ARG(0), { ARCH_GET_FS } },
	  { 0, TRIAL_ROOM },
	  CALL_ALWAYS },
	{ "kill", { SYS_kill, NONE, { 0 } }, { TRIAL_SELF, TRIAL_ZERO }, CALL_ALWAYS },
	{ "munmap", { SYS_munmap, NONE, { 0 } }, { TRIAL_PAGE, TRIAL_SIZE }, CALL_ALWAYS },
};

const size_t inject_nr_known_calls = sizeof(inject_known_calls) / sizeof(*inject_known_calls);
