/*
 * Mappings are in a table of fixed size, because a signal handler looks them up; a slot is in use
 * while its start is not 0. The table is global, like the handler.
 */
#include "core/untrusted/shared_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010 /* Linux 5.1: existing mappings stay writable */
#endif

#define MAX_GUARDED 16384u

static struct guarded {
	uintptr_t start;
	size_t size;
	bool lost;
} guarded[MAX_GUARDED];
static uint32_t nr_guarded; /* slots below this were in use at some time */
static pthread_mutex_t guarded_lock = PTHREAD_MUTEX_INITIALIZER;

static struct guarded *find(uintptr_t address)
{
	uint32_t nr = __atomic_load_n(&nr_guarded, __ATOMIC_ACQUIRE);

	for (uint32_t i = 0; i < nr; i++) {
		uintptr_t start = __atomic_load_n(&guarded[i].start, __ATOMIC_ACQUIRE);

		if (start && address - start < guarded[i].size)
			return &guarded[i];
	}
	return NULL;
}

/* mmap(2) is not on the list of async-signal-safe functions, but it is only a system call. */
static void on_missing_page(int signal, siginfo_t *info, void *context)
{
	struct guarded *g = find((uintptr_t)info->si_addr);
	int before = errno;

	(void)context;
	if (g && mmap((void *)g->start, g->size, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) != MAP_FAILED)
		__atomic_store_n(&g->lost, true, __ATOMIC_RELEASE);
	else /* not ours: the fault happens again, and ends the process */
		sigaction(signal, &(struct sigaction){ .sa_handler = SIG_DFL }, NULL);
	errno = before;
}

int shared_memory_guard(void *at, size_t size)
{
	const struct sigaction action = { .sa_sigaction = on_missing_page,
					  .sa_flags = SA_SIGINFO | SA_ONSTACK };
	uint32_t i = 0;

	pthread_mutex_lock(&guarded_lock);
	sigaction(SIGBUS, &action, NULL);
	while (i < nr_guarded && guarded[i].start)
		i++;
	if (i < MAX_GUARDED) {
		guarded[i].size = size;
		guarded[i].lost = false;
		__atomic_store_n(&guarded[i].start, (uintptr_t)at, __ATOMIC_RELEASE);
		if (i == nr_guarded)
			__atomic_store_n(&nr_guarded, i + 1, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&guarded_lock);
	return i < MAX_GUARDED ? 0 : -ENOSPC;
}

bool shared_memory_is_lost(const void *at)
{
	const struct guarded *g = find((uintptr_t)at);

	return g && __atomic_load_n(&g->lost, __ATOMIC_ACQUIRE);
}

void shared_memory_unmap(void *at, size_t size)
{
	struct guarded *g;

	pthread_mutex_lock(&guarded_lock);
	g = find((uintptr_t)at);
	munmap(at, size);
	if (g)
		__atomic_store_n(&g->start, 0, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&guarded_lock);
}

static int map(int fd, size_t size, void **ret_at)
{
	void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	int err;

	if (at == MAP_FAILED)
		return -errno;
	err = shared_memory_guard(at, size);
	if (err)
		munmap(at, size);
	else
		*ret_at = at;
	return err;
}

int shared_memory_new(const char *name, size_t size, enum shared_memory_rights rights, int *ret_fd,
		      void **ret_at)
{
	int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING), err;

	if (fd < 0)
		return -errno;
	err = ftruncate(fd, (off_t)size) ? -errno : map(fd, size, ret_at);
	if (err) {
		close(fd);
		return err;
	}
	/* Two calls, because an old kernel refuses all seals if it does not know one. */
	fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW);
	if (rights == SHARED_MEMORY_READ)
		fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE);
	fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL);
	*ret_fd = fd;
	return 0;
}

int shared_memory_map(int fd, size_t min, size_t max, size_t *ret_size, void **ret_at)
{
	int seals = fcntl(fd, F_GET_SEALS), err;
	struct statfs fs;
	struct stat st;

	/* Huge pages are refused: there may be none left when one is touched. */
	if (seals < 0 || !(seals & F_SEAL_SHRINK) || fstatfs(fd, &fs) || fs.f_type != TMPFS_MAGIC)
		return -EPERM;
	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_size < 0 || (uint64_t)st.st_size < min ||
	    (uint64_t)st.st_size > max)
		return -EPROTO;
	err = map(fd, (size_t)st.st_size, ret_at);
	if (!err)
		*ret_size = (size_t)st.st_size;
	return err;
}

void *shared_memory_of_children(size_t size)
{
	void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return at == MAP_FAILED ? NULL : at;
}
