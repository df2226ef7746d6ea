/*
 * Attaching is one stop of one thread: the thread maps the files and installs the handler itself.
 * Where the machine is so busy that the thread has gone on by itself before all was done, what was
 * mapped is removed and all is tried again.
 */
#include "sampler/attach/attach.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "sampler/attach/detach.h"
#include "sampler/attach/hand_over.h"
#include "sampler/inject/inject.h"
#include "sampler/inject/x86_64/syscall_restart.h"
#include "sampler/attach/payload.h"
#include "core/base/proc_status.h"
#include "core/untrusted/target_mounts.h"

#define STOP_LIMIT_MS 500u
#define CALL_LIMIT_MS 2000u
#define STUB_NS (10ull * 1000 * 1000) /* far more CPU time than the stub takes */
#define TRIES 4
/* Doubled with each try, because on a busy machine threads are released late. */
#define FIRST_PAUSE_NS (20 * 1000 * 1000)
#define GO_SIGNAL 62

struct attach {
	pid_t pid;
	struct attach_files files;
	struct attach_layout layout;
	struct attach_stops stops;
	int32_t signal; /* that the caller wants; 0: any */
	bool renumbers; /* its threads have other numbers in its own PID namespace */
	struct inject_reason *reason;
};

/*
 * Is it a Go program? Go's runtime has a handler for every signal; that of a real-time signal only
 * passes it to channels of signal.Notify, and our handler calls it for signals that are not ours.
 * Go's build id is a note.
 */
static bool is_go(pid_t pid)
{
	uint8_t head[4096];
	ssize_t n;
	int fd;

	fd = target_mounts_open_exe(pid);
	n = fd < 0 ? -1 : pread(fd, head, sizeof(head), 0);
	if (fd >= 0)
		close(fd);
	return n > 0 && memmem(head, (size_t)n, "\x04\0\0\0Go\0\0", 8);
}

static int write_payload(const struct attach_files *files)
{
	if (payload_bin_size > REGION_CODE_SIZE)
		return -EFBIG;
	if (pwrite(files->region_fd, payload_bin, payload_bin_size, 0) != (ssize_t)payload_bin_size)
		return -EIO;
	return 0;
}

static struct inject_call enter_call(const struct attach *a)
{
	const struct agent_payload *payload = (const struct agent_payload *)payload_bin;

	return (struct inject_call){ a->layout.code + payload->enter,
				     { a->layout.region, AGENT_INSTALL | AGENT_ARM, 0, 0, 0,
				       a->layout.region + offsetof(struct agent_region, stack) +
					       REGION_STACK_SIZE },
				     0 };
}

/* Installs our handler over that of Go's runtime. */
static int install_over(struct inject *i, const struct attach *a, int64_t *ret_result)
{
	struct inject_call call = enter_call(a);
	int err;

	a->files.region->signal = GO_SIGNAL;
	err = inject_calls(i, &call, 1, CALL_LIMIT_MS);
	*ret_result = (int64_t)call.result;
	return err;
}

static int refuse_result(const struct attach *a, int64_t result)
{
	if (result == -EBUSY)
		return inject_refuse_entry(
			a->reason, -EBUSY, "",
			"it has a handler of its own for every real-time signal");
	return inject_refuse_entry(a->reason, (int)result, "try again",
				   "its timers could not be set up: %s", strerror((int)-result));
}

/* The stub is there. If this fails, what was mapped is unmapped again. */
static int bring(struct inject *i, struct attach *a)
{
	struct agent_region *r = a->files.region;
	struct inject_call call;
	int64_t result = 0;
	int err;

	attach_layout(inject_stub(i), a->files.arena_fd >= 0 ? a->files.arena_size : 0, &a->layout);
	r->arena = a->layout.end > a->layout.arena ? a->layout.arena : 0;
	call = enter_call(a);
	err = attach_memory_map(i, &a->files, &a->layout, &call, &result, a->reason);
	if (!err && result == -EBUSY && !r->signal && is_go(a->pid))
		err = install_over(i, a, &result);
	if (!err && result)
		err = refuse_result(a, result);
	/* The thread may still be doing what it was asked for, only late: it is stopped first. */
	if (err)
		inject_halt(i);
	if (err && r->installed) {
		inject_resume(i);
		attach_detach(i, &a->layout, NULL, &(struct inject_reason){ 0 });
		return err;
	}
	/* What the process has mapped behind the stub since its maps were read is its own. */
	if (err)
		inject_unmap(i, a->layout.stub,
			     err == -EEXIST ? INJECT_STUB_SIZE : a->layout.end - a->layout.stub);
	return err;
}

/*
 * The stub runs on the stopped thread's CPU time. If that thread's timer expired before the thread
 * goes on, a sleep that is to be resumed would end with EINTR. So its timer is delayed by more than
 * the stub can take.
 */
static void hold_back(const struct inject *i, const struct attach *a)
{
	const struct inject_thread *thread = inject_thread(i);
	struct agent_region *r = a->files.region;
	pid_t tid = thread->tid;
	int unused, slot;

	if (!inject_restart_is_pending(&thread->state.regs))
		return;
	if (a->renumbers)
		tid = proc_status_inner(tid, &unused);
	slot = agent_slot_find(r, tid);
	if (slot >= 0)
		__atomic_store_n(&r->slots[slot].delay_ns, STUB_NS, __ATOMIC_RELAXED);
}

static int begin(struct inject *i, void *context)
{
	struct attach *a = context;
	int err = attach_recover(i, a->reason);

	if (!err)
		err = inject_stop(i, STOP_LIMIT_MS, NULL, NULL, a->reason);
	if (err)
		return err;
	hold_back(i, a);
	err = bring(i, a);
	if (!err)
		err = inject_resume(i);
	a->stops.begin_ns = inject_stop_ns(i);
	return err;
}

/*
 * A first try that came too late was undone. The region must not keep what it says of that try:
 * with `installed` set no handler would be installed, and the next signal would end the program.
 */
static void begin_anew(const struct attach *a)
{
	struct agent_region *r = a->files.region;

	r->signal = a->signal;
	r->busy = 0;
	r->state = AGENT_OFF;
	__atomic_store_n(&r->installed, 0, __ATOMIC_RELEASE);
}

int attach_begin(pid_t pid, const struct attach_files *files, struct attach **ret,
		 struct inject_reason *reason)
{
	struct attach *a = xcalloc(1, sizeof(*a));
	int err = write_payload(files), nr;

	a->pid = pid;
	a->files = *files;
	a->reason = reason;
	a->signal = files->region->signal;
	a->renumbers = proc_status_inner(pid, &nr) && nr > 1;
	if (err)
		inject_refuse(reason, err, "", "the code for it could not be prepared: %s",
			      strerror(-err));
	/*
	 * -ETIMEDOUT: the thread was held for too long, because we got no CPU, and has gone on by
	 * itself.
	 */
	for (int tries = 0; tries < TRIES && (!tries || err == -ETIMEDOUT); tries++) {
		if (tries)
			nanosleep(&(struct timespec){ 0, FIRST_PAUSE_NS << (tries - 1) }, NULL);
		begin_anew(a);
		err = err && !tries ? err : inject_run(pid, 0, begin, a, reason);
	}
	if (err) {
		free(a);
		return err;
	}
	*ret = a;
	return 0;
}

static int end(struct inject *i, void *context)
{
	struct attach *a = context;
	uint32_t cookie = 0;
	uint64_t at = a->layout.region + offsetof(struct agent_region, cookie);

	/* Does the process run another program by now? */
	if (inject_process_read(inject_process(i), at, &cookie, sizeof(cookie)) ||
	    cookie != a->files.region->cookie)
		return 0;
	return attach_detach(i, &a->layout, &a->stops, a->reason);
}

int attach_end(struct attach *a, struct attach_stops *ret_stops, struct inject_reason *reason)
{
	uint64_t begin_ns = a->stops.begin_ns;
	int err = -EBUSY;

	a->reason = reason;
	for (int tries = 0; tries < TRIES && (err == -ETIMEDOUT || err == -EBUSY); tries++)
		err = inject_run(a->pid, tries ? 0 : a->layout.stub, end, a, reason);
	a->stops.begin_ns = begin_ns;
	if (ret_stops)
		*ret_stops = a->stops;
	free(a);
	return err == -ESRCH ? 0 : err;
}
