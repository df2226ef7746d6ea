// reused library|process MS: two libraries whose functions have the same addresses but other frame
// sizes, used in turn in one process, or in children that reuse one process number. True shares:
// use;frame_a and its callees 60 %, use;frame_b and its callees 40 %.
// BUILD: -Wl,-rpath,$ORIGIN
#include "tests/targets/work.h"

#include <dlfcn.h>
#include <linux/sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define TURN_MS 120
#define LOOK_MS 250 /* long enough for a recorder to see what was loaded */

NOIPA void work(void)
{
	BURN(8);
}

static const struct {
	const char *file, *name;
} libraries[] = { { "libframe_a.so", "frame_a" }, { "libframe_b.so", "frame_b" } };

/* Turn `i`, called by the function `above`; returns the address of the library's function. */
NOIPA uintptr_t use(int i, const char *above)
{
	int which = i % 5 >= 3;
	void *handle = dlopen(libraries[which].file, RTLD_NOW);
	void (*frame)(void (*)(void)) =
		handle ? (void (*)(void (*)(void)))dlsym(handle, libraries[which].name) : NULL;
	uint64_t ns = 0;

	if (!frame) {
		fprintf(stderr, "reused: %s\n", dlerror());
		exit(1);
	}
	usleep(LOOK_MS * 1000);
	while (ns < TURN_MS * 1000000)
		TIMED(ns, frame(work));
	truth(ns, "main;%s;use;%s;work", above, libraries[which].name);
	dlclose(handle);
	return (uintptr_t)frame;
}

/* fork() that gives the child this process number; 0 = any. */
static pid_t fork_as(pid_t pid)
{
	struct clone_args args = {
		.exit_signal = SIGCHLD,
		.set_tid = pid ? (uint64_t)(uintptr_t)&pid : 0,
		.set_tid_size = pid > 0,
	};

	return (pid_t)syscall(SYS_clone3, &args, sizeof(args));
}

NOIPA uintptr_t use_here(int i)
{
	uintptr_t at = use(i, "use_here");

	NO_TAIL_CALL();
	return at;
}

/*
 * The same in a child with this process number, which the first child sets; returns 0 on success.
 */
NOIPA int use_as(pid_t *pid, int i, const int *to)
{
	pid_t child = fork_as(*pid);
	int status = 1;

	if (child == 0) {
		uintptr_t at = use(i, "use_as");

		_exit(write(to[1], &at, sizeof(at)) != sizeof(at));
	}
	if (child < 0 || waitpid(child, &status, 0) != child || (*pid && child != *pid)) {
		perror("reused: clone3");
		return 1;
	}
	*pid = child;
	return status;
}

int main(int argc, char **argv)
{
	int processes = argc > 1 && strcmp(argv[1], "process") == 0, to[2];
	uint64_t turns = (argc > 2 ? strtoull(argv[2], NULL, 10) : 3000) / TURN_MS;
	uintptr_t at, before = 0;
	pid_t pid = 0;

	if (pipe(to))
		return 1;
	for (uint64_t i = 0; i < turns; i++) {
		if (!processes)
			at = use_here((int)i);
		else if (use_as(&pid, (int)i, to) || read(to[0], &at, sizeof(at)) != sizeof(at))
			return 1;
		if (before && at != before) {
			fprintf(stderr, "reused: the libraries did not share an address\n");
			return 1;
		}
		before = at;
	}
	return 0;
}
