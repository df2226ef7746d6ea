/*
 * Loads a library into a process again and again:
 *
 *	dlopen PID LIBRARY [CYCLES [LIMIT_MS [BYTES]]]
 *
 * Files of the process are parsed in children, which may allocate BYTES. Prints how long a thread
 * stood still, in microseconds, and the result. Status 0: every cycle loaded the library or was
 * told to try again; 1: something failed; 2: refused in the first cycle.
 */
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/sandbox/sandbox.h"
#include "sampler/attach/remote_dlopen.h"
#include "tests/drivers/distribution.h"

int main(int argc, char **argv)
{
	long nr = argc > 3 ? atol(argv[3]) : 1, nr_ok = 0, nr_busy = 0, n;
	struct remote_library library = {
		.mode = RTLD_NOW,
		.limit_ms = argc > 4 ? (unsigned int)atoi(argv[4]) : 1000,
	};
	struct sandbox *sandbox;
	struct distribution stops = { 0 };

	if (argc < 3)
		return 2;
	if (sandbox_new(&sandbox))
		return 1;
	if (argc > 5)
		sandbox_set_memory(sandbox, strtoull(argv[5], NULL, 10));
	library.path = argv[2];
	library.sandbox = sandbox;
	for (n = 0; n < nr && !kill(atoi(argv[1]), 0); n++) {
		struct inject_reason reason;
		struct remote_dlopen result;
		int err = remote_dlopen(atoi(argv[1]), &library, &result, &reason);

		if (err && !n) {
			printf("refused: %s\nhint: %s\n%s", reason.why, reason.hint,
			       reason.only_outside ? "only from outside\n" : "");
			return 2;
		}
		if (err)
			printf("cycle %ld: %s\n", n, reason.why);
		nr_busy += err == -EBUSY;
		nr_ok += !err;
		if (!err)
			distribution_add(&stops, result.stop_ns);
	}
	distribution_print(&stops, "dlopen");
	printf("cycles %ld ok %ld busy %ld\n", n, nr_ok, nr_busy);
	sandbox_free(sandbox);
	return nr_ok + nr_busy != n;
}
