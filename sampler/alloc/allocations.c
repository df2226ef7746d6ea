/*
 * The processes whose allocations are sampled, and the interval of each: it begins with 512 KiB and
 * follows the rate of allocation, so a process gets about 2000 samples a second however much it
 * allocates. Each draw keeps the interval it was made with.
 */
#include "sampler/alloc/allocations.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/portable/walk_tables.h"
#include "core/untrusted/shared_memory.h"
#include "sampler/alloc/alloc_samples.h"
#include "sampler/alloc/alloc_target.h"
#include "sampler/walk/walk_publisher.h"

#define TABLES_MS 5000			/* for the unwind tables of what the process maps */
#define ADAPT_NS (500ull * 1000 * 1000) /* between changes of the interval */
#define SAMPLES_A_SECOND 2000u
#define INTERVAL_LEAST (64ull << 10)
#define INTERVAL_MOST (1ull << 36)
#define HEARTBEAT_LIMIT_NS (10ull * 1000 * 1000 * 1000)

struct allocations {
	struct walk_publisher *publisher;
	struct alloc_target *targets;
	uint64_t interval; /* as asked for; 0: adapted */
	uint64_t held_ns;
	size_t nr_held;
	uint64_t adapted_ns;
};

int allocations_new(uint64_t interval, const struct sandbox *sandbox, struct table_cache *cache,
		    struct allocations **ret)
{
	struct allocations *a = xcalloc(1, sizeof(*a));
	int err = walk_publisher_new(false, sandbox, cache, &a->publisher);

	a->interval = interval;
	if (err) {
		free(a);
		return err;
	}
	*ret = a;
	return 0;
}

static void free_target(struct alloc_target *t)
{
	for (size_t i = 0; i < t->nr_functions; i++) {
		free(t->functions[i].name);
		free((char *)t->functions[i].path);
	}
	free(t->functions);
	hook_set_fini(&t->hooks);
	alloc_samples_free(t->samples);
	walk_target_free(t->walk);
	if (t->shared)
		shared_memory_unmap(t->shared, sizeof(*t->shared));
	if (t->shared_fd >= 0)
		close(t->shared_fd);
	free(t);
}

void allocations_free(struct allocations *a)
{
	if (!a)
		return;
	while (a->targets) {
		struct alloc_target *t = a->targets;

		a->targets = t->next;
		alloc_target_detach(t, &(struct inject_reason){ "", "" });
		free_target(t);
	}
	walk_publisher_free(a->publisher);
	free(a);
}

/* ---- attaching */

static void copy_functions(struct alloc_target *t, const struct alloc_function *functions,
			   size_t nr)
{
	t->functions = xcalloc(nr, sizeof(*functions));
	t->nr_functions = nr;
	for (size_t i = 0; i < nr; i++) {
		t->functions[i] = functions[i];
		t->functions[i].name = xstrdup(functions[i].name);
		t->functions[i].path = xstrdup(functions[i].path);
	}
}

static int make_shared(struct alloc_target *t, uint64_t interval)
{
	void *at;
	int err = shared_memory_new("sprof-alloc", sizeof(struct alloc_shared), SHARED_MEMORY_WRITE,
				    &t->shared_fd, &at);

	if (err)
		return err;
	t->shared = at;
	t->shared->heartbeat_ns = monotonic_ns();
	t->shared->heartbeat_limit_ns = HEARTBEAT_LIMIT_NS;
	t->shared->interval = t->interval = interval;
	t->least_interval = t->greatest_interval = interval;
	return 0;
}

static void say_left_out(const struct alloc_target *t)
{
	for (size_t i = 0; i < t->hooks.nr_left_out; i++)
		log_warning("process %d: what %s of '%s' allocates is not counted: %s", (int)t->pid,
			    t->hooks.left_out[i].function->name,
			    t->hooks.left_out[i].function->path, t->hooks.left_out[i].why);
}

int allocations_attach(struct allocations *a, pid_t pid, const struct alloc_function *functions,
		       size_t nr, struct inject_reason *reason)
{
	struct alloc_target *t = xcalloc(1, sizeof(*t));
	int err;

	t->pid = pid;
	t->shared_fd = -1;
	t->samples = alloc_samples_new();
	copy_functions(t, functions, nr);
	err = make_shared(t, a->interval ? a->interval : ALLOCATIONS_INTERVAL);
	t->walk = err ? NULL : walk_publisher_add(a->publisher, pid);
	if (!err && !t->walk)
		err = -ESRCH;
	if (err) {
		inject_refuse(reason, err, "", "memory could not be shared with it: %s",
			      strerror(-err));
		free_target(t);
		return err;
	}
	walk_publisher_take(a->publisher, TABLES_MS);
	t->space_fd = walk_target_space_fd(t->walk);
	t->arena_fd = walk_publisher_arena_fd(a->publisher);
	t->shared->heartbeat_ns = monotonic_ns();
	err = alloc_target_attach(t, reason);
	if (err) {
		free_target(t);
		return err;
	}
	say_left_out(t);
	log_debug("process %d: %zu allocation functions hooked, %zu threads held for %llu us",
		  (int)pid, t->hooks.nr, t->nr_held, (unsigned long long)t->held_ns / 1000);
	a->held_ns = t->held_ns;
	a->nr_held = t->nr_held;
	t->next = a->targets;
	a->targets = t;
	return 0;
}

/* ---- while it runs */

void allocations_start(struct allocations *a)
{
	uint64_t now = monotonic_ns();

	for (struct alloc_target *t = a ? a->targets : NULL; t; t = t->next)
		t->start_ns = now;
}

/*
 * Changes by a factor of two at most, so that one burst does not leave the next second without
 * samples.
 */
static uint64_t next_interval(uint64_t interval, uint64_t nr_samples, uint64_t ns)
{
	uint64_t wanted = SAMPLES_A_SECOND * ns / 1000000000u + 1, next;

	if (nr_samples > 2 * wanted)
		next = 2 * interval;
	else if (nr_samples < wanted / 2)
		next = interval / 2;
	else
		next = (uint64_t)((double)interval * (double)nr_samples / (double)wanted);
	return next < INTERVAL_LEAST ? INTERVAL_LEAST : next > INTERVAL_MOST ? INTERVAL_MOST : next;
}

static void adapt(struct allocations *a, struct alloc_target *t, uint64_t ns)
{
	uint64_t next = next_interval(t->interval, t->nr_recent, ns);

	t->nr_recent = 0;
	if (a->interval)
		return;
	t->interval = next;
	t->least_interval = next < t->least_interval ? next : t->least_interval;
	t->greatest_interval = next > t->greatest_interval ? next : t->greatest_interval;
	__atomic_store_n(&t->shared->interval, next, __ATOMIC_RELAXED);
}

void allocations_drain(struct allocations *a, struct sink *sink)
{
	uint64_t now = monotonic_ns(), since;

	if (!a)
		return;
	since = now - a->adapted_ns;
	walk_publisher_take(a->publisher, 0);
	for (struct alloc_target *t = a->targets; t; t = t->next) {
		if (!a->adapted_ns)
			alloc_samples_tell(t, sink);
		__atomic_store_n(&t->shared->heartbeat_ns, now, __ATOMIC_RELAXED);
		t->nr_recent += alloc_samples_drain(t, sink);
		if (a->adapted_ns && since >= ADAPT_NS)
			adapt(a, t, since);
	}
	if (!a->adapted_ns || since >= ADAPT_NS)
		a->adapted_ns = now;
}

/* ---- the end */

static void say_losses(const struct alloc_target *t)
{
	uint64_t lost = alloc_samples_nr_lost(t), full, unseen;

	full = __atomic_load_n(&t->shared->nr_full, __ATOMIC_RELAXED);
	unseen = __atomic_load_n(&t->shared->nr_unseen_frees, __ATOMIC_RELAXED);
	if (lost)
		log_warning("process %d: %llu samples of allocations were lost", (int)t->pid,
			    (unsigned long long)lost);
	if (full)
		log_warning("process %d: %llu sampled blocks are missing from the live memory: "
			    "the table of %u blocks was full; --alloc=INTERVAL with a larger "
			    "interval keeps it smaller",
			    (int)t->pid, (unsigned long long)full, ALLOC_NR_LIVE);
	if (unseen)
		log_warning("process %d: %llu sampled blocks were freed by functions that are not "
			    "hooked: live memory is overestimated",
			    (int)t->pid, (unsigned long long)unseen);
	if (__atomic_load_n(&t->shared->nr_silences, __ATOMIC_RELAXED))
		log_warning("process %d: sprof did not run for %llu s, and allocations of that "
			    "time are missing",
			    (int)t->pid, HEARTBEAT_LIMIT_NS / 1000000000u);
}

void allocations_stop(struct allocations *a, struct sink *sink)
{
	while (a && a->targets) {
		struct inject_reason reason = { "", "" };
		struct alloc_target *t = a->targets;

		if (alloc_target_detach(t, &reason))
			log_warning("process %d: %s", (int)t->pid, reason.why);
		alloc_samples_drain(t, sink);
		alloc_samples_write_live(t, sink);
		alloc_samples_tell(t, sink);
		say_losses(t);
		a->targets = t->next;
		free_target(t);
	}
}

void allocations_stopped(const struct allocations *a, uint64_t *ret_ns, size_t *ret_threads)
{
	*ret_ns = a->held_ns;
	*ret_threads = a->nr_held;
}

int allocations_open_module(const struct allocations *a, uint32_t module)
{
	return a ? walk_publisher_open_module(a->publisher, module) : -ENOENT;
}

int allocations_open_root(const struct allocations *a, uint32_t module, size_t *ret_prefix)
{
	return a ? walk_publisher_open_root(a->publisher, module, ret_prefix) : -ENOENT;
}
