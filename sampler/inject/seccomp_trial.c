/*
 * The child makes the calls of x86_64/seccomp_calls.h in their order, with the arguments that are
 * known beforehand; for the others it has objects of its own. It says in shared memory which call
 * it is at. It is forked from a process with threads, so it calls nothing that takes a lock.
 */
#include "sampler/inject/seccomp_trial.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/untrusted/shared_memory.h"
#include "sampler/inject/reason.h"
#include "sampler/inject/x86_64/seccomp_calls.h"
#include "sampler/inject/x86_64/trial_signal.h"

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd 438
#endif

#define PAGE 4096u
#define LIMIT_NS (2000ull * 1000 * 1000)
#define NAP_NS 200000
#define REMEDY "run sprof as root outside the container"
#define PREPARING UINT32_MAX

/* What the child says; shared with it. */
struct told {
	/* The call that it makes, inject_nr_known_calls when all were made, or PREPARING. */
	uint32_t at;
	int32_t err;
};

/* What the calls are given. */
struct trial {
	uint64_t values[NR_TRIAL_VALUES];
	int sockets[2], bound, connected;
	struct sockaddr_un address;
	struct msghdr message;
	struct iovec part, vector;
	uint64_t control[8], room[16];
	struct sigevent event;
	struct itimerspec setting;
	struct timespec no_time;
	int timer; /* as the kernel numbers it */
	char byte, bytes[16];
};

/* ---- in the child */

static uint64_t address_of(const void *object)
{
	return (uint64_t)(uintptr_t)object;
}

static int prepare(struct trial *t)
{
	char *pages = mmap(NULL, 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int file = (int)syscall(SYS_memfd_create, "sprof-trial", MFD_CLOEXEC);
	uint64_t *v = t->values;
	pid_t self = getpid();

	if (self <= 0) /* a filter denies it: kill(-1) would mean all processes */
		return -EPERM;
	t->bound = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	t->connected = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (pages == MAP_FAILED || munmap(pages, 2 * PAGE) || file < 0 || ftruncate(file, PAGE) ||
	    t->bound < 0 || t->connected < 0)
		return -errno;
	t->address.sun_family = AF_UNIX; /* nothing more: the kernel chooses a name */
	t->part = (struct iovec){ &t->byte, 1 };
	t->vector = (struct iovec){ t->bytes, sizeof(t->bytes) };
	t->event.sigev_notify = SIGEV_NONE;
	v[TRIAL_SIZE] = PAGE;
	v[TRIAL_PAGE] = address_of(pages);
	v[TRIAL_FILE_PAGE] = address_of(pages + PAGE);
	v[TRIAL_FILE] = (uint64_t)file;
	v[TRIAL_NO_TIME] = address_of(&t->no_time);
	v[TRIAL_SOCKETS] = address_of(t->sockets);
	v[TRIAL_MESSAGE] = address_of(&t->message);
	v[TRIAL_BOUND] = (uint64_t)t->bound;
	v[TRIAL_CONNECTED] = (uint64_t)t->connected;
	v[TRIAL_ADDRESS] = address_of(&t->address);
	v[TRIAL_ADDRESS_SIZE] = sizeof(t->address.sun_family);
	v[TRIAL_SIGNAL] = SIGUSR1;
	v[TRIAL_CLOCK] = CLOCK_THREAD_CPUTIME_ID;
	v[TRIAL_EVENT] = address_of(&t->event);
	v[TRIAL_TIMER_ROOM] = address_of(&t->timer);
	v[TRIAL_SETTING] = address_of(&t->setting);
	v[TRIAL_ROOM] = address_of(t->room);
	v[TRIAL_SELF] = (uint64_t)self;
	v[TRIAL_VECTOR] = address_of(&t->vector);
	return 0;
}

/* Sends the file to the first of the two sockets, as hand_over.c does. */
static int send_file(struct trial *t)
{
	int file = (int)t->values[TRIAL_FILE];
	struct cmsghdr *head = (struct cmsghdr *)t->control;
	struct msghdr m = {
		.msg_iov = &t->part,
		.msg_iovlen = 1,
		.msg_control = t->control,
		.msg_controllen = CMSG_SPACE(sizeof(file)),
	};

	*head = (struct cmsghdr){ CMSG_LEN(sizeof(file)), SOL_SOCKET, SCM_RIGHTS };
	memcpy(CMSG_DATA(head), &file, sizeof(file));
	if (sendmsg(t->sockets[1], &m, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		return -errno;
	t->message = m;
	return 0;
}

/* What a call needs of those before it. */
static int follow_up(struct trial *t, uint32_t number)
{
	socklen_t size = sizeof(t->address);
	int err = 0;

	if (number == SYS_socketpair)
		err = send_file(t);
	if (number == SYS_bind && getsockname(t->bound, (struct sockaddr *)&t->address, &size))
		err = -errno;
	if (number == SYS_bind)
		t->values[TRIAL_ADDRESS_SIZE] = size;
	t->values[TRIAL_SOCKET] = (uint64_t)t->sockets[0];
	t->values[TRIAL_TIMER] = (uint64_t)t->timer;
	return err;
}

static int make_call(const struct trial *t, const struct inject_known_call *known)
{
	const struct seccomp_call *call = &known->call;
	uint64_t args[6];

	if (call->number == SYS_rt_sigreturn)
		return inject_trial_signal((pid_t)t->values[TRIAL_SELF], SIGUSR1);
	for (int i = 0; i < 6; i++)
		args[i] = call->known >> i & 1 ? call->args[i] : t->values[known->trial[i]];
	if (syscall(call->number, args[0], args[1], args[2], args[3], args[4], args[5]) >= 0)
		return 0;
	/* No call of ours was interrupted, and the kernel says so. */
	return call->number == SYS_restart_syscall && errno == EINTR ? 0 : -errno;
}

/* Can descriptors be taken from a target? */
static bool may_take_descriptors(void)
{
	int pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);

	return pidfd >= 0 && syscall(SYS_pidfd_getfd, pidfd, pidfd, 0) >= 0;
}

static void make_all(volatile struct told *told)
{
	static const int fatal[] = { SIGSYS, SIGILL, SIGSEGV, SIGBUS, SIGTRAP };
	struct trial t = { 0 };
	bool by_name;

	/* It leaves no core where a filter or a failed call ends this process. */
	setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
	for (size_t i = 0; i < sizeof(fatal) / sizeof(*fatal); i++)
		signal(fatal[i], SIG_DFL);
	by_name = !may_take_descriptors();
	told->err = prepare(&t);
	for (uint32_t i = 0; i < inject_nr_known_calls && !told->err; i++) {
		const struct inject_known_call *known = &inject_known_calls[i];

		told->at = i;
		if (known->need == CALL_BY_NAME && !by_name)
			continue;
		told->err = make_call(&t, known);
		if (known->need == CALL_OPTIONAL)
			told->err = 0;
		if (!told->err)
			told->err = follow_up(&t, known->call.number);
	}
	if (!told->err)
		told->at = (uint32_t)inject_nr_known_calls;
}

/* ---- in sprof */

/*
 * Waits for the child's end, but not for ever: a filter may ask another process. Returns the signal
 * that ended it, or 0.
 */
static int wait_for(pid_t child)
{
	uint64_t until = monotonic_ns() + LIMIT_NS;
	int status = 0;
	pid_t ended;

	while (!(ended = waitpid(child, &status, WNOHANG)) && monotonic_ns() < until)
		nanosleep(&(struct timespec){ 0, NAP_NS }, NULL);
	if (!ended) {
		kill(child, SIGKILL);
		waitpid(child, &status, 0);
	}
	return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static int judge(const struct told *told, int signal, struct inject_reason *reason)
{
	const char *name =
		told->at < inject_nr_known_calls ? inject_known_calls[told->at].name : "";

	if (told->at == inject_nr_known_calls)
		return 0;
	if (told->at == PREPARING)
		return inject_refuse(reason, -ENOTSUP, REMEDY,
				     "sprof's own seccomp filter, which is also its, does not let "
				     "a child of sprof try what it allows: %s",
				     signal ? strsignal(signal) : strerror(-told->err));
	if (signal)
		return inject_refuse(reason, -ENOTSUP, REMEDY,
				     "its seccomp filter, which is also sprof's, would end it for "
				     "%s(2), which sprof would have it make (%s)",
				     name, strsignal(signal));
	return inject_refuse(reason, -ENOTSUP, REMEDY,
			     "its seccomp filter, which is also sprof's, denies it %s(2), which "
			     "sprof would have it make (%s)",
			     name, strerror(-told->err));
}

int inject_seccomp_try(struct inject_reason *reason)
{
	struct told *told = shared_memory_of_children(sizeof(*told));
	pid_t child;
	int err;

	if (!told)
		return inject_refuse(reason, -errno, "", "no memory could be shared: %s",
				     strerror(errno));
	told->at = PREPARING;
	child = fork();
	if (!child) {
		make_all(told);
		_exit(0);
	}
	if (child < 0)
		err = inject_refuse(reason, -errno, "", "no process could be started: %s",
				    strerror(errno));
	else
		err = judge(told, wait_for(child), reason);
	munmap(told, sizeof(*told));
	return err;
}
