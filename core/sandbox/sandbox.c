/*
 * The starter has no rights either; it forks on request and reads nothing that a target wrote. A
 * request names the job by its address, which is the same in the starter, because that was forked
 * from sprof. Without seccomp filters in the kernel, children still have no capabilities, no
 * descriptors and limits of time and memory.
 */
#include "core/sandbox/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/rights/privileges.h"
#include "core/rights/seccomp.h"
#include "core/sandbox/message.h"

#define SOCKET 3 /* of the starter, and of each child */
#define NR_FILES_MAX 256

#ifdef __SANITIZE_ADDRESS__
#define SANITIZED 1 /* the sanitizer needs stderr, its shadow memory and its system calls */
#else
#define SANITIZED 0
#endif

struct sandbox {
	int socket; /* to the starter */
	pid_t starter;
	uint64_t memory_max; /* the most for a child; 0: what its caller asks for */
};

/* A request to the starter. The child's end of its socket comes with it. */
struct order {
	sandbox_job *job;
	struct sandbox_limits limits;
};

/* No call takes a path (newfstatat: see refuse_arguments()), a process or a network address. */
static const int calls_of_children[] = {
	SYS_read,
	SYS_pread64,
	SYS_write,
	SYS_lseek,
	SYS_close,
	SYS_fstat,
	SYS_newfstatat,
	SYS_sendmsg,
	SYS_recvmsg,
	SYS_ppoll,
	SYS_mmap,
	SYS_munmap,
	SYS_mremap,
	SYS_mprotect,
	SYS_madvise,
	SYS_brk,
	SYS_clone,
	SYS_futex,
	SYS_set_robust_list,
	SYS_rseq,
	SYS_sched_yield,
	SYS_sched_getaffinity,
	SYS_gettid,
	SYS_rt_sigprocmask,
	SYS_rt_sigreturn,
	SYS_sysinfo,
	SYS_getrandom,
	SYS_clock_gettime,
	SYS_restart_syscall,
	SYS_exit,
	SYS_exit_group,
#ifdef __x86_64__
	SYS_poll,
#endif
};

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define IF_CALL(number, skip) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (number), 0, (skip))
#define IF_BITS(bits, yes, no) BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, (bits), (yes), (no))
#define REFUSE BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM)
#define ALLOW BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

/*
 * Refuses executable memory, and newfstatat other than what glibc makes of fstat. Flags lie in the
 * low half of an argument. The list of allowed calls comes on top of this filter; it checks the
 * architecture, and that clone starts a thread.
 */
static int refuse_arguments(void)
{
	static const struct sock_filter code[] = {
		LOAD(nr),
		IF_CALL(SYS_mmap, 1),
		BPF_STMT(BPF_JMP | BPF_JA, 1),
		IF_CALL(SYS_mprotect, 4),
		LOAD(args[2]),
		IF_BITS(PROT_EXEC, 0, 1),
		REFUSE,
		ALLOW,
		IF_CALL(SYS_newfstatat, 3),
		LOAD(args[3]),
		IF_BITS(AT_EMPTY_PATH, 1, 0),
		REFUSE,
		ALLOW,
	};
	const struct sock_fprog program = {
		.len = sizeof(code) / sizeof(code[0]),
		.filter = (struct sock_filter *)code,
	};

	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) ? -errno : 0;
}

static void limit(int resource, uint64_t value)
{
	const struct rlimit r = { value, value };

	setrlimit((__rlimit_resource_t)resource, &r);
}

static void set_limits(const struct sandbox_limits *limits)
{
	limit(RLIMIT_CORE, 0);
	limit(RLIMIT_NOFILE, NR_FILES_MAX);
	limit(RLIMIT_FSIZE, limits->file_bytes);
	limit(RLIMIT_CPU, limits->cpu_s);
	if (!SANITIZED)
		limit(RLIMIT_DATA, limits->memory_bytes);
}

/* Leaves `socket` as SOCKET and nothing else open, except that 0 to 2 lead nowhere. */
static void keep_only(int socket)
{
	int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int fd = 0; fd < SOCKET; fd++)
		if (nowhere < 0 || (!(SANITIZED && fd == 2) && dup2(nowhere, fd) < 0))
			_exit(1);
	if (socket != SOCKET && dup2(socket, SOCKET) < 0)
		_exit(1);
	if (syscall(SYS_close_range, SOCKET + 1, ~0u, 0))
		for (int fd = SOCKET + 1, end = (int)sysconf(_SC_OPEN_MAX); fd < end; fd++)
			close(fd);
}

static void __attribute__((noreturn))
run_child(int socket, const struct order *order, pid_t starter)
{
	int err;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != starter)
		_exit(1);
	if (dup2(socket, SOCKET) < 0)
		_exit(1);
	close(socket);
	set_limits(&order->limits);
	err = SANITIZED ? 0 : refuse_arguments();
	if (!err && !SANITIZED)
		err = seccomp_allow(calls_of_children,
				    sizeof(calls_of_children) / sizeof(calls_of_children[0]));
	if (err && err != -EINVAL && err != -ENOSYS)
		_exit(1);
	order->job(SOCKET);
	_exit(0);
}

/* Waits for children, so that their CPU time counts as the starter's. */
static void reap(int signal)
{
	int err = errno;

	(void)signal;
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
	errno = err;
}

/* A session of its own keeps signals of the terminal, which are for sprof, from the starter. */
static void __attribute__((noreturn)) serve(int socket, pid_t recorder)
{
	pid_t own = getpid();

	keep_only(socket);
	setsid();
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != recorder)
		_exit(1);
	prctl(PR_SET_NAME, "sprof-parser");
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	prctl(PR_SET_DUMPABLE, 0);
	privileges_drop();
	sigaction(SIGCHLD, &(struct sigaction){ .sa_handler = reap, .sa_flags = SA_RESTART }, NULL);
	signal(SIGXFSZ, SIG_IGN); /* a write beyond the limit fails with EFBIG instead */
	for (;;) {
		struct order order;
		int fd;

		if (message_receive(SOCKET, &order, sizeof(order), &fd, 1) != sizeof(order) ||
		    fd < 0)
			_exit(0); /* the recorder has ended */
		if (!fork())
			run_child(fd, &order, own);
		close(fd);
	}
}

uint64_t sandbox_memory(uint64_t part, uint64_t min)
{
	uint64_t memory = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);

	return memory / part > min ? memory / part : min;
}

int sandbox_new(struct sandbox **ret_sandbox)
{
	struct sandbox *s = xcalloc(1, sizeof(*s));
	pid_t own = getpid();
	int sockets[2], err;

	err = message_pair(sockets);
	if (err) {
		free(s);
		return err;
	}
	s->socket = sockets[0];
	s->starter = fork();
	if (!s->starter)
		serve(sockets[1], own);
	err = -errno;
	close(sockets[1]);
	if (s->starter < 0) {
		close(s->socket);
		free(s);
		return err;
	}
	*ret_sandbox = s;
	return 0;
}

void sandbox_free(struct sandbox *s)
{
	if (!s)
		return;
	close(s->socket);
	while (waitpid(s->starter, NULL, 0) < 0 && errno == EINTR)
		;
	free(s);
}

void sandbox_set_memory(struct sandbox *s, uint64_t bytes)
{
	s->memory_max = bytes;
}

uint64_t sandbox_memory_max(const struct sandbox *s)
{
	return s ? s->memory_max : 0;
}

static void keep_memory(const struct sandbox *s, struct sandbox_limits *limits)
{
	if (s->memory_max && limits->memory_bytes > s->memory_max)
		limits->memory_bytes = s->memory_max;
	if (s->memory_max && limits->file_bytes > s->memory_max / 2)
		limits->file_bytes = s->memory_max / 2;
}

int sandbox_start(const struct sandbox *s, sandbox_job *job, const struct sandbox_limits *limits)
{
	struct order order = { .job = job, .limits = *limits };
	int sockets[2], err;

	keep_memory(s, &order.limits);
	err = message_pair(sockets);
	if (err)
		return err;
	err = message_send(s->socket, &order, sizeof(order), &sockets[1], 1);
	close(sockets[1]);
	if (!err)
		return sockets[0];
	close(sockets[0]);
	return err;
}

const char *sandbox_failure(int err)
{
	switch (err) {
	case -ECHILD: return "the process that reads it died";
	case -ETIMEDOUT: return "reading it takes too long";
	case -EBADMSG: return "what was read from it makes no sense";
	case -ENOMEM: return "reading it takes too much memory";
	default: return NULL;
	}
}
