/*
 * A look reads /proc/PID/maps, which may be long: one that took time is not repeated soon. Most of
 * thousands of processes have nothing due for minutes, so a round goes through those alone that may
 * have something due before the next sweep through all.
 */
#include "sampler/sink/process_contexts.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <utlist.h>

#include "core/base/hash_table.h"
#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/profile/facts.h"
#include "core/untrusted/process_context.h"

#define MAX_KNOWN 16384
#define EVERY_NS (250 * NS_PER_MS)    /* between two rounds, */
#define FOR_EACH_NS (NS_PER_MS / 2)   /* and so much more for each process */
#define SWEEP_NS (10000 * NS_PER_MS)  /* between two sweeps */
#define LOOK_NS (25 * NS_PER_MS)      /* of the time from round to round for each look */
#define MAX_ROUND_NS (20 * NS_PER_MS) /* after which it ends: samples wait meanwhile */
#define FIRST_NS (250 * NS_PER_MS)    /* after the first sample */
#define GROWTH 4
#define AGAIN_NS (30000 * NS_PER_MS) /* where it has published */
#define COST_SHARE 200 /* a look may take a part in so many of the time until the next */
#define ALL_SHARE 1000 /* all looks together take such a part of the time, */
#define MAX_CREDIT_NS (50 * NS_PER_MS) /* beside those that are made at first */
#define PROCESSES 2 /* that work for a look: this one, and about as much one that reads */
#define AHEAD_NS (NS_PER_MS / 20) /* about what reading maps takes that process */
#define MAX_AT_END 256
#define MAX_END_NS (1000 * NS_PER_MS)
#define FEW_LOOKS 4
#define MAX_SAID 5

struct known {
	pid_t pid;
	uint32_t nr_looks;
	uint64_t next_ns, pause_ns;
	uint64_t address, published_ns; /* 0: it has not published */
	char *service, *attributes;	/* NULL: likewise */
	bool is_soon;			/* in the list of those due before the next sweep */
	struct known *prev, *next;
	UT_hash_handle hh;
};

struct process_contexts {
	struct known *known, *soon;
	uint64_t sweep_ns;			/* when the next sweep is due */
	uint64_t next_round_ns, least_round_ns; /* when something is due; when one may be */
	int64_t credit_ns;			/* CPU time that looks may take now */
	uint64_t credit_at_ns;
	uint64_t nr_refused;
};

struct process_contexts *process_contexts_new(void)
{
	struct process_contexts *c = xcalloc(1, sizeof(*c));

	c->credit_ns = MAX_CREDIT_NS;
	c->credit_at_ns = monotonic_ns();
	return c;
}

/* Enters or removes it, by when its next look is due. */
static void list(struct process_contexts *c, struct known *k)
{
	bool is_soon = k->next_ns < c->sweep_ns;

	if (is_soon && !k->is_soon)
		DL_APPEND(c->soon, k);
	else if (!is_soon && k->is_soon)
		DL_DELETE(c->soon, k);
	k->is_soon = is_soon;
}

static void forget(struct process_contexts *c, struct known *k)
{
	if (k->is_soon)
		DL_DELETE(c->soon, k);
	HASH_DEL(c->known, k);
	free(k->service);
	free(k->attributes);
	free(k);
}

static void forget_all(struct process_contexts *c)
{
	struct known *k, *next;

	HASH_ITER (hh, c->known, k, next)
		forget(c, k);
}

void process_contexts_free(struct process_contexts *c)
{
	if (!c)
		return;
	forget_all(c);
	if (c->nr_refused > MAX_SAID)
		log_warning("%llu more contexts of OpenTelemetry were left out",
			    (unsigned long long)(c->nr_refused - MAX_SAID));
	free(c);
}

static struct known *find(const struct process_contexts *c, pid_t pid)
{
	struct known *k;

	HASH_FIND_INT(c->known, &pid, k);
	return k;
}

bool process_contexts_add(struct process_contexts *c, pid_t pid, uint64_t age_ns)
{
	uint64_t soon = monotonic_ns() + FIRST_NS;
	struct known *k = find(c, pid);

	if (!k) {
		if (HASH_COUNT(c->known) >= MAX_KNOWN)
			forget_all(c);
		k = xcalloc(1, sizeof(*k));
		*k = (struct known){
			.pid = pid,
			.next_ns = soon,
			.pause_ns = age_ns > FIRST_NS ? age_ns : FIRST_NS,
		};
		HASH_ADD_INT(c->known, pid, k);
	}
	if (k->next_ns > soon && !k->published_ns)
		k->next_ns = soon;
	list(c, k);
	if (k->next_ns < c->next_round_ns)
		c->next_round_ns = k->next_ns > c->least_round_ns ? k->next_ns : c->least_round_ns;
	return k->attributes;
}

void process_contexts_forget(struct process_contexts *c, pid_t pid)
{
	struct known *k = find(c, pid);

	if (k)
		forget(c, k);
}

size_t process_contexts_nr(const struct process_contexts *c)
{
	return HASH_COUNT(c->known);
}

bool process_contexts_find(const struct process_contexts *c, pid_t pid, const char **ret_service,
			   const char **ret_attributes)
{
	const struct known *k = find(c, pid);

	if (!k || !k->attributes)
		return false;
	*ret_service = k->service ? k->service : "";
	*ret_attributes = k->attributes;
	return true;
}

static void refuse(struct process_contexts *c, const struct known *k, const char *why)
{
	if (c->nr_refused++ < MAX_SAID)
		log_warning("the context of OpenTelemetry that process %d has published is left "
			    "out: %s",
			    (int)k->pid, why);
}

/* Returns whether it said something before. */
static bool clear(struct known *k)
{
	bool had = k->attributes;

	free(k->service);
	free(k->attributes);
	k->service = k->attributes = NULL;
	return had;
}

static bool take(struct process_contexts *c, struct known *k, struct buffer *payload)
{
	struct context_resource r;
	bool had = clear(k);

	if (!context_resource_parse(payload->data, payload->size, FACT_RESOURCE_MAX, &r)) {
		refuse(c, k, "it is no valid message");
		return had;
	}
	k->service = r.service;
	r.service = NULL;
	k->attributes = xstrdup(buffer_cstring(&r.attributes));
	if (r.nr_left_out)
		log_debug("%zu attributes of process %d are left out", r.nr_left_out, (int)k->pid);
	context_resource_fini(&r);
	return true;
}

/* Reads it; true: it says something else than before. */
static bool read_context(struct process_contexts *c, struct known *k)
{
	struct buffer payload = { 0 };
	int result = process_context_read(k->pid, k->address, &k->published_ns, &payload);
	bool changed = false;

	if (result > 0) {
		changed = take(c, k, &payload);
	} else if (result < 0 && result != -EAGAIN) {
		/* Perhaps another program runs in it, or it lies elsewhere now. */
		if (result == -EFBIG)
			refuse(c, k, "it has more than 64 KiB");
		k->address = k->published_ns = 0;
		changed = clear(k);
	}
	buffer_fini(&payload);
	return changed;
}

static bool look(struct process_contexts *c, struct known *k)
{
	uint64_t begin = monotonic_ns(), end;
	bool changed = false;

	k->nr_looks++;
	if (k->address)
		changed = read_context(c, k);
	if (!k->address && !process_context_find(k->pid, &k->address))
		changed |= read_context(c, k);
	end = monotonic_ns();
	k->pause_ns = k->published_ns ? AGAIN_NS : k->pause_ns * GROWTH;
	if (k->pause_ns < (end - begin) * COST_SHARE)
		k->pause_ns = (end - begin) * COST_SHARE;
	k->next_ns = end + k->pause_ns;
	list(c, k);
	return changed;
}

static bool has_credit(struct process_contexts *c, uint64_t now)
{
	c->credit_ns += (int64_t)((now - c->credit_at_ns) / ALL_SHARE);
	c->credit_at_ns = now;
	if (c->credit_ns > (int64_t)MAX_CREDIT_NS)
		c->credit_ns = MAX_CREDIT_NS;
	return c->credit_ns > 0;
}

bool process_contexts_may_look(struct process_contexts *c, pid_t pid)
{
	return !find(c, pid) && has_credit(c, monotonic_ns());
}

bool process_contexts_look(struct process_contexts *c, pid_t pid)
{
	uint64_t before = thread_cpu_ns();
	struct known *k = find(c, pid);
	bool changed;

	if (!k || k->nr_looks)
		return false;
	changed = look(c, k);
	c->credit_ns -= PROCESSES * (int64_t)(thread_cpu_ns() - before) + (int64_t)AHEAD_NS;
	return changed;
}

static uint64_t round_ns(const struct process_contexts *c)
{
	return EVERY_NS + HASH_COUNT(c->known) * FOR_EACH_NS;
}

static void sweep(struct process_contexts *c, uint64_t now)
{
	if (now < c->sweep_ns)
		return;
	c->sweep_ns = now + SWEEP_NS;
	for (struct known *k = c->known; k; k = k->hh.next)
		list(c, k);
}

/* Makes the looks that are due. */
static void look_round(struct process_contexts *c, void (*changed)(void *context, pid_t pid),
		       void *context, uint64_t now)
{
	uint64_t earliest, left = round_ns(c) / LOOK_NS;
	struct known *k, *next;
	bool cut = false;

	sweep(c, now);
	earliest = c->sweep_ns;
	DL_FOREACH_SAFE(c->soon, k, next)
	{
		if (k->next_ns <= now) {
			if (look(c, k))
				changed(context, k->pid);
			cut = !--left || monotonic_ns() - now > MAX_ROUND_NS;
			if (cut)
				break;
		}
		if (k->next_ns < earliest)
			earliest = k->next_ns;
	}
	if (!cut && c->next_round_ns < earliest)
		c->next_round_ns = earliest;
}

void process_contexts_poll(struct process_contexts *c, void (*changed)(void *context, pid_t pid),
			   void *context)
{
	uint64_t now = monotonic_ns();
	uint64_t before;

	if (now < c->next_round_ns)
		return;
	c->next_round_ns = c->least_round_ns = now + round_ns(c);
	if (!has_credit(c, now))
		return;
	before = thread_cpu_ns();
	look_round(c, changed, context, now);
	c->credit_ns -= PROCESSES * (int64_t)(thread_cpu_ns() - before);
}

void process_contexts_end(struct process_contexts *c, void (*changed)(void *context, pid_t pid),
			  void *context)
{
	uint64_t end = monotonic_ns() + MAX_END_NS;
	struct known *k, *next;
	int nr = 0;

	HASH_ITER (hh, c->known, k, next) {
		if (k->published_ns || k->nr_looks >= FEW_LOOKS)
			continue;
		if (look(c, k))
			changed(context, k->pid);
		if (++nr == MAX_AT_END || monotonic_ns() >= end)
			return;
	}
}
