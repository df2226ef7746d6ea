/*
 * contained COMMAND...: runs a command with the rights that container engines give by default.
 *
 * The command is the first process of a PID namespace, with a /proc of its own. It keeps root's
 * user id and the engines' default capabilities, and a seccomp filter refuses the system calls that
 * their default profile refuses to a process without CAP_SYS_ADMIN: perf_event_open, bpf, unshare,
 * mount and the like. Everything that the command starts inherits both. An ordinary user gets the
 * filter only, and no namespace. `make test` must pass below it: tests say which right they lack
 * and skip.
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

static const int kept_capabilities[] = {
	CAP_CHOWN,   CAP_DAC_OVERRIDE, CAP_FSETID,	     CAP_FOWNER,
	CAP_MKNOD,   CAP_NET_RAW,      CAP_SETGID,	     CAP_SETUID,
	CAP_SETFCAP, CAP_SETPCAP,      CAP_NET_BIND_SERVICE, CAP_SYS_CHROOT,
	CAP_KILL,    CAP_AUDIT_WRITE,
};

/* System calls refused with EPERM. The engines' list of what is allowed has none of them. */
static const uint32_t refused_calls[] = {
	SYS_bpf,
	SYS_perf_event_open,
	SYS_process_vm_readv, /* these three by Docker before 23.0 */
	SYS_process_vm_writev,
	SYS_name_to_handle_at,
	SYS_unshare,
	SYS_setns,
	SYS_mount,
	SYS_umount2,
	SYS_pivot_root,
	SYS_move_mount,
	SYS_open_tree,
	SYS_fsopen,
	SYS_fsconfig,
	SYS_fsmount,
	SYS_fspick,
	SYS_mount_setattr,
	SYS_quotactl,
	SYS_fanotify_init,
	SYS_lookup_dcookie,
	SYS_sethostname,
	SYS_setdomainname,
	SYS_syslog,
	SYS_keyctl,
	SYS_add_key,
	SYS_request_key,
	SYS_userfaultfd,
	SYS_init_module,
	SYS_finit_module,
	SYS_delete_module,
	SYS_kexec_load,
	SYS_kexec_file_load,
	SYS_reboot,
	SYS_swapon,
	SYS_swapoff,
	SYS_settimeofday,
	SYS_clock_settime,
	SYS_clock_adjtime,
	SYS_acct,
	SYS_vhangup,
	SYS_open_by_handle_at,
	SYS_name_to_handle_at,
	SYS_io_uring_setup,
	SYS_io_uring_enter,
	SYS_io_uring_register,
	SYS_kcmp,
	SYS_pidfd_getfd,
	SYS_process_madvise,
	SYS_get_mempolicy,
	SYS_set_mempolicy,
	SYS_mbind,
	SYS_move_pages,
	SYS_migrate_pages,
	SYS_ioperm,
	SYS_iopl,
};

#define CLONE_NEW_ANY                                                                              \
	(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER |             \
	 CLONE_NEWPID | CLONE_NEWNET)

/* Personalities that the profile allows; setarch -R (ADDR_NO_RANDOMIZE) is not one of them. */
static const uint32_t personalities[] = { PER_LINUX, PER_LINUX32, UNAME26, UNAME26 | PER_LINUX32,
					  0xffffffff };

#define MAX_INSTRUCTIONS 256

struct program {
	struct sock_filter code[MAX_INSTRUCTIONS];
	unsigned short nr;
};

static void add(struct program *p, struct sock_filter instruction)
{
	if (p->nr == MAX_INSTRUCTIONS)
		abort();
	p->code[p->nr++] = instruction;
}

static void load(struct program *p, size_t offset)
{
	add(p, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset));
}

static void answer(struct program *p, uint32_t action)
{
	add(p, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action));
}

/* Skips `skipped` instructions unless the loaded word is `value`. */
static void unless_equal(struct program *p, uint32_t value, uint8_t skipped)
{
	add(p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, skipped));
}

static const uint32_t eperm = SECCOMP_RET_ERRNO | EPERM;

static void build(struct program *p)
{
	size_t number = offsetof(struct seccomp_data, nr),
	       argument = offsetof(struct seccomp_data, args[0]);

	load(p, number);
	for (size_t i = 0; i < ARRAY_SIZE(refused_calls); i++) {
		unless_equal(p, refused_calls[i], 1);
		answer(p, eperm);
	}
	/*
	 * The flags of clone3 are in memory, which no filter can read. ENOSYS makes libc fall back
	 * to clone.
	 */
	unless_equal(p, SYS_clone3, 1);
	answer(p, SECCOMP_RET_ERRNO | ENOSYS);
	unless_equal(p, SYS_clone, 4);
	load(p, argument);
	add(p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_NEW_ANY, 0, 1));
	answer(p, eperm);
	answer(p, SECCOMP_RET_ALLOW);
	unless_equal(p, SYS_personality, 2 + 2 * ARRAY_SIZE(personalities));
	load(p, argument);
	for (size_t i = 0; i < ARRAY_SIZE(personalities); i++) {
		unless_equal(p, personalities[i], 1);
		answer(p, SECCOMP_RET_ALLOW);
	}
	answer(p, eperm);
	answer(p, SECCOMP_RET_ALLOW);
}

static int filter_calls(void)
{
	struct program p = { .nr = 0 };
	struct sock_fprog filter;

	build(&p);
	filter = (struct sock_fprog){ p.nr, p.code };
	/*
	 * An ordinary user may install the filter only with no_new_privs; root does it without,
	 * like the engines.
	 */
	if (geteuid() && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -errno;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) ? -errno : 0;
}

static int drop_capabilities(void)
{
	struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct data[2] = { { 0 } };
	uint64_t kept = 0;

	for (size_t i = 0; i < ARRAY_SIZE(kept_capabilities); i++)
		kept |= 1ull << kept_capabilities[i];
	for (int i = 0; prctl(PR_CAPBSET_READ, i, 0, 0, 0) >= 0; i++)
		if (!(kept & 1ull << i) && prctl(PR_CAPBSET_DROP, i, 0, 0, 0))
			return -errno;
	for (int i = 0; i < 2; i++)
		data[i].effective = data[i].permitted = (uint32_t)(kept >> 32 * i);
	return syscall(SYS_capset, &header, data) ? -errno : 0;
}

static int fail(const char *what)
{
	fprintf(stderr, "contained: cannot %s: %s\n", what, strerror(errno));
	return 125;
}

/* Gives up the rights and runs the command. Returns an exit status if that fails. */
static int run(char **command)
{
	errno = -filter_calls();
	if (!errno && !geteuid())
		errno = -drop_capabilities();
	if (errno)
		return fail("give up rights");
	execvp(command[0], command);
	fprintf(stderr, "contained: cannot run '%s': %s\n", command[0], strerror(errno));
	return 127;
}

/* The first process of the namespace. It ends with the process that made the namespace. */
static int run_first(char **command)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL))
		return fail("mount the /proc of the container");
	return run(command);
}

static int exit_status(pid_t child)
{
	int status;

	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return fail("wait for the command");
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

int main(int argc, char **argv)
{
	pid_t child;

	if (argc < 2) {
		fprintf(stderr, "usage: contained COMMAND [ARGUMENT]...\n");
		return 2;
	}
	if (geteuid())
		return run(argv + 1);
	if (unshare(CLONE_NEWPID | CLONE_NEWNS))
		return fail("make the namespaces of a container");
	child = fork();
	if (child < 0)
		return fail("start the first process");
	if (!child)
		_exit(run_first(argv + 1));
	return exit_status(child);
}
