/*
 * Hooks the allocation functions of a process that uses the same C library, or the same $LIBRARY,
 * samples for a moment, and restores them, again and again:
 *
 *	alloc_hooks PID CYCLES [die|probed]
 *
 * After each cycle all of the library's code must be what it was. With `die` it is killed while the
 * hooks of the last cycle are on. With `probed` breakpoints of another tool may be on the
 * functions, which are refused then. SIGTERM ends it after a cycle. Prints how many samples there
 * were and how long all threads were held, in microseconds; status 1: a cycle left something
 * behind, 2: the target was refused more than once, and more than once in a hundred times.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/profile/source.h"
#include "sampler/alloc/alloc_names.h"
#include "sampler/alloc/allocations.h"
#include "tests/drivers/distribution.h"

#define MAX_FUNCTIONS 64u
#define BREAKPOINT 0xcc

/* The executable mapping of the library, here and there. */
struct texts {
	uint64_t own, own_end, start, end;
};

static const char *library(void)
{
	const char *name = getenv("LIBRARY");

	return name ? name : "libc.so.6";
}

static bool find_text(pid_t pid, uint64_t *start, uint64_t *end)
{
	char path[64], *line = NULL;
	bool found = false;
	size_t size = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	f = fopen(path, "r");
	while (f && !found && getline(&line, &size, f) > 0)
		found = strstr(line, " r-xp ") && strstr(line, library()) &&
			sscanf(line, "%lx-%lx", start, end) == 2;
	free(line);
	if (f)
		fclose(f);
	return found;
}

static size_t find_functions(pid_t pid, struct texts *t, struct alloc_function *ret)
{
	void *handle = dlopen(library(), RTLD_NOW);
	size_t nr = 0;

	if (!handle || !find_text(getpid(), &t->own, &t->own_end) ||
	    !find_text(pid, &t->start, &t->end) || t->own_end - t->own != t->end - t->start)
		return 0;
	for (size_t i = 0; i < nr_alloc_names && nr < MAX_FUNCTIONS; i++) {
		void *at = dlsym(handle, alloc_names[i].name);
		const ElfW(Sym) * symbol;
		Dl_info info;

		if ((uint64_t)(uintptr_t)at < t->own || (uint64_t)(uintptr_t)at >= t->own_end ||
		    alloc_names[i].entry >= NR_ALLOC_ENTRIES ||
		    !dladdr1(at, &info, (void **)&symbol, RTLD_DL_SYMENT))
			continue;
		ret[nr] = (struct alloc_function){
			.name = (char *)alloc_names[i].name,
			.path = library(),
			.entry = alloc_names[i].entry,
			.address = t->start + ((uint64_t)(uintptr_t)at - t->own),
			.size = symbol->st_size,
			.text_start = t->start,
			.text_end = t->end,
			.is_main = true,
		};
		memcpy(ret[nr++].file, at, ALLOC_FILE_BYTES);
	}
	return nr;
}

static bool is_start(const struct alloc_function *functions, size_t nr, uint64_t address)
{
	for (size_t i = 0; i < nr; i++)
		if (functions[i].address == address)
			return true;
	return false;
}

/* Compares all code of the library with our own; `probed` as above. */
static bool is_as_before(pid_t pid, const struct texts *t, const struct alloc_function *functions,
			 size_t nr, bool probed)
{
	const uint8_t *own = (const uint8_t *)(uintptr_t)t->own;
	size_t size = (size_t)(t->end - t->start), nr_other = 0;
	uint8_t *is = xmalloc(size);
	char path[64];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = pread(fd, is, size, (off_t)t->start);
	close(fd);
	for (size_t i = 0; n == (ssize_t)size && i < size; i++)
		nr_other += is[i] != own[i] && !(probed && is[i] == BREAKPOINT &&
						 is_start(functions, nr, t->start + i));
	free(is);
	return n <= 0 || (n == (ssize_t)size && !nr_other); /* it may have ended */
}

static volatile sig_atomic_t is_over;

static void end_soon(int signal)
{
	(void)signal;
	is_over = 1;
}

static void sample_for_a_moment(struct allocations *a, struct sink *sink)
{
	allocations_start(a);
	for (int i = 0; i < 4; i++) {
		nanosleep(&(struct timespec){ 0, 1000000 }, NULL);
		allocations_drain(a, sink);
	}
}

int main(int argc, char **argv)
{
	pid_t pid = argc > 2 ? (pid_t)atoi(argv[1]) : 0;
	long cycles = argc > 2 ? atol(argv[2]) : 0, nr = 0, nr_failed = 0;
	bool die = argc > 3 && !strcmp(argv[3], "die"), same = true;
	bool probed = argc > 3 && !strcmp(argv[3], "probed");
	struct texts texts;
	struct alloc_function functions[MAX_FUNCTIONS];
	struct distribution held = { 0 };
	struct profile *p = profile_new();
	struct sink *sink = profile_sink_new(p);
	size_t nr_functions = find_functions(pid, &texts, functions);
	struct allocations *a;

	if (!nr_functions || allocations_new(16384, false, NULL, NULL, &a)) {
		fprintf(stderr, "usage: alloc_hooks PID CYCLES [die|probed]\n");
		return 2;
	}
	signal(SIGTERM, end_soon);
	for (long i = 0; i < cycles && !is_over; i++, nr++) {
		struct inject_reason reason = { 0 };
		int err = allocations_attach(a, pid, functions, nr_functions, &reason);
		size_t nr_threads;
		uint64_t ns;

		if (err) {
			fprintf(stderr, "cycle %ld: %s\n", i, reason.why);
			nr_failed++;
			if (err == -ESRCH)
				break;
			continue;
		}
		allocations_stopped(a, &ns, &nr_threads);
		distribution_add(&held, ns);
		sample_for_a_moment(a, sink);
		if (die && i == cycles - 1)
			raise(SIGKILL);
		allocations_stop(a, sink);
		same &= is_as_before(pid, &texts, functions, nr_functions, probed);
	}
	distribution_print(&held, "held");
	printf("%zu samples in %ld cycles, %ld refused, code %s%s\n", p->nr_samples / 2, nr,
	       nr_failed, same ? "as before" : "CHANGED", same ? ": ok" : "");
	allocations_free(a);
	profile_sink_free(sink);
	profile_free(p);
	return !same ? 1 : !probed && nr_failed > 1 + nr / 100 ? 2 : 0;
}
