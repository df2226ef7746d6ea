/*
 * Threads that wait, each in a different system call, for a timeout of 20 ms or for a byte that
 * arrives every 20 ms:
 *
 *	blocked MILLISECONDS [KIND]	all kinds, or one, also on the first thread
 *
 * It ends earlier when the file named by END_FILE in the environment appears.
 *
 * The program itself sends no signals, so no call may end with EINTR, before its time or without
 * its byte. Prints one line: `loops N eintr N early N wrong N`, and for each wrong call its kind on
 * stderr. Exits with status 1 if a call was wrong.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/base/clock.h"

#define WAIT_NS 20000000L

static const struct timespec wait_time = { 0, WAIT_NS };
static atomic_long nr_loops, nr_eintr, nr_early, nr_wrong;
static atomic_bool over;

static struct timespec later(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	t.tv_nsec += WAIT_NS;
	t.tv_sec += t.tv_nsec / 1000000000;
	t.tv_nsec %= 1000000000;
	return t;
}

/*
 * Each function waits once and returns 0 if the call did what it should, else the errno. A timeout
 * that the kernel reports as an error counts as 0 here.
 */
static int unless(long result, int expected)
{
	return result >= 0 || errno == expected ? 0 : errno;
}

static int do_nanosleep(int *fd)
{
	(void)fd;
	return unless(syscall(SYS_nanosleep, &wait_time, NULL), 0);
}

static int do_clock_nanosleep(int *fd)
{
	(void)fd;
	return clock_nanosleep(CLOCK_MONOTONIC, 0, &wait_time, NULL);
}

static int do_clock_nanosleep_abs(int *fd)
{
	struct timespec t = later(CLOCK_MONOTONIC);

	(void)fd;
	return clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

static int do_poll(int *fd)
{
	(void)fd;
	return unless(syscall(SYS_poll, NULL, 0, 20), 0);
}

static int do_ppoll(int *fd)
{
	(void)fd;
	return unless(ppoll(NULL, 0, &wait_time, NULL), 0);
}

static int do_ppoll_mask(int *fd)
{
	sigset_t mask;

	(void)fd;
	sigfillset(&mask);
	return unless(ppoll(NULL, 0, &wait_time, &mask), 0);
}

static int do_select(int *fd)
{
	struct timeval t = { 0, WAIT_NS / 1000 };

	(void)fd;
	return unless(select(0, NULL, NULL, NULL, &t), 0);
}

static int do_pselect(int *fd)
{
	sigset_t mask;

	(void)fd;
	sigemptyset(&mask);
	return unless(pselect(0, NULL, NULL, NULL, &wait_time, &mask), 0);
}

static int do_futex(int *fd)
{
	int word = 0;

	(void)fd;
	return unless(
		syscall(SYS_futex, &word, 128 /* FUTEX_WAIT_PRIVATE */, 0, &wait_time, NULL, 0),
		ETIMEDOUT);
}

static int do_cond(int *fd)
{
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
	struct timespec t = later(CLOCK_REALTIME);
	int err;

	(void)fd;
	pthread_mutex_lock(&mutex);
	err = pthread_cond_timedwait(&cond, &mutex, &t);
	pthread_mutex_unlock(&mutex);
	return err == ETIMEDOUT ? 0 : err;
}

static int open_epoll(int *fd)
{
	return (*fd = epoll_create1(0)) < 0;
}

static int do_epoll(int *fd)
{
	struct epoll_event e;

	return unless(epoll_wait(*fd, &e, 1, WAIT_NS / 1000000), 0);
}

static int do_sigtimedwait(int *fd)
{
	sigset_t set;

	(void)fd;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	return unless(sigtimedwait(&set, NULL, &wait_time), EAGAIN);
}

static int open_socket(int *fd)
{
	struct timeval t = { 0, WAIT_NS / 1000 };

	return socketpair(AF_UNIX, SOCK_STREAM, 0, fd) ||
	       setsockopt(fd[0], SOL_SOCKET, SO_RCVTIMEO, &t, sizeof(t));
}

static int do_recv(int *fd)
{
	char byte;

	return unless(recv(fd[0], &byte, 1, 0), EAGAIN);
}

static int open_semaphore(int *fd)
{
	*fd = semget(IPC_PRIVATE, 1, 0600);
	return *fd < 0;
}

static int do_semtimedop(int *fd)
{
	struct sembuf down = { 0, -1, 0 };

	return unless(semtimedop(*fd, &down, 1, &wait_time), EAGAIN);
}

static int do_wait4(int *fd)
{
	pid_t child = fork();
	int status;

	(void)fd;
	if (!child) {
		nanosleep(&wait_time, NULL);
		_exit(7);
	}
	if (waitpid(child, &status, 0) != child)
		return errno;
	return WIFEXITED(status) && WEXITSTATUS(status) == 7 ? 0 : EPROTO;
}

/* Sends a byte every 20 ms. */
static void *feed(void *argument)
{
	int *fd = argument;

	while (!over) {
		nanosleep(&wait_time, NULL);
		if (write(fd[1], "x", 1) != 1)
			break;
	}
	return NULL;
}

static int open_pipe(int *fd)
{
	pthread_t thread;

	return pipe(fd) || pthread_create(&thread, NULL, feed, fd);
}

static int do_read(int *fd)
{
	char byte = 0;

	if (read(fd[0], &byte, 1) != 1)
		return errno;
	return byte == 'x' ? 0 : EPROTO;
}

static int do_poll_pipe(int *fd)
{
	struct pollfd p = { fd[0], POLLIN, 0 };

	return poll(&p, 1, -1) == 1 ? do_read(fd) : errno;
}

static int open_epoll_pipe(int *fd)
{
	struct epoll_event e = { .events = EPOLLIN };

	fd[2] = epoll_create1(0);
	return open_pipe(fd) || epoll_ctl(fd[2], EPOLL_CTL_ADD, fd[0], &e);
}

static int do_epoll_pipe(int *fd)
{
	struct epoll_event e;

	return epoll_wait(fd[2], &e, 1, -1) == 1 ? do_read(fd) : errno;
}

static const struct kind {
	const char *name;
	int (*open)(int *fd); /* makes three descriptors; 0 on success */
	int (*wait)(int *fd);
	bool timed; /* must last the whole timeout */
} kinds[] = {
	{ "nanosleep", NULL, do_nanosleep, true },
	{ "clock_nanosleep", NULL, do_clock_nanosleep, true },
	{ "clock_nanosleep_abs", NULL, do_clock_nanosleep_abs, true },
	{ "poll", NULL, do_poll, true },
	{ "ppoll", NULL, do_ppoll, true },
	{ "ppoll_mask", NULL, do_ppoll_mask, true },
	{ "select", NULL, do_select, true },
	{ "pselect", NULL, do_pselect, true },
	{ "futex", NULL, do_futex, true },
	{ "cond", NULL, do_cond, false },
	{ "epoll", open_epoll, do_epoll, true },
	{ "sigtimedwait", NULL, do_sigtimedwait, true },
	{ "recv", open_socket, do_recv, false }, /* its timeout is in ticks */
	{ "semtimedop", open_semaphore, do_semtimedop, false },
	{ "wait4", NULL, do_wait4, true },
	{ "read", open_pipe, do_read, false },
	{ "poll_pipe", open_pipe, do_poll_pipe, false },
	{ "epoll_pipe", open_epoll_pipe, do_epoll_pipe, false },
};
#define NR_KINDS (sizeof(kinds) / sizeof(*kinds))

static void *loop(void *argument)
{
	const struct kind *kind = argument;
	int *fd = calloc(3, sizeof(*fd));

	if (kind->open && kind->open(fd)) {
		perror(kind->name);
		exit(2);
	}
	while (!over) {
		uint64_t from = monotonic_ns();
		int err = kind->wait(fd);
		bool early = kind->timed && monotonic_ns() - from < WAIT_NS - 200000;

		nr_loops++;
		if (!err && !early)
			continue;
		if (over)
			break;
		fprintf(stderr, "%s: %s\n", kind->name, err ? strerror(err) : "early");
		if (early)
			nr_early++;
		else if (err == EINTR)
			nr_eintr++;
		else
			nr_wrong++;
	}
	return NULL;
}

static void end(uint64_t ms)
{
	const char *file = getenv("END_FILE");

	for (uint64_t until = monotonic_ns() + ms * 1000000; monotonic_ns() < until;) {
		if (file && !access(file, F_OK))
			break;
		usleep(20000);
	}
	over = true;
	printf("loops %ld eintr %ld early %ld wrong %ld\n", nr_loops, nr_eintr, nr_early, nr_wrong);
	exit(nr_eintr || nr_early || nr_wrong);
}

static void *end_thread(void *argument)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	end((uint64_t)argument);
	return NULL;
}

int main(int argc, char **argv)
{
	uint64_t ms = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000;
	pthread_t thread;
	sigset_t set;

	sigemptyset(&set); /* only sigtimedwait receives it */
	sigaddset(&set, SIGUSR2);
	sigprocmask(SIG_BLOCK, &set, NULL);
	for (size_t i = 0; i < NR_KINDS; i++) {
		if (argc > 2 && !strcmp(argv[2], kinds[i].name)) {
			pthread_create(&thread, NULL, end_thread, (void *)ms);
			loop((void *)&kinds[i]);
			pthread_join(thread, NULL); /* it prints the result and exits */
		} else if (argc == 2) {
			pthread_create(&thread, NULL, loop, (void *)&kinds[i]);
		}
	}
	if (argc > 2)
		return 2;
	end(ms);
}
