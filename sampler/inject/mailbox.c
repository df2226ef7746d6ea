/*
 * Calls through the mailbox: written there, waited for, read back. The recorder polls the target's
 * memory, first without pause, because a call takes microseconds, then with short sleeps; now and
 * then it looks whether the thread still lives.
 */
#include "core/base/clock.h"
#include "sampler/inject/session.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#define SPIN_NS 100000ull
#define NAP_NS 20000
#define STATUS_POLLS 32u /* looks at the mailbox for one at the thread */

/* The first fields of struct inject_mailbox. */
struct mailbox_head {
	uint64_t magic;
	uint32_t submitted, completed, left, padding;
};
_Static_assert(offsetof(struct inject_mailbox, left) == 16, "as above");

int inject_is_held(const struct inject *i)
{
	struct mailbox_head head;

	if (inject_process_read(&i->process, i->zone, &head, sizeof(head)))
		return -ESRCH;
	return head.magic != INJECT_MAGIC || head.left ? -ETIMEDOUT : 0;
}

/* 0: done; -EAGAIN: not yet; else the error as in inject_calls(). */
static int look_at_mailbox(struct inject *i, bool at_thread)
{
	struct mailbox_head head;
	int err;

	if (inject_process_read(&i->process, i->zone, &head, sizeof(head)))
		return -ESRCH;
	if (head.magic != INJECT_MAGIC)
		return -ETIMEDOUT;
	if (head.completed == i->submitted)
		return 0;
	if (head.left)
		return -ETIMEDOUT;
	err = at_thread ? inject_thread_check(&i->thread) : 0;
	return err ? err : -EAGAIN;
}

static int wait_done(struct inject *i, unsigned int limit_ms)
{
	uint64_t from = monotonic_ns(), now = from;
	unsigned int polls = 0;
	int err;

	do {
		err = look_at_mailbox(i, ++polls % STATUS_POLLS == 0);
		if (err != -EAGAIN)
			return err;
		now = monotonic_ns();
		if (now - from > SPIN_NS)
			nanosleep(&(struct timespec){ 0, NAP_NS }, NULL);
	} while (now - from < limit_ms * NS_PER_MS);
	return -ETIMEDOUT;
}

int inject_calls(struct inject *i, struct inject_call *calls, unsigned int nr,
		 unsigned int limit_ms)
{
	const size_t offset = offsetof(struct inject_mailbox, calls);
	unsigned int first = i->submitted % INJECT_NR_CALLS;
	unsigned int before_end = INJECT_NR_CALLS - first < nr ? INJECT_NR_CALLS - first : nr;
	size_t split = before_end * sizeof(*calls), all = nr * sizeof(*calls);
	int err;

	for (unsigned int n = 0; n < nr; n++)
		calls[n].result = (uint64_t)-ECANCELED;
	err = inject_is_held(i);
	if (err)
		return err;
	err = inject_zone_put(i, offset + first * sizeof(*calls), calls, split);
	if (!err && all > split)
		err = inject_zone_put(i, offset, calls + before_end, all - split);
	i->submitted += nr;
	if (!err)
		err = inject_zone_put(i, offsetof(struct inject_mailbox, submitted), &i->submitted,
				      sizeof(i->submitted));
	if (err)
		return -ESRCH;
	err = wait_done(i, limit_ms);
	if (err == -EFAULT)
		i->runs = false; /* it is stopped where it crashed */
	if (!err)
		err = inject_process_read(&i->process, i->zone + offset + first * sizeof(*calls),
					  calls, split);
	if (!err && all > split)
		err = inject_process_read(&i->process, i->zone + offset, calls + before_end,
					  all - split);
	return err;
}

int inject_await(struct inject *i, struct inject_call *call, unsigned int limit_ms)
{
	const size_t offset = offsetof(struct inject_mailbox, calls);
	unsigned int at = (i->submitted - 1) % INJECT_NR_CALLS;
	int err = wait_done(i, limit_ms);

	if (err == -EFAULT)
		i->runs = false;
	return err ? err
		   : inject_process_read(&i->process, i->zone + offset + at * sizeof(*call), call,
					 sizeof(*call));
}

int inject_syscall(struct inject *i, unsigned int number, const uint64_t *args, int64_t *ret)
{
	struct inject_call call = { .target = number };
	int err;

	memcpy(call.args, args, sizeof(call.args));
	err = inject_calls(i, &call, 1, INJECT_SYSCALL_MS);
	*ret = (int64_t)call.result;
	return err;
}
