/*
 * stuck KIND [SECONDS]: works, in code that was made at run time, while reads of its memory from
 * outside never return:
 *
 *	userfault  of the page behind that code: it is handed to userfaultfd(2)
 *	lock       of anything, /proc/PID/maps included: one thread reads, through /proc/self/mem, a
 *	           page of a file whose FUSE server does not answer, and so holds the lock of the
 *	           memory; another one waits to map something
 *
 *	exec       of nothing, but ptrace(2) does not return: one thread starts a program from such
 *	           a file, which holds what the kernel takes to attach a tracer
 *	close      of anything that /proc asks for rights for: it starts a program, and a file is
 *	           closed then whose FUSE server does not answer. Does no work
 *	asked      as close, once a SIGUSR1 asks for it: until then it works, and all can be read
 *	waits      of the stack of one thread, which waits for a signal: it lies in a page of such
 *	           a file
 *
 * Prints "ready" when that is so. Exits with status 77 if it may not do that.
 */
#include "tests/targets/fuse_file.h"
#include "tests/targets/work.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* mov %rdi,%rcx; 1: dec %rcx; jnz 1b; ret */
static const unsigned char spin[] = { 0x48, 0x89, 0xf9, 0x48, 0xff, 0xc9, 0x75, 0xfb, 0xc3 };

/* Code in the first of two pages. */
static char *make_code(void)
{
	char *code = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (code == MAP_FAILED)
		cannot("mmap");
	memcpy(code, spin, sizeof(spin));
	return code;
}

/* Both pages, so that they stay one mapping; the first one is there already. */
static void hand_over(char *pages)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register range = { .range = { (uintptr_t)pages, 2 * PAGE },
					 .mode = UFFDIO_REGISTER_MODE_MISSING };
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);

	if (fd < 0 || ioctl(fd, UFFDIO_API, &api) || ioctl(fd, UFFDIO_REGISTER, &range))
		cannot("userfaultfd");
}

/* ---- a file system with one file, whose content never comes */

/* A flush without an answer keeps the process from its end, whatever kills it. */
static void serve(int fd, bool answers_flush)
{
	static char request[FUSE_REQUEST_SIZE];
	const struct fuse_in_header *in = (const void *)request;

	while (read(fd, request, sizeof(request)) > 0)
		if (in->opcode != FUSE_READ && (answers_flush || in->opcode != FUSE_FLUSH))
			answer_as_usual(fd, in);
	_exit(0);
}

/* A descriptor of that file. The server ends with this process, which frees all that wait. */
static int endless_file(bool answers_flush)
{
	char options[128], place[] = "/tmp/sprof-stuck.XXXXXX", path[64];
	int device = open("/dev/fuse", O_RDWR | O_CLOEXEC), fd;

	if (device < 0 || unshare(CLONE_NEWNS) || mount("", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    !mkdtemp(place))
		cannot("FUSE");
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0", device);
	if (mount("stuck", place, "fuse", MS_NOSUID | MS_NODEV, options)) {
		rmdir(place);
		cannot("mount");
	}
	if (!fork()) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		alarm(20); /* a process that waits for it may not be killable */
		serve(device, answers_flush);
	}
	close(device);
	snprintf(path, sizeof(path), "%s/file", place);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		cannot("open");
	umount2(place, MNT_DETACH);
	rmdir(place);
	return fd;
}

static void *read_through_proc(void *page)
{
	int fd = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	char byte;

	return (void *)pread(fd, &byte, 1, (off_t)(uintptr_t)page);
}

static void *map_something(void *unused)
{
	(void)unused;
	usleep(200000); /* the other thread holds the lock by then */
	return mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void hold_lock(void)
{
	pthread_t threads[2];
	void *page = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, endless_file(true), 0);

	/* The stacks of both are mapped before the lock is held. */
	if (page == MAP_FAILED || pthread_create(&threads[0], NULL, read_through_proc, page) ||
	    pthread_create(&threads[1], NULL, map_something, NULL))
		cannot("lock");
	usleep(400000);
}

/* Never returns. The thread's own stack is left, so that no one but a reader needs the page. */
static void *wait_on(void *page)
{
	__asm__ volatile("mov %0, %%rsp\n1: mov %1, %%eax\n\tsyscall\n\tjmp 1b"
			 :
			 : "r"((char *)page + PAGE / 2), "i"(SYS_pause)
			 : "memory");
	return NULL;
}

static void wait_where_no_one_can_read(void)
{
	void *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, endless_file(true), 0);
	pthread_t thread;

	if (page == MAP_FAILED || pthread_create(&thread, NULL, wait_on, page))
		cannot("waits");
	usleep(200000);
}

static void *start_from(void *fd)
{
	char *const none[] = { NULL };

	return (void *)(intptr_t)fexecve((int)(intptr_t)fd, none, none);
}

static void hold_tracers_off(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, start_from, (void *)(intptr_t)endless_file(true)))
		cannot("exec");
	usleep(200000);
}

static volatile sig_atomic_t asked;

static void on_signal(int number)
{
	(void)number;
	asked = 1;
}

int main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "", *seconds = argc > 2 ? argv[2] : "10";
	uint64_t end = cpu_ns() + strtoull(seconds, NULL, 10) * 1000000000;
	char *code = make_code();

	/* First: later it may touch no page that it has not touched yet. */
	signal(SIGUSR1, on_signal);
	asked = !strcmp(kind, "close");
	if (!strcmp(kind, "userfault"))
		hand_over(code);
	else if (!strcmp(kind, "lock"))
		hold_lock();
	else if (!strcmp(kind, "exec"))
		hold_tracers_off();
	else if (!strcmp(kind, "waits"))
		wait_where_no_one_can_read();
	else if (!strcmp(kind, "close") || !strcmp(kind, "asked"))
		endless_file(false);
	if (write(1, "ready\n", 6) != 6)
		return 1;
	while (cpu_ns() < end && !asked)
		((void (*)(uint64_t))(uintptr_t)code)(100000);
	if (asked)
		execlp("sleep", "sleep", seconds, NULL);
	_exit(0);
}
