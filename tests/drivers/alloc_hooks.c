/*
 * Hooks the allocation functions of a process that uses the same C library, samples for a moment,
 * and restores them, again and again:
 *
 *	alloc_hooks PID CYCLES [die]
 *
 * After each cycle the bytes of the hooked functions must be what they were. With `die` it is
 * killed while the hooks of the last cycle are on. Prints how many samples there were and how long
 * all threads were held, in microseconds; status 1: a cycle left something behind, 2: the target
 * was refused.
 */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/profile/memory_sink.h"
#include "sampler/alloc/allocations.h"
#include "tests/drivers/distribution.h"

static const struct {
	const char *name;
	enum alloc_entry entry;
} names[] = {
	{ "malloc", ALLOC_MALLOC },
	{ "free", ALLOC_FREE },
	{ "calloc", ALLOC_CALLOC },
	{ "realloc", ALLOC_REALLOC },
	{ "memalign", ALLOC_ALIGNED },
	{ "aligned_alloc", ALLOC_ALIGNED },
	{ "posix_memalign", ALLOC_POSIX_ALIGNED },
};
#define NR_NAMES (sizeof(names) / sizeof(*names))

/* The executable mapping of libc in a process. */
static bool find_libc(pid_t pid, uint64_t *start, uint64_t *end)
{
	char path[64], *line = NULL;
	bool found = false;
	size_t size = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	f = fopen(path, "r");
	while (f && !found && getline(&line, &size, f) > 0)
		found = strstr(line, " r-xp ") && strstr(line, "/libc.so.6") &&
			sscanf(line, "%lx-%lx", start, end) == 2;
	free(line);
	if (f)
		fclose(f);
	return found;
}

static size_t find_functions(pid_t pid, struct alloc_function *ret)
{
	uint64_t own, own_end, start, end;
	void *libc = dlopen("libc.so.6", RTLD_NOW);
	size_t nr = 0;

	if (!libc || !find_libc(getpid(), &own, &own_end) || !find_libc(pid, &start, &end))
		return 0;
	for (size_t i = 0; i < NR_NAMES; i++) {
		void *at = dlsym(libc, names[i].name);
		const ElfW(Sym) * symbol;
		Dl_info info;

		if (!at || !dladdr1(at, &info, (void **)&symbol, RTLD_DL_SYMENT))
			continue;
		ret[nr] = (struct alloc_function){
			.name = (char *)names[i].name,
			.path = "libc.so.6",
			.entry = names[i].entry,
			.address = start + ((uint64_t)(uintptr_t)at - own),
			.size = symbol->st_size,
			.text_start = start,
			.text_end = end,
			.is_main = true,
		};
		memcpy(ret[nr++].file, at, ALLOC_FILE_BYTES);
	}
	return nr;
}

static bool is_as_before(pid_t pid, const struct alloc_function *functions, size_t nr)
{
	char path[64];
	bool same = true;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	f = fopen(path, "r");
	for (size_t i = 0; f && i < nr; i++) {
		uint8_t bytes[ALLOC_FILE_BYTES];

		if (fseek(f, (long)functions[i].address, SEEK_SET) ||
		    fread(bytes, sizeof(bytes), 1, f) != 1)
			break;
		same &= !memcmp(bytes, functions[i].file, sizeof(bytes));
	}
	if (f)
		fclose(f);
	return same;
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
	long cycles = argc > 2 ? atol(argv[2]) : 0, nr_failed = 0;
	bool die = argc > 3 && !strcmp(argv[3], "die"), same = true;
	struct alloc_function functions[NR_NAMES];
	struct distribution held = { 0 };
	struct profile *p = profile_new();
	struct sink *sink = profile_sink_new(p);
	size_t nr = find_functions(pid, functions);
	struct allocations *a;

	if (!nr || allocations_new(16384, NULL, NULL, &a)) {
		fprintf(stderr, "usage: alloc_hooks PID CYCLES [die]\n");
		return 2;
	}
	for (long i = 0; i < cycles; i++) {
		struct inject_reason reason = { "", "" };
		int err = allocations_attach(a, pid, functions, nr, &reason);
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
		same &= is_as_before(pid, functions, nr);
	}
	distribution_print(&held, "held");
	printf("%zu samples in %ld cycles, %ld refused, code %s\n", p->nr_samples / 2, cycles,
	       nr_failed, same ? "as before" : "CHANGED");
	allocations_free(a);
	profile_sink_free(sink);
	profile_free(p);
	return !same ? 1 : nr_failed > cycles / 10 ? 2 : 0;
}
