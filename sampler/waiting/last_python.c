/*
 * A thread in a wait changes none of its frames, and its frames keep their code objects alive. So
 * all that is read of a process at the end belongs together, and is read once for all its threads:
 * most of them run the same code. The reads are made by readers that can be left behind.
 */
#include "sampler/waiting/last_python.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/proc_status.h"
#include "core/portable/frames.h"
#include "core/portable/pycode.h"
#include "core/portable/pylayout.h"
#include "core/untrusted/remote_read.h"
#include "sampler/bpf/events.h"
#include "sampler/runtimes/python/stopped_thread.h"

#define LAST_PYTHON_NS (1000ull * 1000 * 1000)
/* No CPU gives such numbers to code objects (python.bpf.h). */
#define FIRST_CODE (0xfffull << 28)

_Static_assert((FIRST_CODE & ~CODE_ID_MASK) == 0, "a number of a code object");

struct last_python {
	struct python_reader reader;
	struct python_stopped *stopped;
	uint64_t until_ns; /* 0: nothing was read yet */
};

struct last_python *last_python_new(struct python_codes *codes)
{
	struct last_python *l = xcalloc(1, sizeof(*l));

	l->reader.codes = codes;
	l->reader.next_id = FIRST_CODE;
	l->reader.read = remote_read;
	l->reader.keeps = true;
	return l;
}

void last_python_free(struct last_python *l)
{
	if (!l)
		return;
	free(l->reader.blocks);
	free(l->stopped);
	free(l);
}

static void begin(struct last_python *l, pid_t pid, const struct py_layout *layout)
{
	struct python_reader *r = &l->reader;

	if (!l->until_ns) {
		l->until_ns = monotonic_ns() + LAST_PYTHON_NS;
		l->stopped = python_stopped_new(MAX_USER_FRAMES);
		r->blocks = xcalloc(PYTHON_BLOCKS, sizeof(*r->blocks));
	}
	r->layout = layout;
	if (r->pid == pid)
		return;
	r->pid = pid;
	memset(r->known, 0, sizeof(r->known));
	for (size_t i = 0; i < PYTHON_BLOCKS; i++)
		r->blocks[i].size = 0;
}

static uint64_t status_number(const char *status, const char *name)
{
	const char *value = proc_status_value(status, name);

	return value ? strtoull(value, NULL, 10) : 0;
}

/* Has it been in one wait, from when its stack was copied until now? */
static bool still_waits(const struct snapshot_event *e)
{
	char status[4096];
	const char *state;

	if (proc_text(status, sizeof(status), "/proc/%" PRIu32 "/task/%" PRIu32 "/status",
		      e->sample.header.tgid, e->sample.tid))
		return false;
	state = proc_status_value(status, "State");
	return state && *state != 'R' &&
	       status_number(status, "voluntary_ctxt_switches") +
			       status_number(status, "nonvoluntary_ctxt_switches") ==
		       e->switches;
}

void last_python_read(struct last_python *l, const struct py_layout *layout,
		      const struct snapshot_event *e, struct python_runs *ret_runs,
		      bool *ret_broken)
{
	*ret_runs = (struct python_runs){ 0 };
	begin(l, (pid_t)e->sample.header.tgid, layout);
	*ret_broken = monotonic_ns() >= l->until_ns;
	if (*ret_broken)
		return;
	python_stopped_walk(l->stopped, &l->reader, e->thread_pointer, l->until_ns);
	*ret_broken = l->stopped->broken;
	if (l->stopped->runs.nr && !still_waits(e))
		*ret_broken = true;
	else
		*ret_runs = l->stopped->runs;
}
