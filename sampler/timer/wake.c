/* A list of the processes that have not come yet; one leaves it when it comes or ends. */
#include "sampler/timer/wake.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "sampler/timer/library.h"
#include "sampler/timer/wake_signal.h"

#define ANSWER_NS (1000ull * 1000 * 1000) /* no answer by then: it does not listen */

struct sleeper {
	struct sleeper *next;
	pid_t pid;
	uint64_t since_ns, sent_ns; /* 0: no signal yet */
	bool busy, given_up, quiet;
};

struct timer_wake {
	struct sleeper *first;
	uint64_t name;
	bool any_thread;
};

struct timer_wake *timer_wake_new(uint64_t name, bool any_thread)
{
	struct timer_wake *w = xcalloc(1, sizeof(*w));

	w->name = name;
	w->any_thread = any_thread;
	return w;
}

static struct sleeper *find(const struct timer_wake *w, pid_t pid)
{
	struct sleeper *s = w->first;

	while (s && s->pid != pid)
		s = s->next;
	return s;
}

bool timer_wake_expects(const struct timer_wake *w, pid_t pid)
{
	return find(w, pid) != NULL;
}

void timer_wake_done(struct timer_wake *w, pid_t pid)
{
	struct sleeper **at = &w->first, *s;

	while ((s = *at) && s->pid != pid)
		at = &s->next;
	if (!s)
		return;
	*at = s->next;
	free(s);
}

static void forget_all(struct timer_wake *w)
{
	while (w->first)
		timer_wake_done(w, w->first->pid);
}

void timer_wake_free(struct timer_wake *w)
{
	if (w)
		forget_all(w);
	free(w);
}

void timer_wake_is_busy(struct timer_wake *w, pid_t pid)
{
	struct sleeper *s = find(w, pid);

	if (s)
		s->busy = true;
}

void timer_wake_add(struct timer_wake *w, pid_t pid, bool quiet)
{
	struct sleeper *s;

	if (find(w, pid))
		return;
	s = xcalloc(1, sizeof(*s));
	s->pid = pid;
	s->quiet = quiet;
	s->since_ns = monotonic_ns();
	s->next = w->first;
	w->first = s;
}

static int try(const struct timer_wake *w, struct sleeper *s)
{
	uint64_t now = monotonic_ns(), waited = w->any_thread ? UINT64_MAX : now - s->since_ns;
	int sent;

	if (s->busy)
		return -EBUSY;
	if (s->sent_ns)
		return now - s->sent_ns > ANSWER_NS ? -ETIMEDOUT : 0;
	sent = timer_wake_send(s->pid, waited, w->name);
	if (sent > 0)
		s->sent_ns = now;
	return sent >= 0 || sent == -EAGAIN || sent == -ESRCH ? 0 : sent;
}

int timer_wake_try(struct timer_wake *w, pid_t pid)
{
	struct sleeper *s = find(w, pid);

	return s ? try(w, s) : 0;
}

bool timer_wake_is_unsent(const struct timer_wake *w, pid_t pid)
{
	const struct sleeper *s = find(w, pid);

	return s && !s->sent_ns;
}

static void give_up(struct sleeper *s, int err)
{
	s->given_up = true;
	if (!s->quiet)
		log_warning("process %d is not sampled: %s", (int)s->pid,
			    err == -EBUSY	? "another sprof samples it"
			    : err == -ETIMEDOUT ? "its " TIMER_LIBRARY " does not answer"
						: strerror(-err));
}

static bool has_gone(const struct sleeper *s)
{
	return kill(s->pid, 0) && errno == ESRCH;
}

void timer_wake_poll(struct timer_wake *w)
{
	struct sleeper *s, *next;

	for (s = w->first; s; s = next) {
		int err = s->given_up ? 0 : try(w, s);

		next = s->next;
		if (has_gone(s))
			timer_wake_done(w, s->pid);
		else if (err)
			give_up(s, err);
	}
}

void timer_wake_visit(const struct timer_wake *w, void (*visit)(void *context, pid_t pid),
		      void *context)
{
	for (const struct sleeper *s = w->first; s; s = s->next)
		if (!s->quiet)
			visit(context, s->pid);
}

void timer_wake_end(struct timer_wake *w)
{
	for (const struct sleeper *s = w->first; s; s = s->next)
		if (!s->given_up && !s->quiet && !has_gone(s))
			log_warning("process %d was not sampled: none of its threads was seen to "
				    "run",
				    (int)s->pid);
	forget_all(w);
}
