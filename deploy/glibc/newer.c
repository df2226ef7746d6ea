/*
 * Linked into the sprof of `make dist`, which runs with glibc 2.28: what that sprof and the libraries
 * in it take from glibc 2.29 to the one of this machine. make_stubs beside this file finds what is
 * missing.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * Before 2.33 these were inline functions around __xstat() and its like. struct stat of 64 bit
 * machines is the kernel's, and struct stat64 is the same.
 */
_Static_assert(sizeof(long) == 8 && sizeof(struct stat) == sizeof(struct stat64),
	       "a 64 bit machine");

#define STAT_FUNCTIONS(suffix)                                                                     \
	int fstatat##suffix(int dir, const char *path, struct stat##suffix *ret, int flags)        \
	{                                                                                          \
		return (int)syscall(SYS_newfstatat, dir, path, ret, flags);                        \
	}                                                                                          \
	int stat##suffix(const char *path, struct stat##suffix *ret)                               \
	{                                                                                          \
		return (int)syscall(SYS_newfstatat, AT_FDCWD, path, ret, 0);                       \
	}                                                                                          \
	int lstat##suffix(const char *path, struct stat##suffix *ret)                              \
	{                                                                                          \
		return (int)syscall(SYS_newfstatat, AT_FDCWD, path, ret, AT_SYMLINK_NOFOLLOW);     \
	}                                                                                          \
	int fstat##suffix(int fd, struct stat##suffix *ret)                                        \
	{                                                                                          \
		return (int)syscall(SYS_fstat, fd, ret);                                           \
	}

STAT_FUNCTIONS()
STAT_FUNCTIONS(64)

/* From 2.30. */
int tgkill(pid_t pid, pid_t tid, int signal)
{
	return (int)syscall(SYS_tgkill, pid, tid, signal);
}

/*
 * From 2.34 on, the start files leave constructors to glibc, which finds them itself. An older one
 * calls what it is given, so it is given this. A newer one that is given something leaves
 * constructors to that, too. Destructors are found by the dynamic loader of either.
 */
typedef void constructor(int argc, char **argv, char **environment);
typedef int main_function(int argc, char **argv, char **environment);
extern constructor *__init_array_start[], *__init_array_end[];

static void run_constructors(int argc, char **argv, char **environment)
{
	for (constructor **c = __init_array_start; c < __init_array_end; c++)
		(*c)(argc, argv, environment);
}

int __real___libc_start_main(main_function *, int argc, char **argv, constructor *init,
			     void (*fini)(void), void (*loader_fini)(void), void *stack_end);
int __wrap___libc_start_main(main_function *, int argc, char **argv, constructor *init,
			     void (*fini)(void), void (*loader_fini)(void), void *stack_end);

int __wrap___libc_start_main(main_function *main, int argc, char **argv, constructor *init,
			     void (*fini)(void), void (*loader_fini)(void), void *stack_end)
{
	(void)init;
	return __real___libc_start_main(main, argc, argv, run_constructors, fini, loader_fini,
					stack_end);
}
