/*
 * The order matters. A handler that has begun must find its code until it has returned, and no
 * signal of ours may arrive after the program's own action is restored, because that action may be
 * to end the process:
 *
 *	1. no more samples: handlers from now on only delete their own timer
 *	2. the signal is ignored, which drops what is pending in all threads; no handler begins
 *	3. every thread has been seen outside our code once
 *	4. all timers are deleted, the program's own action is restored, the memory is unmapped
 */
#include "sampler/attach/detach.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>

#include "core/base/clock.h"
#include "sampler/attach/attach.h"
#include "sampler/attach/hand_over.h"
#include "sampler/inject/inject.h"
#include "sampler/inject/quiesce.h"
#include "sampler/inject/x86_64/registers.h"

#define STOP_LIMIT_MS 1000u
#define CALL_LIMIT_MS 5000u
#define OUTSIDE_LIMIT_MS 5000u
#define BUSY_LIMIT_MS 100u
#define PAUSE_NS 200000
#define SIGNAL_SET_SIZE 8u
#define ACTION_IGNORE 1u
#define SILENCE_NS 1100000000ull /* so long without a heartbeat: the recorder is dead */
#define LISTEN_NS 20000000

struct detaching {
	struct inject *inject;
	const struct attach_layout *layout;
	struct inject_reason *reason;
	struct agent_payload payload;
	struct agent_sigaction old_action;
	int32_t signal;
	bool gives_back; /* the old action is to be restored */
};

static int read_field(const struct detaching *d, size_t offset, void *value, size_t size)
{
	return inject_process_read(inject_process(d->inject), d->layout->region + offset, value,
				   size);
}

static int write_field(const struct detaching *d, size_t offset, uint32_t value)
{
	return inject_process_write(inject_process(d->inject), d->layout->region + offset, &value,
				    sizeof(value));
}

/* Waits for the handlers that run, which may still make timers. */
static void wait_not_busy(const struct detaching *d)
{
	uint64_t busy;

	for (unsigned int ms = 0; ms < BUSY_LIMIT_MS * 5; ms++) {
		if (read_field(d, offsetof(struct agent_region, busy), &busy, sizeof(busy)) ||
		    !busy)
			return;
		nanosleep(&(struct timespec){ 0, PAUSE_NS }, NULL);
	}
}

/* Is the thread outside our code just now? */
static bool is_outside(void *context, const struct inject_thread *t)
{
	const struct attach_layout *l = context;

	uint64_t pc = inject_regs_pc(&t->state.regs);

	return pc < l->stub || pc >= l->end;
}

static int stop(struct detaching *d)
{
	int err = -EBUSY;

	for (int tries = 0; tries < 5 && err == -EBUSY; tries++)
		err = inject_stop(d->inject, STOP_LIMIT_MS, is_outside, (void *)d->layout,
				  d->reason);
	return err;
}

/*
 * A call of rt_sigaction(2) in the stopped target: the new action is read at `to`, the old one is
 * written at `from`.
 */
static struct inject_call action_call(const struct detaching *d, uint64_t to, uint64_t from)
{
	return (struct inject_call){ SYS_rt_sigaction,
				     { (uint64_t)d->signal, to, from, SIGNAL_SET_SIZE },
				     0 };
}

static int set_action(const struct detaching *d, const struct agent_sigaction *action,
		      struct agent_sigaction *ret_before)
{
	const struct inject_process *p = inject_process(d->inject);
	const uint64_t at = inject_scratch(d->inject), before = at + sizeof(*action);
	struct inject_call call = action_call(d, at, before);
	int err = inject_is_held(d->inject);

	if (!err)
		err = inject_process_write(p, at, action, sizeof(*action));
	if (!err)
		err = inject_calls(d->inject, &call, 1, CALL_LIMIT_MS);
	if (!err && call.result)
		return (int)call.result;
	if (!err)
		err = inject_process_read(p, before, ret_before, sizeof(*ret_before));
	return err ? err : inject_is_held(d->inject);
}

static int ignore_signal(struct detaching *d)
{
	const struct agent_sigaction ignore = { .handler = ACTION_IGNORE };
	struct agent_sigaction before, none;
	int err = set_action(d, &ignore, &before);

	if (err)
		return err;
	/*
	 * The signal may be ignored already, by a recorder that was killed. A new handler of the
	 * program's stays.
	 */
	d->gives_back = before.handler == ACTION_IGNORE ||
			(before.handler >= d->layout->code && before.handler < d->layout->region);
	return d->gives_back ? 0 : set_action(d, &before, &none);
}

static int first_stop(struct detaching *d, uint64_t *ret_ns)
{
	int err = stop(d), resumed;

	if (err)
		return err;
	err = ignore_signal(d);
	resumed = inject_resume(d->inject);
	*ret_ns = inject_stop_ns(d->inject);
	return err ? err : resumed;
}

/* Deletes all timers and restores the program's own action. */
static int give_back(struct detaching *d)
{
	const uint64_t at = inject_scratch(d->inject);
	struct inject_call calls[2];
	unsigned int nr = 0;
	int err = 0;

	if (d->payload.enter)
		calls[nr++] = (struct inject_call){ d->layout->code + d->payload.enter,
						    { d->layout->region, AGENT_DISARM, 0, 0, 0,
						      d->layout->region +
							      offsetof(struct agent_region, stack) +
							      REGION_STACK_SIZE },
						    0 };
	if (d->gives_back) {
		calls[nr++] = action_call(d, at, 0);
		err = inject_is_held(d->inject)
			      ?: inject_process_write(inject_process(d->inject), at, &d->old_action,
						      sizeof(d->old_action));
	}
	if (!err && nr)
		err = inject_calls(d->inject, calls, nr, CALL_LIMIT_MS);
	for (unsigned int n = 0; n < nr && !err; n++)
		err = (int)calls[n].result;
	return err;
}

static int last_stop(struct detaching *d, uint64_t *ret_ns)
{
	int err = stop(d), unmapped;

	if (err)
		return err;
	err = give_back(d);
	if (err) {
		inject_resume(d->inject);
		return err;
	}
	unmapped = inject_unmap(d->inject, d->layout->stub, d->layout->end - d->layout->stub);
	*ret_ns = inject_stop_ns(d->inject);
	return unmapped;
}

/* Reads from the region how far its recorder had come. */
static int read_journal(struct detaching *d)
{
	uint32_t installed = 0;
	int err;

	d->signal = 0;
	err = read_field(d, offsetof(struct agent_region, installed), &installed, 4);
	if (!err && installed)
		err = read_field(d, offsetof(struct agent_region, signal), &d->signal, 4);
	if (!err && installed)
		err = read_field(d, offsetof(struct agent_region, old_action), &d->old_action,
				 sizeof(d->old_action));
	if (!err)
		err = inject_process_read(inject_process(d->inject), d->layout->code, &d->payload,
					  sizeof(d->payload));
	if (d->payload.magic != AGENT_PAYLOAD_MAGIC || d->payload.enter >= REGION_CODE_SIZE)
		d->payload.enter = 0; /* it was never run */
	return err;
}

static int wait_outside(const struct detaching *d)
{
	const struct quiesce_range ours = { d->layout->stub, d->layout->end };

	return quiesce_wait(inject_process(d->inject), &ours, 1, OUTSIDE_LIMIT_MS);
}

int attach_detach(struct inject *inject, const struct attach_layout *layout,
		  struct attach_stops *ret, struct inject_reason *reason)
{
	struct detaching d = { .inject = inject, .layout = layout, .reason = reason };
	struct attach_stops stops = { 0 };
	int err = read_journal(&d);

	reason->why[0] = '\0';
	if (!err)
		err = write_field(&d, offsetof(struct agent_region, state), AGENT_OFF);
	if (!err)
		err = write_field(&d, offsetof(struct agent_region, mailbox), 0);
	if (!err)
		wait_not_busy(&d);
	if (!err && d.signal)
		err = first_stop(&d, &stops.quiet_ns);
	if (!err)
		err = wait_outside(&d);
	if (!err)
		err = last_stop(&d, &stops.end_ns);
	if (ret)
		*ret = stops;
	/* The memory is gone: the process has ended, or runs another program. */
	if (err == -EFAULT || err == -ESRCH || err == -ENOEXEC)
		return 0;
	if (err && !reason->why[0])
		inject_refuse(reason, err, "sprof record -p PID --source timer tries again",
			      "what was put into it could not be taken out: %s", strerror(-err));
	return err;
}

static uint64_t heartbeat_of(const struct detaching *d)
{
	uint64_t heartbeat = 0;

	read_field(d, offsetof(struct agent_region, heartbeat_ns), &heartbeat, sizeof(heartbeat));
	return heartbeat;
}

/* Does its recorder live? A living one raises the heartbeat several times a second. */
static bool beats(const struct detaching *d)
{
	uint64_t first = heartbeat_of(d);
	uint32_t state = AGENT_OFF;

	read_field(d, offsetof(struct agent_region, state), &state, sizeof(state));
	if (state != AGENT_ON || (int64_t)(monotonic_ns() - first) > (int64_t)SILENCE_NS)
		return false;
	while ((int64_t)(monotonic_ns() - first) <= (int64_t)SILENCE_NS) {
		nanosleep(&(struct timespec){ 0, LISTEN_NS }, NULL);
		if (heartbeat_of(d) != first)
			return true;
	}
	return false;
}

int attach_recover(struct inject *inject, struct inject_reason *reason)
{
	const struct inject_process *p = inject_process(inject);
	struct detaching d = { .inject = inject };
	struct attach_layout layout;
	uint64_t magic = 0;
	int err;

	if (!p->ours_start || p->ours_end - p->ours_start <= INJECT_STUB_SIZE)
		return 0;
	attach_layout(p->ours_start, 0, &layout);
	layout.end = p->ours_end;
	d.layout = &layout;
	err = read_field(&d, offsetof(struct agent_region, magic), &magic, sizeof(magic));
	/*
	 * A thread that was held for too long unmaps the region as it leaves; /proc may show a part
	 * of it meanwhile.
	 */
	if (err || layout.end < layout.arena || !magic)
		return inject_refuse(reason, -ETIMEDOUT,
				     "try again; if that does not help, restart the program",
				     "what an earlier try left in it is still there");
	if (magic != REGION_MAGIC)
		return inject_refuse(reason, -EBUSY, "restart the program",
				     "code of another version of sprof was left in it");
	if (beats(&d))
		return inject_refuse(reason, -EBUSY, "wait for its end, or end it",
				     "another sprof samples it");
	err = attach_detach(inject, &layout, NULL, reason);
	return err;
}
