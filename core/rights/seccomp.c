/*
 * The filter is a plain list of comparisons. Since Linux 5.11 the kernel remembers which calls are
 * always allowed, so the length of the list hardly matters.
 */
#include "core/rights/seccomp.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#if defined(__x86_64__)
#define OWN_ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OWN_ARCHITECTURE AUDIT_ARCH_AARCH64
#else
#define OWN_ARCHITECTURE 0
#endif

#define MAX_ALLOWED 200 /* a jump in a filter reaches 255 instructions */
#define MAX_INSTRUCTIONS (MAX_ALLOWED + 24)
#define X32_BIT 0x40000000u /* set in calls of x32, whose architecture value is x86-64's */

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

struct filter_program {
	struct sock_filter code[MAX_INSTRUCTIONS];
	unsigned short nr;
};

static void add(struct filter_program *p, struct sock_filter instruction)
{
	if (p->nr == MAX_INSTRUCTIONS)
		abort();
	p->code[p->nr++] = instruction;
}

static void load(struct filter_program *p, size_t offset)
{
	add(p, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset));
}

static void answer(struct filter_program *p, uint32_t action)
{
	add(p, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action));
}

static struct sock_filter jump(uint16_t comparison, uint32_t value, uint8_t if_true,
			       uint8_t if_false)
{
	return (struct sock_filter)BPF_JUMP(BPF_JMP | comparison | BPF_K, value, if_true, if_false);
}

/* The offset of an argument's low half, which comes first on every architecture known here. */
static size_t argument(int index)
{
	return offsetof(struct seccomp_data, args) + (size_t)index * sizeof(uint64_t);
}

/* Allows to start threads, but no process: in a new namespace it would have rights again. */
static void allow_threads(struct filter_program *p)
{
	add(p, jump(BPF_JEQ, SYS_clone, 0, 4));
	load(p, argument(0));
	add(p, jump(BPF_JSET, CLONE_THREAD, 0, 1));
	answer(p, SECCOMP_RET_ALLOW);
	answer(p, SECCOMP_RET_ERRNO | EPERM);
}

/* Allows to ask for a terminal's properties. Other requests could type into it. */
static void allow_terminal(struct filter_program *p)
{
	add(p, jump(BPF_JEQ, SYS_ioctl, 0, 5));
	load(p, argument(1));
	add(p, jump(BPF_JEQ, TCGETS, 1, 0));
	add(p, jump(BPF_JEQ, TIOCGWINSZ, 0, 1));
	answer(p, SECCOMP_RET_ALLOW);
	answer(p, SECCOMP_RET_ERRNO | ENOTTY);
}

static void build(struct filter_program *p, const int *allowed, size_t nr)
{
	load(p, offsetof(struct seccomp_data, arch));
	add(p, jump(BPF_JEQ, OWN_ARCHITECTURE, 1, 0));
	answer(p, SECCOMP_RET_KILL_PROCESS);
	load(p, offsetof(struct seccomp_data, nr));
	add(p, jump(BPF_JGE, X32_BIT, 0, 1));
	answer(p, SECCOMP_RET_KILL_PROCESS);
	for (size_t i = 0; i < nr; i++) {
		if (allowed[i] == SYS_clone)
			allow_threads(p);
		if (allowed[i] == SYS_ioctl)
			allow_terminal(p);
	}
	/* An allowed call jumps over those that follow it, and over the refusal. */
	for (size_t i = 0; i < nr; i++)
		add(p, jump(BPF_JEQ, (uint32_t)allowed[i], (uint8_t)(nr - i), 0));
	answer(p, SECCOMP_RET_ERRNO | ENOSYS);
	answer(p, SECCOMP_RET_ALLOW);
}

int seccomp_allow(const int *allowed, size_t nr_allowed)
{
	struct filter_program p = { .nr = 0 };
	struct sock_fprog program;

	if (!OWN_ARCHITECTURE)
		return -ENOSYS;
	if (nr_allowed > MAX_ALLOWED)
		return -EINVAL;
	build(&p, allowed, nr_allowed);
	program = (struct sock_fprog){ p.nr, p.code };
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -errno;
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		return errno == EINVAL ? -ENOSYS : -errno;
	return 0;
}

/* Calls that only some architectures have are at the end, with conditions. */
static const int reading[] = {
	/* files */
	SYS_read,
	SYS_pread64,
	SYS_readv,
	SYS_write,
	SYS_pwrite64,
	SYS_writev,
	SYS_openat,
	SYS_openat2,
	SYS_close,
	SYS_lseek,
	SYS_fstat,
	SYS_newfstatat,
	SYS_statx,
	SYS_statfs,
	SYS_fstatfs,
	SYS_faccessat,
	SYS_faccessat2,
	SYS_readlinkat,
	SYS_getcwd,
	SYS_getdents64,
	SYS_fcntl,
	SYS_ioctl,
	SYS_dup,
	SYS_dup3,
	SYS_pipe2,
	SYS_ftruncate,
	SYS_fallocate,
	SYS_fadvise64,
	SYS_fsync,
	SYS_fdatasync,
	SYS_unlinkat,
	SYS_renameat,
	SYS_mkdirat, /* for an export to a folder */
	SYS_renameat2,
	SYS_copy_file_range,
	SYS_umask,
	/* waiting */
	SYS_ppoll,
	SYS_pselect6,
	SYS_nanosleep,
	SYS_clock_nanosleep,
	/* memory */
	SYS_mmap,
	SYS_munmap,
	SYS_mremap,
	SYS_mprotect,
	SYS_madvise,
	SYS_brk,
	SYS_memfd_create,
	SYS_membarrier,
	/* threads and signals */
	SYS_clone,
	SYS_futex,
	SYS_set_robust_list,
	SYS_get_robust_list,
	SYS_set_tid_address,
	SYS_rseq,
	SYS_sched_yield,
	SYS_sched_getaffinity,
	SYS_rt_sigaction,
	SYS_rt_sigprocmask,
	SYS_rt_sigreturn,
	SYS_sigaltstack,
	SYS_restart_syscall,
	SYS_tgkill,
	SYS_gettid,
	SYS_exit,
	SYS_exit_group,
	/* questions about the process itself */
	SYS_getpid,
	SYS_getppid,
	SYS_getuid,
	SYS_geteuid,
	SYS_getgid,
	SYS_getegid,
	SYS_capget,
	SYS_prctl,
	SYS_prlimit64,
	SYS_getrusage,
	SYS_sysinfo,
	SYS_uname,
	SYS_getrandom,
	SYS_clock_gettime,
	SYS_clock_getres,
	SYS_gettimeofday,
#ifdef __x86_64__
	/* older calls, which glibc uses where they exist */
	SYS_open,
	SYS_stat,
	SYS_lstat,
	SYS_access,
	SYS_readlink,
	SYS_dup2,
	SYS_pipe,
	SYS_unlink,
	SYS_rename,
	SYS_mkdir,
	SYS_poll,
	SYS_select,
	SYS_getrlimit,
	SYS_time,
	SYS_arch_prctl,
#endif
};

int seccomp_allow_reading(void)
{
#ifdef __SANITIZE_ADDRESS__
	return 0; /* the leak checker starts a process that traces this one */
#endif
	return seccomp_allow(reading, ARRAY_SIZE(reading));
}
