/*
 * /proc/PID/task/TID/syscall has the number of the system call and its arguments. Descriptors are
 * looked up in /proc/PID/fd, which says what they are without opening them.
 */
#include "sampler/thread_wait.h"

#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/base/proc_status.h"
#include "sampler/waiting/wait_reason.h"

enum { NR_ARGUMENTS = 6, MAX_INFO = 65536 /* bytes of fdinfo that are read */ };

enum argument { ARGUMENT_NONE, ARGUMENT_FD, ARGUMENT_EPOLL, ARGUMENT_FUTEX, ARGUMENT_NR };

struct call {
	long number;
	const char *name;
	uint8_t reason; /* enum wait_reason; REASON_NONE: by the descriptor */
	uint8_t argument, at;
};

static const struct call calls[] = {
	{ SYS_futex, "futex", REASON_LOCK, ARGUMENT_FUTEX, 0 },
#ifdef SYS_epoll_wait
	{ SYS_epoll_wait, "epoll_wait", REASON_POLL, ARGUMENT_EPOLL, 0 },
#endif
	{ SYS_epoll_pwait, "epoll_pwait", REASON_POLL, ARGUMENT_EPOLL, 0 },
#ifdef SYS_poll
	{ SYS_poll, "poll", REASON_POLL, ARGUMENT_NR, 1 },
	{ SYS_select, "select", REASON_POLL, ARGUMENT_NONE, 0 },
	{ SYS_pause, "pause", REASON_SIGNAL, ARGUMENT_NONE, 0 },
#endif
	{ SYS_ppoll, "ppoll", REASON_POLL, ARGUMENT_NR, 1 },
	{ SYS_pselect6, "pselect6", REASON_POLL, ARGUMENT_NONE, 0 },
	{ SYS_nanosleep, "nanosleep", REASON_SLEEP, ARGUMENT_NONE, 0 },
	{ SYS_clock_nanosleep, "clock_nanosleep", REASON_SLEEP, ARGUMENT_NONE, 0 },
	{ SYS_read, "read", REASON_NONE, ARGUMENT_FD, 0 },
	{ SYS_readv, "readv", REASON_NONE, ARGUMENT_FD, 0 },
	{ SYS_pread64, "pread64", REASON_DISK, ARGUMENT_FD, 0 },
	{ SYS_write, "write", REASON_NONE, ARGUMENT_FD, 0 },
	{ SYS_writev, "writev", REASON_NONE, ARGUMENT_FD, 0 },
	{ SYS_pwrite64, "pwrite64", REASON_DISK, ARGUMENT_FD, 0 },
	{ SYS_fsync, "fsync", REASON_DISK, ARGUMENT_FD, 0 },
	{ SYS_fdatasync, "fdatasync", REASON_DISK, ARGUMENT_FD, 0 },
	{ SYS_accept, "accept", REASON_SOCKET, ARGUMENT_FD, 0 },
	{ SYS_accept4, "accept4", REASON_SOCKET, ARGUMENT_FD, 0 },
	{ SYS_connect, "connect", REASON_SOCKET, ARGUMENT_FD, 0 },
	{ SYS_recvfrom, "recvfrom", REASON_SOCKET, ARGUMENT_FD, 0 },
	{ SYS_recvmsg, "recvmsg", REASON_SOCKET, ARGUMENT_FD, 0 },
	{ SYS_sendto, "sendto", REASON_SOCKET, ARGUMENT_FD, 0 },
	{ SYS_sendmsg, "sendmsg", REASON_SOCKET, ARGUMENT_FD, 0 },
	{ SYS_flock, "flock", REASON_FILE_LOCK, ARGUMENT_FD, 0 },
	{ SYS_wait4, "wait4", REASON_CHILD, ARGUMENT_NONE, 0 },
	{ SYS_waitid, "waitid", REASON_CHILD, ARGUMENT_NONE, 0 },
	{ SYS_rt_sigtimedwait, "rt_sigtimedwait", REASON_SIGNAL, ARGUMENT_NONE, 0 },
	{ SYS_rt_sigsuspend, "rt_sigsuspend", REASON_SIGNAL, ARGUMENT_NONE, 0 },
};

static const struct call *find_call(long number)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		if (calls[i].number == number)
			return &calls[i];
	return NULL;
}

/* "pipe:[123]", "/var/log/x"; "" if it is not known. */
static void read_descriptor(pid_t pid, uint64_t fd, char *text, size_t size)
{
	char path[64];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)pid, (int)fd);
	n = readlink(path, text, size - 1);
	text[n > 0 ? n : 0] = '\0';
}

static enum wait_reason reason_of_descriptor(const char *text)
{
	static const struct {
		const char *begin;
		uint8_t reason;
	} kinds[] = {
		{ "pipe:", REASON_PIPE },	 { "socket:", REASON_SOCKET },
		{ "/dev/tty", REASON_TERMINAL }, { "/dev/pts/", REASON_TERMINAL },
		{ "anon_inode:", REASON_POLL },	 { "/", REASON_DISK },
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strncmp(text, kinds[i].begin, strlen(kinds[i].begin)))
			return kinds[i].reason;
	return REASON_OTHER;
}

/* How many descriptors an epoll instance watches. */
static unsigned nr_watched(pid_t pid, uint64_t fd)
{
	char text[MAX_INFO];
	unsigned nr = 0;

	proc_text(text, sizeof(text), "/proc/%d/fdinfo/%d", (int)pid, (int)fd);
	for (const char *at = text; (at = strstr(at, "tfd:")); at++)
		nr++;
	return nr;
}

static void describe_call(pid_t pid, const struct call *call, const uint64_t *arguments,
			  char *ret_text, size_t size)
{
	uint64_t value = arguments[call->at];
	enum wait_reason reason = call->reason;
	char file[256];

	switch ((enum argument)call->argument) {
	case ARGUMENT_FUTEX:
		snprintf(ret_text, size, "%s, futex at 0x%" PRIx64, wait_reason_name(reason),
			 value);
		return;
	case ARGUMENT_NR:
		snprintf(ret_text, size, "%s, %s of %u descriptor%s", wait_reason_name(reason),
			 call->name, (unsigned)value, value == 1 ? "" : "s");
		return;
	case ARGUMENT_EPOLL:
		snprintf(ret_text, size, "%s, %s on descriptor %d, which watches %u",
			 wait_reason_name(reason), call->name, (int)value, nr_watched(pid, value));
		return;
	case ARGUMENT_FD:
		read_descriptor(pid, value, file, sizeof(file));
		if (!reason)
			reason = reason_of_descriptor(file);
		snprintf(ret_text, size, "%s, %s of descriptor %d%s%s", wait_reason_name(reason),
			 call->name, (int)value, *file ? ", " : "", file);
		return;
	case ARGUMENT_NONE:
		snprintf(ret_text, size, "%s, %s", wait_reason_name(reason), call->name);
		return;
	}
}

/* "202 0x7ffc 0x80 ... SP PC", "-1 SP PC" outside of a call, or "running". */
static bool parse_call(const char *text, long *ret_number, uint64_t ret_arguments[NR_ARGUMENTS])
{
	uint64_t *a = ret_arguments;

	return sscanf(text,
		      "%ld 0x%" SCNx64 " 0x%" SCNx64 " 0x%" SCNx64 " 0x%" SCNx64 " 0x%" SCNx64
		      " 0x%" SCNx64,
		      ret_number, &a[0], &a[1], &a[2], &a[3], &a[4], &a[5]) == 1 + NR_ARGUMENTS;
}

void thread_wait_describe(pid_t pid, pid_t tid, const char *wchan, char *ret_text, size_t size)
{
	uint64_t arguments[NR_ARGUMENTS];
	const struct call *call;
	char text[256];
	long number;
	struct wait_hint hint = wait_hint_of(wchan);

	*ret_text = '\0';
	proc_text(text, sizeof(text), "/proc/%d/task/%d/syscall", (int)pid, (int)tid);
	call = parse_call(text, &number, arguments) ? find_call(number) : NULL;
	if (call)
		describe_call(pid, call, arguments, ret_text, size);
	else if (hint.reason)
		snprintf(ret_text, size, "%s", wait_reason_name(hint.reason));
}
