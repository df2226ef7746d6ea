// BUILD: -ldl -Wl,-rpath,$ORIGIN
/*
 * Programs that do one thing as often as they can, so that a disturbance by injected code shows at
 * once:
 *
 *	storm KIND MILLISECONDS, or until SIGTERM
 *
 *	malloc	four threads allocate, fill, check and free
 *	dlopen	two threads load libraries, call into them and unload them
 *	fork	two threads fork children, which exec or check their mappings and end
 *	thread	threads that live for less than a millisecond
 *	storage the same, with thread-local storage: static, of a library that is loaded again and
 *	        again, and by key
 *	fault   a thread discards the stack page that the next signal frame needs, while another
 *	        holds the lock that a page fault takes
 *	signal  a thread sends another one 1000 numbered signals at a time and checks that all
 *	        arrive
 *	exec	the program execs itself every few milliseconds
 *
 * Prints `rounds N bad N carried N`; carried counts the children that had sprof's shared memory
 * mapped (the code page below it does not count). Exits with status 1 if anything was bad.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/clock.h"

static atomic_long nr_rounds, nr_bad, nr_carried;
static uint64_t end_ns;
static volatile sig_atomic_t was_ended;

static bool is_over(void)
{
	return was_ended || monotonic_ns() >= end_ns;
}

static void *do_malloc(void *argument)
{
	unsigned int seed = (unsigned int)(uintptr_t)argument + 1;
	unsigned char *blocks[64] = { NULL };
	size_t sizes[64];

	while (!is_over()) {
		for (int n = 0; n < 500; n++) {
			unsigned int i = (unsigned int)rand_r(&seed) % 64;

			if (blocks[i] && (blocks[i][0] != (unsigned char)i ||
					  blocks[i][sizes[i] - 1] != (unsigned char)i))
				nr_bad++;
			free(blocks[i]);
			sizes[i] = (size_t)rand_r(&seed) % (n % 50 ? 2000 : 300000) + 1;
			blocks[i] = malloc(sizes[i]);
			memset(blocks[i], (int)i, sizes[i]);
		}
		nr_rounds++;
	}
	for (int i = 0; i < 64; i++)
		free(blocks[i]);
	return NULL;
}

static void *do_dlopen(void *argument)
{
	const char *name = argument ? "libplug_a.so" : "libplug_b.so";

	while (!is_over()) {
		void *library = dlopen(name, RTLD_NOW);
		Dl_info info;

		if (!library || !dlsym(library, argument ? "plug_a" : "plug_b") ||
		    !dladdr((void *)do_dlopen, &info))
			nr_bad++;
		if (library)
			dlclose(library);
		nr_rounds++;
	}
	return NULL;
}

/* Runs in a child: system calls only. */
static bool carries_mapping(void)
{
	static char text[65536];
	FILE *f = fopen("/proc/self/maps", "re");
	size_t nr = f ? fread(text, 1, sizeof(text) - 1, f) : 0;

	text[nr] = '\0';
	if (f)
		fclose(f);
	return strstr(text, "memfd:sprof");
}

static void *do_fork(void *argument)
{
	while (!is_over()) {
		bool execs = nr_rounds++ % 3 == 0;
		pid_t child = argument ? fork() : vfork();
		int status, result;

		if (!child && execs)
			execl("/bin/true", "true", (char *)NULL);
		if (!child)
			_exit(argument && carries_mapping() ? 9 : 7);
		if (child < 0) {
			nr_bad++;
			continue;
		}
		do
			result = waitpid(child, &status, 0);
		while (result < 0 && errno == EINTR);
		if (result != child || !WIFEXITED(status) ||
		    (WEXITSTATUS(status) != (execs ? 0 : 7) && WEXITSTATUS(status) != 9))
			nr_bad++;
		else
			nr_carried += WEXITSTATUS(status) == 9;
	}
	return NULL;
}

static void *live_shortly(void *argument)
{
	uint64_t sum = 0;

	for (uint64_t i = 0; i < 100000; i++)
		sum += i * i;
	*(uint64_t *)argument = sum;
	return argument;
}

static void *do_thread(void *argument)
{
	(void)argument;
	while (!is_over()) {
		uint64_t sums[4] = { 0 };
		pthread_t threads[4];

		for (int i = 0; i < 4; i++)
			if (pthread_create(&threads[i], NULL, live_shortly, &sums[i]))
				abort();
		for (int i = 0; i < 4; i++) {
			pthread_join(threads[i], NULL);
			if (sums[i] != 333328333350000)
				nr_bad++;
		}
		nr_rounds++;
	}
	return NULL;
}

#define STACK_BELOW (128ul << 10)
#define BIG (4ul << 20)

/*
 * Makes the kernel sleep while it sets up a signal frame, because the memory below the stack
 * pointer is missing.
 */
static void *do_fault(void *argument)
{
	char *below;

	while (!is_over() && (uintptr_t)argument % 2) {
		below = (char *)((uintptr_t)__builtin_frame_address(0) & ~4095ul) - STACK_BELOW;
		madvise(below, STACK_BELOW - 4096, MADV_DONTNEED);
		for (volatile int i = 0; i < 20000; i++)
			;
		nr_rounds++;
	}
	while (!is_over()) {
		char *memory = mmap(NULL, BIG, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

		nr_bad += memory == MAP_FAILED;
		munmap(memory, BIG);
		usleep(200);
	}
	return NULL;
}

static __thread uint64_t own_static;
static pthread_key_t own_key;
static atomic_long nr_freed;

static void free_own(void *value)
{
	if (*(uint64_t *)value != (uint64_t)(uintptr_t)value)
		nr_bad++;
	free(value);
	nr_freed++;
}

/*
 * Checks that a thread's storage starts initialized, is its own, and keeps what was written to it.
 */
static void *use_storage(void *argument)
{
	uint64_t *(*own_of_library)(void) = (uint64_t * (*)(void)) argument;
	uint64_t *by_key = malloc(sizeof(*by_key)), *by_library = own_of_library();

	nr_bad += own_static || *by_library || pthread_getspecific(own_key);
	*by_key = (uint64_t)(uintptr_t)by_key;
	pthread_setspecific(own_key, by_key);
	for (uint64_t i = 1; i <= 20000; i++) {
		own_static += i;
		*own_of_library() += i;
	}
	nr_bad += own_static != 200010000 || *by_library != 200010000 ||
		  pthread_getspecific(own_key) != by_key;
	return NULL;
}

static void *do_storage(void *argument)
{
	pthread_key_create(&own_key, free_own);
	while (!is_over()) {
		void *library = dlopen("libstorage.so", RTLD_NOW);
		void *own = library ? dlsym(library, "storage_own") : NULL;
		pthread_t threads[4];

		if (!own)
			abort();
		nr_freed = 0;
		for (int i = 0; i < 4; i++)
			if (pthread_create(&threads[i], NULL, use_storage, own))
				abort();
		for (int i = 0; i < 4; i++)
			pthread_join(threads[i], NULL);
		nr_bad += nr_freed != 4;
		dlclose(library);
		nr_rounds++;
	}
	return argument;
}

static atomic_int nr_received, sum_received;
static pthread_t receiver;

static void on_signal(int signal, siginfo_t *info, void *context)
{
	(void)signal;
	(void)context;
	nr_received++;
	sum_received += info->si_value.sival_int;
}

static void *do_send(void *argument)
{
	(void)argument;
	while (!is_over()) {
		int sent = 0, sum = 0;

		nr_received = sum_received = 0;
		for (int i = 0; i < 1000; i++) {
			if (pthread_sigqueue(receiver, SIGRTMIN + 3,
					     (union sigval){ .sival_int = i }))
				continue;
			sent++;
			sum += i;
		}
		for (int i = 0; i < 5000 && nr_received < sent; i++)
			usleep(1000);
		if (nr_received != sent || sum_received != sum)
			nr_bad++;
		nr_rounds++;
	}
	return NULL;
}

static void *do_receive(void *argument)
{
	(void)argument;
	while (!is_over())
		usleep(500); /* a signal may interrupt it */
	return NULL;
}

static int run(void *(*first)(void *), void *(*second)(void *), int nr)
{
	pthread_t threads[4];

	for (int i = 0; i < nr; i++)
		pthread_create(&threads[i], NULL, i ? second : first, (void *)(uintptr_t)i);
	for (int i = 0; i < nr; i++)
		pthread_join(threads[i], NULL);
	return 0;
}

static void exec_again(char **argv)
{
	char left[32], rounds[32], *next[5] = { argv[0], argv[1], left, rounds, NULL };
	uint64_t until = monotonic_ns() + 3000000, now;
	sigset_t set;

	/* A SIGTERM that arrives during an exec stays pending until it is checked here. */
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	if (argv[3])
		nr_rounds = atol(argv[3]);
	while ((now = monotonic_ns()) < until)
		;
	sigpending(&set);
	if (now >= end_ns || sigismember(&set, SIGTERM))
		return;
	snprintf(left, sizeof(left), "%lu", (unsigned long)((end_ns - now) / 1000000));
	snprintf(rounds, sizeof(rounds), "%ld", nr_rounds + 1);
	execv(argv[0], next);
	nr_bad++;
}

static void on_term(int number)
{
	(void)number;
	was_ended = 1;
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO };
	struct sigaction term = { .sa_handler = on_term, .sa_flags = SA_RESTART };
	const char *kind = argc > 2 ? argv[1] : "";

	end_ns = monotonic_ns() + (argc > 2 ? strtoull(argv[2], NULL, 10) : 0) * 1000000;
	sigaction(SIGTERM, &term, NULL);
	if (!strcmp(kind, "malloc")) {
		run(do_malloc, do_malloc, 4);
	} else if (!strcmp(kind, "dlopen")) {
		run(do_dlopen, do_dlopen, 2);
	} else if (!strcmp(kind, "fork")) {
		run(do_fork, do_fork, 2);
	} else if (!strcmp(kind, "thread")) {
		do_thread(NULL);
	} else if (!strcmp(kind, "fault")) {
		run(do_fault, do_fault, 2);
	} else if (!strcmp(kind, "storage")) {
		do_storage(NULL);
	} else if (!strcmp(kind, "exec")) {
		exec_again(argv);
	} else if (!strcmp(kind, "signal")) {
		sigaction(SIGRTMIN + 3, &action, NULL);
		pthread_create(&receiver, NULL, do_receive, NULL);
		run(do_send, do_send, 1);
		pthread_join(receiver, NULL);
	} else {
		return 2;
	}
	printf("rounds %ld bad %ld carried %ld\n", nr_rounds, nr_bad, nr_carried);
	return nr_bad != 0;
}
