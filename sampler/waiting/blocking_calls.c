/*
 * Descriptors are looked up in /proc/PID/fd, which says what they are without opening them.
 */
#include "sampler/waiting/blocking_calls.h"

#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct blocking_call calls[] = {
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

const struct blocking_call *blocking_call_find(long number)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		if (calls[i].number == number)
			return &calls[i];
	return NULL;
}

void blocking_call_descriptor(pid_t pid, int fd, char *text, size_t size)
{
	char path[64];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)pid, fd);
	n = readlink(path, text, size - 1);
	text[n > 0 ? n : 0] = '\0';
}

enum wait_reason blocking_call_reason(const char *text)
{
	static const struct {
		const char *begin;
		uint8_t reason;
	} kinds[] = {
		{ "pipe:", REASON_PIPE },	 { "socket:", REASON_SOCKET },
		{ "/dev/tty", REASON_TERMINAL }, { "/dev/pts/", REASON_TERMINAL },
		{ "anon_inode:", REASON_POLL },	 { "/dev/sd", REASON_DISK },
		{ "/dev/vd", REASON_DISK },	 { "/dev/nvme", REASON_DISK },
		{ "/dev/loop", REASON_DISK },	 { "/dev/dm-", REASON_DISK },
		{ "/dev/mapper/", REASON_DISK }, { "/dev/md", REASON_DISK },
		{ "/dev/", REASON_OTHER },	 { "/proc/", REASON_OTHER },
		{ "/sys/", REASON_OTHER },	 { "/", REASON_DISK },
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strncmp(text, kinds[i].begin, strlen(kinds[i].begin)))
			return kinds[i].reason;
	return REASON_OTHER;
}
