/*
 * Takes any bytes as an ELF file and looks up addresses all over it, with DWARF. Names must be
 * valid text, and every frame must be named or counted. The same bytes serve as the split DWARF of
 * the file: as its package, and as its .dwo file where it names descriptor 77.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/base/log.h"
#include "core/profile/profile.h"
#include "symbolizer/symbolizer.h"

#define NR_ADDRESSES 256
#define INPUT_FD 77

static char path[64], package[sizeof(path) + 4];

static void remove_package(void)
{
	unlink(package);
}

/* Creates a path ending in .dwp for the file that is open as INPUT_FD. */
static void __attribute__((constructor)) make_package(void)
{
	snprintf(path, sizeof(path), "/tmp/sprof-fuzz-%d", (int)getpid());
	snprintf(package, sizeof(package), "%s.dwp", path);
	if (!symlink("/proc/self/fd/77", package))
		atexit(remove_package);
}

static int open_input(void *context, uint32_t module)
{
	(void)module;
	return dup(*(int *)context);
}

static void check(const struct profile *p, const struct symbolizer_stats *stats)
{
	size_t unnamed = 0;

	for (size_t i = 0; i < p->nr_frames; i++) {
		const struct profile_frame *f = &p->frames[i];

		/* A function whose name is an address counts as unnamed. */
		unnamed += !f->nr_locations ||
			   p->functions[p->locations[f->first_location].function].kind ==
				   FUNCTION_UNKNOWN;
	}
	if (unnamed != stats->nr_unnamed || stats->nr_frames != p->nr_frames)
		abort();
	for (size_t i = 0; i < p->nr_locations; i++) {
		if (!profile_str(p, p->functions[p->locations[i].function].name)[0])
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct profile_module module = { .kind = MODULE_ELF };
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	const struct symbolizer_opts opts = {
		.open_module = open_input,
		.context = &fd,
		.debug_dir = "/nonexistent",
	};
	struct symbolizer_stats stats;
	struct profile *p;
	uint32_t id;

	log_set_level(LOG_QUIET);
	if (fd < 0 || write(fd, data, size) != (ssize_t)size || dup2(fd, INPUT_FD) < 0)
		abort();
	p = profile_new();
	module.path = profile_cstring(p, path);
	id = profile_module(p, &module);
	for (size_t i = 0; i < NR_ADDRESSES; i++)
		profile_frame(p, id, size * i / NR_ADDRESSES);
	symbolizer_run(p, &opts, &stats);
	check(p, &stats);
	profile_free(p);
	close(INPUT_FD);
	close(fd);
	return 0;
}
