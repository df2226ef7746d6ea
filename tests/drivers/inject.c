/*
 * Stops a thread of a process again and again, makes it run system calls, and lets it go:
 *
 *	inject PID CYCLES [keep]
 *
 * Each cycle brings the stub and removes it again, or with `keep` leaves it for the next one. At
 * the end it prints the durations of the stops, in microseconds, and how many cycles worked; status
 * 1 if a cycle gave a wrong result, 2 if the target was refused.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "core/base/alloc.h"
#include "sampler/inject/inject.h"
#include "tests/drivers/distribution.h"

struct cycle {
	pid_t pid;
	bool keep;
	struct distribution *bring, *take;
	const char *wrong;
};

/* Makes the target query its own process id, and reads a string back from the scratch memory. */
static int use(struct inject *i, struct cycle *c)
{
	const uint64_t none[6] = { 0 };
	struct inject_call calls[2] = { { .target = SYS_getpid }, { .target = SYS_uname } };
	char name[390] = "";
	int64_t pid;
	int err = inject_syscall(i, SYS_getpid, none, &pid);

	calls[1].args[0] = inject_scratch(i);
	for (int n = 0; n < 20 && !err; n++) { /* more calls than the mailbox has slots */
		err = inject_calls(i, calls, 2, 1000);
		if (!err && ((int64_t)calls[0].result != pid || calls[1].result))
			c->wrong = "result";
	}
	if (!err)
		err = inject_process_read(inject_process(i), inject_scratch(i), name, sizeof(name));
	if (!err && strcmp(name, "Linux"))
		c->wrong = "memory";
	return err;
}

static int cycle(struct inject *i, void *context)
{
	struct inject_reason reason;
	struct cycle *c = context;
	int err = inject_stop(i, 250, NULL, NULL, &reason);

	if (err) {
		fprintf(stderr, "stop: %s\n", reason.why);
		return err;
	}
	err = use(i, c);
	if (inject_resume(i))
		err = -ESRCH;
	distribution_add(c->bring, inject_stop_ns(i));
	if (err || c->keep)
		return err;
	err = inject_stop(i, 250, NULL, NULL, &reason);
	if (!err)
		err = inject_unmap(i, inject_stub(i), INJECT_STUB_SIZE);
	distribution_add(c->take, inject_stop_ns(i));
	return err;
}

int main(int argc, char **argv)
{
	struct distribution bring = { 0 }, take = { 0 };
	struct cycle c = { .bring = &bring, .take = &take };
	struct inject_reason reason;
	long nr, ok = 0;

	if (argc < 3)
		return 2;
	c.pid = atoi(argv[1]);
	nr = atol(argv[2]);
	c.keep = argc > 3;
	for (long n = 0; n < nr; n++) {
		int err;

		reason.why[0] = '\0';
		err = inject_run(c.pid, 0, cycle, &c, &reason);
		if (reason.why[0]) {
			printf("refused: %s\nhint: %s\n%s", reason.why, reason.hint,
			       reason.only_outside ? "only from outside\n" : "");
			return 2;
		}
		if (c.wrong) {
			printf("wrong %s\n", c.wrong);
			return 1;
		}
		if (err)
			printf("cycle %ld: %s\n", n, strerror(-err));
		else
			ok++;
	}
	distribution_print(&bring, "stop to bring");
	distribution_print(&take, "stop to take away");
	printf("cycles %ld ok %ld\n", nr, ok);
	return ok != nr;
}
