/*
 * The starter and the readers use system calls only, because the process that they are forked from
 * may have threads.
 */
#include "core/untrusted/remote_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/untrusted/process_memory.h"
#include "core/rights/privileges.h"
#include "core/sandbox/message.h"

#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#define PAGE 4096u
#define FILES_FD STDOUT_FILENO /* the socket to which readers send descriptors */
#define MAX_PAGES (REMOTE_DATA / PAGE + 1)
#define END_MS 200 /* most time for the readers to end */

void remote_futex_wait(uint32_t *word, uint32_t value, uint64_t timeout_ns)
{
	struct timespec limit = { (time_t)(timeout_ns / 1000000000u),
				  (long)(timeout_ns % 1000000000u) };

	syscall(SYS_futex, word, FUTEX_WAIT, value, timeout_ns ? &limit : NULL, NULL, 0);
}

void remote_futex_wake(uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* Reads page by page, because the kernel copies up to the first range that is not wholly there. */
int64_t remote_read_memory(pid_t pid, uint64_t address, void *to, size_t size)
{
	struct iovec pages[MAX_PAGES];
	unsigned long nr = 0;
	size_t at = 0;

	while (at < size && nr < MAX_PAGES) {
		size_t part = PAGE - (size_t)((address + at) % PAGE);

		if (part > size - at)
			part = size - at;
		pages[nr++] = (struct iovec){ (void *)(address + at), part };
		at += part;
	}
	return process_memory_read(pid, to, pages, nr);
}

static int64_t read_file(struct remote_slot *s, int *fd)
{
	char path[80];
	size_t got = 0;
	int64_t n = 0;

	if (s->request == REMOTE_FILE) {
		if (*fd >= 0)
			close(*fd);
		s->name[sizeof(s->name) - 1] = '\0';
		snprintf(path, sizeof(path), "/proc/%d/%s", (int)s->target, s->name);
		*fd = open(path, O_RDONLY | O_CLOEXEC);
		if (*fd < 0)
			return -errno;
	}
	while (*fd >= 0 && got < REMOTE_DATA &&
	       (n = read(*fd, s->data + got, REMOTE_DATA - got)) > 0)
		got += (size_t)n;
	if (n > 0 || *fd < 0)
		return (int64_t)got;
	n = n < 0 ? -errno : (int64_t)got;
	close(*fd); /* an open one would keep the process's memory */
	*fd = -1;
	return n;
}

/* Reads a file whole. Returns its size or -errno. */
static int32_t read_whole(pid_t pid, const char *name, uint8_t *to, size_t room)
{
	char path[80];
	size_t got = 0;
	ssize_t n = 1;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	while (got < room && (n = read(fd, to + got, room - got)) > 0)
		got += (size_t)n;
	n = n < 0 ? -errno : n > 0 ? -EFBIG : (ssize_t)got;
	close(fd);
	return (int32_t)n;
}

static int64_t read_files(struct remote_slot *s)
{
	char *rest = s->name, *name;
	size_t at = 0;

	s->name[sizeof(s->name) - 1] = '\0';
	while (REMOTE_DATA - at >= sizeof(int32_t) && (name = strsep(&rest, "\n"))) {
		uint8_t *to = s->data + at + sizeof(int32_t);
		int32_t size =
			read_whole(s->target, name, to, (size_t)(s->data + REMOTE_DATA - to));

		memcpy(s->data + at, &size, sizeof(size));
		at += sizeof(size) + (size > 0 ? (size_t)size : 0);
	}
	return (int64_t)at;
}

/*
 * Opens a file in /proc for the recorder. The kernel takes locks of the target for it: the lock of
 * the memory for a link in map_files, that of exec for mem.
 */
static int64_t send_file(struct remote_slot *s)
{
	char path[80];
	int fd, err;

	s->name[sizeof(s->name) - 1] = '\0';
	snprintf(path, sizeof(path), "/proc/%d/%s", (int)s->target, s->name);
	fd = open(path, (int)s->size | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	err = message_send(FILES_FD, &s->address, sizeof(s->address), &fd, 1);
	close(fd);
	return err;
}

/* Descriptors with other numbers are from readers that were left behind. */
int remote_file_take(int files, uint64_t number)
{
	uint64_t found;
	ssize_t n;
	int fd;

	while (!message_wait(files, -1, 0)) {
		n = message_receive(files, &found, sizeof(found), &fd, 1);
		if (n <= 0)
			break;
		if (n == sizeof(found) && found == number)
			return fd >= 0 ? fd : -ENOENT;
		if (fd >= 0)
			close(fd);
	}
	return -ENOENT;
}

static _Noreturn void serve(struct remote_slot *s)
{
	int fd = -1;

	__atomic_store_n(&s->reader, (int32_t)getpid(), __ATOMIC_RELEASE);
	for (;;) {
		uint32_t turn = __atomic_load_n(&s->turn, __ATOMIC_ACQUIRE);

		if (turn % 2 == 0) {
			remote_futex_wait(&s->turn, turn, 0);
			continue;
		}
		if (s->request == REMOTE_MEMORY)
			s->result =
				remote_read_memory(s->target, s->address, s->data,
						   s->size < REMOTE_DATA ? s->size : REMOTE_DATA);
		else if (s->request == REMOTE_OPEN)
			s->result = send_file(s);
		else if (s->request == REMOTE_FILES)
			s->result = read_files(s);
		else
			s->result = read_file(s, &fd);
		__atomic_store_n(&s->turn, turn + 1, __ATOMIC_RELEASE);
		remote_futex_wake(&s->turn);
	}
}

/* Has this process die with its parent. Returns false if the parent is dead already. */
static bool die_with(pid_t parent)
{
	return !prctl(PR_SET_PDEATHSIG, SIGKILL) && getppid() == parent;
}

static void start_reader(struct remote_slot *s)
{
	pid_t own = getpid(), pid;

	s->reader = 0;
	__atomic_store_n(&s->alive, 1, __ATOMIC_RELEASE);
	pid = fork();
	if (!pid) {
		/* /dev/null: once the starter has ended, nothing may read its pipe. */
		dup2(STDERR_FILENO, STDIN_FILENO);
		if (die_with(own))
			serve(s);
		_exit(0);
	}
	if (pid > 0)
		__atomic_store_n(&s->reader, (int32_t)pid, __ATOMIC_RELEASE);
	else
		__atomic_store_n(&s->alive, 0, __ATOMIC_RELEASE);
}

static void mark_ended(struct remote_slot *slots)
{
	pid_t pid;

	while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
		for (uint32_t i = 0; i < REMOTE_READERS; i++)
			if (slots[i].reader == pid)
				__atomic_store_n(&slots[i].alive, 0, __ATOMIC_RELEASE);
}

/*
 * Ends the readers and waits for them, the stuck ones aside. Without that they would be left to the
 * first process of the PID namespace, which may be a target that never waits for its children.
 */
static void end_readers(const struct remote_slot *slots)
{
	const struct timespec pause = { 0, 1000000 };
	int nr_pauses = 0;
	pid_t pid;

	for (uint32_t i = 0; i < REMOTE_READERS; i++)
		if (slots[i].alive && slots[i].reader > 0)
			kill(slots[i].reader, SIGKILL);
	while ((pid = waitpid(-1, NULL, WNOHANG)) >= 0 && nr_pauses < END_MS) {
		if (pid)
			continue;
		nanosleep(&pause, NULL);
		nr_pauses++;
	}
}

/* Closes the recorder's files: a reader that is stuck would keep them open for ever. */
static void let_go_of_files(int commands, int files)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	dup2(commands, STDIN_FILENO);
	if (null >= 0) {
		dup2(null, STDERR_FILENO);
	}
	dup2(files, FILES_FD);
	if (syscall(SYS_close_range, 3u, ~0u, 0u))
		for (int fd = 3; fd < 1024; fd++)
			close(fd);
	if (chdir("/"))
		return; /* no harm: the old directory stays */
}

static _Noreturn void run_starter(struct remote_slot *slots, int commands, int files, pid_t parent)
{
	static const int stops[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP };
	uint8_t slot;
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	for (size_t i = 0; i < sizeof(stops) / sizeof(stops[0]); i++)
		signal(stops[i], SIG_IGN); /* ^C is for the recorder */
	signal(SIGCHLD, SIG_DFL);
	prctl(PR_SET_NAME, "sprof-reader");
	privileges_reduce(PRIVILEGE(CAP_SYS_PTRACE) | PRIVILEGE(CAP_DAC_READ_SEARCH) |
			  PRIVILEGE(CAP_DAC_OVERRIDE) | PRIVILEGE(CAP_CHECKPOINT_RESTORE));
	let_go_of_files(commands, files);
	if (!die_with(parent))
		_exit(0);
	while (read(STDIN_FILENO, &slot, 1) == 1) {
		mark_ended(slots);
		if (slot == REMOTE_END)
			break;
		if (slot < REMOTE_READERS)
			start_reader(&slots[slot]);
	}
	end_readers(slots);
	_exit(0);
}

pid_t remote_starter_fork(struct remote_slot *slots, int *ret_commands, int *ret_files)
{
	pid_t own = getpid(), pid;
	int commands[2], files[2], err;

	if (pipe2(commands, O_CLOEXEC))
		return -errno;
	err = message_pair(files);
	if (err) {
		close(commands[0]);
		close(commands[1]);
		return err;
	}
	pid = fork();
	if (!pid)
		run_starter(slots, commands[0], files[0], own);
	err = errno;
	close(commands[0]);
	close(files[0]);
	if (pid < 0) {
		close(commands[1]);
		close(files[1]);
		return -err;
	}
	*ret_commands = commands[1];
	*ret_files = files[1];
	return pid;
}
