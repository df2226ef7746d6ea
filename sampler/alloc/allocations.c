/*
 * The processes whose allocations are sampled, and the interval of each: it begins with 512 KiB and
 * follows the rate of allocation, so a process gets about 2000 samples a second of its CPU time,
 * and no more in any second, however much it allocates; fewer where taking them would need more
 * than a small share of that time. Each draw keeps the interval it was made with.
 */
#include "sampler/alloc/allocations.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/portable/walk_tables.h"
#include "core/profile/facts.h"
#include "core/profile/process_end.h"
#include "core/profile/source.h"
#include "core/untrusted/shared_memory.h"
#include "sampler/alloc/alloc_samples.h"
#include "sampler/alloc/alloc_target.h"
#include "sampler/alloc/memory_held.h"
#include "sampler/alloc/sample_rate.h"
#include "sampler/alloc/tensor_levels.h"
#include "sampler/alloc/unhooked.h"
#include "sampler/walk/walk_publisher.h"

#define TABLES_MS 5000	    /* for the unwind tables of what the process maps */
#define LATER_TABLES_MS 100 /* of a child, whose files are mostly its parent's */
#define TOUCH_STEP 4096u
#define ADAPT_NS (500ull * 1000 * 1000) /* between changes of the interval */
#define HEARTBEAT_LIMIT_NS (10ull * 1000 * 1000 * 1000)

struct allocations {
	struct walk_publisher *publisher;
	struct alloc_target *targets;
	uint64_t interval; /* as asked for; 0: adapted */
	bool is_started, only_python, only_tensors;
	struct own_codes codes;
	uint64_t held_ns;
	size_t nr_held;
	uint64_t adapted_ns;
};

int allocations_new(uint64_t interval, bool python, const struct sandbox *sandbox,
		    struct table_cache *cache, struct allocations **ret)
{
	struct allocations *a = xcalloc(1, sizeof(*a));
	int err = walk_publisher_new(python, sandbox, cache, &a->publisher);

	a->interval = interval;
	if (err) {
		free(a);
		return err;
	}
	*ret = a;
	return 0;
}

void allocations_keep_pythons(struct allocations *a)
{
	a->only_python = true;
}

void allocations_only_tensors(struct allocations *a)
{
	a->only_tensors = true;
}

/* Those from number `from` on. */
static void forget_functions(struct alloc_target *t, size_t from)
{
	for (size_t i = from; i < t->nr_functions; i++) {
		free(t->functions[i]->name);
		free((char *)t->functions[i]->path);
		free(t->functions[i]);
	}
	t->nr_functions = from;
}

static void free_target(struct alloc_target *t)
{
	forget_functions(t, 0);
	free(t->functions);
	hook_set_fini(&t->hooks);
	alloc_samples_free(t->samples);
	tensor_levels_free(t->tensors);
	walk_target_free(t->walk);
	if (t->shared)
		shared_memory_unmap(t->shared, sizeof(*t->shared));
	if (t->shared_fd >= 0)
		close(t->shared_fd);
	target_end_fini(&t->watch);
	free(t);
}

void allocations_free(struct allocations *a)
{
	if (!a)
		return;
	while (a->targets) {
		struct alloc_target *t = a->targets;

		a->targets = t->next;
		alloc_target_detach(t, &(struct inject_reason){ 0 });
		free_target(t);
	}
	walk_publisher_free(a->publisher);
	own_codes_fini(&a->codes);
	free(a);
}

/* ---- attaching */

static void add_functions(struct alloc_target *t, const struct alloc_function *functions, size_t nr)
{
	t->functions = xgrow(t->functions, &t->functions_capacity, t->nr_functions + nr,
			     sizeof(*t->functions));
	for (size_t i = 0; i < nr; i++) {
		struct alloc_function *f = xcalloc(1, sizeof(*f));

		*f = functions[i];
		f->name = xstrdup(functions[i].name);
		f->path = xstrdup(functions[i].path);
		t->functions[t->nr_functions++] = f;
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
	/* Who touches a page first pays for it: not the target, whose memory may be limited. */
	for (size_t i = 0; i < sizeof(*t->shared); i += TOUCH_STEP)
		((volatile uint8_t *)at)[i] = 0;
	t->shared->heartbeat_ns = monotonic_ns();
	t->shared->heartbeat_limit_ns = HEARTBEAT_LIMIT_NS;
	t->shared->owner = t->owner = monotonic_ns() ^ (uint64_t)getpid() << 44;
	t->shared->stage = ALLOC_STAGE_MAPPED;
	t->shared->interval = t->interval = interval;
	t->least_interval = t->greatest_interval = interval;
	return 0;
}

static void say_python(const struct alloc_target *t)
{
	if (t->only_python && !walk_target_python(t->walk)->runtime)
		log_warning("process %d runs no Python that can be read: of such a process "
			    "--alloc=python counts nothing",
			    (int)t->pid);
}

static struct alloc_target *find_target(const struct allocations *a, pid_t pid)
{
	struct alloc_target *t = a->targets;

	while (t && t->pid != pid)
		t = t->next;
	return t;
}

/* CPU time of all threads that a process has had; 0: not known. */
static uint64_t cpu_time_ns(pid_t pid)
{
	struct timespec t;
	clockid_t clock;

	if (clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &t))
		return 0;
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

int allocations_attach(struct allocations *a, pid_t pid, const struct alloc_function *functions,
		       size_t nr, struct inject_reason *reason)
{
	struct alloc_target *t = xcalloc(1, sizeof(*t));
	int err;

	t->pid = pid;
	t->only_python = a->only_python;
	t->only_tensors = a->only_tensors;
	t->shared_fd = -1;
	t->samples = alloc_samples_new();
	add_functions(t, functions, nr);
	err = make_shared(t, a->interval ? a->interval : ALLOCATIONS_INTERVAL);
	t->tensors = err ? NULL : tensor_levels_new((uint32_t)pid, t->shared);
	t->walk = err ? NULL : walk_publisher_add(a->publisher, pid);
	if (!err && !t->walk)
		err = -ESRCH;
	if (err) {
		inject_refuse(reason, err, "", "memory could not be shared with it: %s",
			      strerror(-err));
		free_target(t);
		return err;
	}
	walk_publisher_take(a->publisher, a->is_started ? LATER_TABLES_MS : TABLES_MS);
	t->space_fd = walk_target_space_fd(t->walk);
	t->arena_fd = walk_publisher_arena_fd(a->publisher);
	t->shared->heartbeat_ns = monotonic_ns();
	t->before_bytes = t->after_bytes = memory_held_bytes(pid);
	err = alloc_target_attach(t, reason);
	if (err) {
		free_target(t);
		return err;
	}
	target_end_watch(&t->watch, pid);
	t->start_ns = monotonic_ns();
	t->cpu_ns = cpu_time_ns(pid);
	own_codes_add(&a->codes, pid, t->code);
	unhooked_say(t, 0);
	say_python(t);
	log_debug("process %d: %zu allocation functions hooked, %zu threads held for %llu us",
		  (int)pid, t->hooks.nr, t->nr_held, (unsigned long long)t->held_ns / 1000);
	a->held_ns = t->held_ns;
	a->nr_held = t->nr_held;
	t->next = a->targets;
	a->targets = t;
	return 0;
}

int allocations_extend(struct allocations *a, pid_t pid, const struct alloc_function *functions,
		       size_t nr, struct inject_reason *reason)
{
	struct alloc_target *t = find_target(a, pid);
	size_t from = t ? t->nr_functions : 0, left_out = t ? t->hooks.nr_left_out : 0;
	int err;

	if (!t)
		return -ESRCH;
	walk_target_refresh(t->walk);
	add_functions(t, functions, nr);
	err = alloc_target_extend(t, from, reason);
	if (err)
		forget_functions(t, from);
	else
		unhooked_say(t, left_out);
	return err;
}

int allocations_renew(struct allocations *a, pid_t pid, struct inject_reason *reason)
{
	struct alloc_target *t = find_target(a, pid);

	return t ? alloc_target_renew(t, reason) : -ESRCH;
}

/* ---- while it runs */

void allocations_start(struct allocations *a)
{
	uint64_t now = monotonic_ns();

	if (a)
		a->is_started = true;
	for (struct alloc_target *t = a ? a->targets : NULL; t; t = t->next)
		t->start_ns = now;
}

/* Of a process that has ended, what is known is what it held a moment before. */
static void see_held(struct alloc_target *t)
{
	uint64_t held = memory_held_bytes(t->pid);

	t->after_bytes = held ? held : t->after_bytes;
}

/*
 * Samples are counted by the second of CPU time where the process used less than one CPU: what they
 * cost it stays the same share of what it does.
 */
static void adapt(struct allocations *a, struct alloc_target *t, uint64_t ns)
{
	const struct alloc_taking taking = {
		.ns = __atomic_load_n(&t->shared->sample_ns, __ATOMIC_RELAXED),
		.nr = __atomic_load_n(&t->shared->nr_timed, __ATOMIC_RELAXED),
	};
	uint64_t cpu_ns = cpu_time_ns(t->pid), next;

	if (cpu_ns && t->cpu_ns && cpu_ns - t->cpu_ns < ns)
		ns = cpu_ns - t->cpu_ns;
	t->cpu_ns = cpu_ns;
	next = alloc_next_interval(
		t->interval, t->nr_recent, ns,
		&(struct alloc_taking){ taking.ns - t->taking.ns, taking.nr - t->taking.nr });
	t->taking = taking;
	t->nr_recent = 0;
	see_held(t);
	tensor_levels_adapt(t->tensors, ns);
	if (a->interval)
		return;
	t->interval = next;
	t->least_interval = next < t->least_interval ? next : t->least_interval;
	t->greatest_interval = next > t->greatest_interval ? next : t->greatest_interval;
	__atomic_store_n(&t->shared->interval, next, __ATOMIC_RELAXED);
}

static void tell_end(const struct alloc_target *t, struct sink *sink)
{
	struct fact_process_end fact = { .pid = (uint64_t)t->pid, .time_ns = t->end_ns };
	char text[PROCESS_END_TEXT];

	target_end_ask(&t->watch, &fact);
	log_info("process %d %s: the memory that it held then is in the recording", (int)t->pid,
		 process_end_text(&fact, text));
	sink->fact(sink, FACT_PROCESS_END, &fact);
}

/* The process is gone, but the memory that it shared with us is not. */
static void end_target(struct alloc_target *t, uint64_t now, struct sink *sink)
{
	t->end_ns = now;
	alloc_samples_finish(t, now, sink);
	tensor_levels_finish(t->tensors, now, sink);
}

void allocations_drain(struct allocations *a, struct sink *sink)
{
	uint64_t now = monotonic_ns(), since;

	if (!a)
		return;
	since = now - a->adapted_ns;
	walk_publisher_take(a->publisher, 0);
	for (struct alloc_target *t = a->targets; t; t = t->next) {
		if (t->end_ns)
			continue;
		if (!t->is_told)
			alloc_samples_tell(t, sink);
		t->is_told = true;
		own_codes_note(&a->codes, t, sink);
		unhooked_tell(t, sink);
		if (target_end_has_come(&t->watch)) {
			end_target(t, now, sink);
			continue;
		}
		__atomic_store_n(&t->shared->heartbeat_ns, now, __ATOMIC_RELAXED);
		t->nr_recent += alloc_samples_drain(t, sink);
		tensor_levels_drain(t->tensors, now, sink);
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
		log_warning("process %d: %s%llu samples of allocations were lost", (int)t->pid,
			    alloc_samples_lost_more(t) ? "at least " : "",
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
	if (t->nr_left_out)
		log_info("process %d: about %.1f MB that no Python code asked for are left out; "
			 "--alloc alone has them",
			 (int)t->pid, (double)t->left_out_bytes / 1e6);
	if (__atomic_load_n(&t->shared->nr_silences, __ATOMIC_RELAXED))
		log_warning("process %d: sprof did not run for %llu s, and allocations of that "
			    "time are missing",
			    (int)t->pid, HEARTBEAT_LIMIT_NS / 1000000000u);
}

static void tell_held(const struct alloc_target *t, struct sink *sink)
{
	const struct fact_memory_held fact = {
		.pid = (uint64_t)t->pid,
		.before_bytes = t->before_bytes,
		.after_bytes = t->after_bytes,
		.live_bytes = t->live_bytes,
	};
	uint64_t rest = t->after_bytes > t->live_bytes ? t->after_bytes - t->live_bytes : 0;

	if (!t->after_bytes || t->only_tensors)
		return;
	sink->fact(sink, FACT_MEMORY_HELD, &fact);
	log_info("process %d held %.1f MB in the end, and %.1f MB when it was hooked; %.1f MB are "
		 "blocks that hooks saw. The other %.1f MB (%.0f %%) were there before, are kept "
		 "by allocators for reuse, or come from what is not hooked",
		 (int)t->pid, (double)t->after_bytes / 1e6, (double)t->before_bytes / 1e6,
		 (double)t->live_bytes / 1e6, (double)rest / 1e6,
		 100 * (double)rest / (double)t->after_bytes);
}

/* Takes the target out of the list, and frees it. */
static void finish_target(struct allocations *a, struct alloc_target *t, struct sink *sink)
{
	struct inject_reason reason = { 0 };
	struct alloc_target **at = &a->targets;

	if (!t->end_ns && target_end_has_come(&t->watch))
		end_target(t, monotonic_ns(), sink);
	if (!t->end_ns)
		see_held(t);
	own_codes_note(&a->codes, t, sink);
	if (!t->end_ns && alloc_target_detach(t, &reason))
		log_warning("process %d: %s", (int)t->pid, reason.why);
	if (t->end_ns) {
		tell_end(t, sink);
	} else {
		alloc_samples_finish(t, monotonic_ns(), sink);
		tensor_levels_finish(t->tensors, monotonic_ns(), sink);
	}
	alloc_samples_tell(t, sink);
	unhooked_tell(t, sink);
	tell_held(t, sink);
	say_losses(t);
	while (*at != t)
		at = &(*at)->next;
	*at = t->next;
	free_target(t);
}

void allocations_end(struct allocations *a, pid_t pid, struct sink *sink)
{
	struct alloc_target *t = find_target(a, pid);

	if (t)
		finish_target(a, t, sink);
}

void allocations_stop(struct allocations *a, struct sink *sink)
{
	while (a && a->targets)
		finish_target(a, a->targets, sink);
}

void allocations_stopped(const struct allocations *a, uint64_t *ret_ns, size_t *ret_threads)
{
	*ret_ns = a->held_ns;
	*ret_threads = a->nr_held;
}

bool allocations_own_code(const struct allocations *a, pid_t pid, uint64_t address,
			  uint32_t *ret_module, uint64_t *ret_address)
{
	return own_codes_find(&a->codes, pid, address, ret_module, ret_address);
}

int allocations_open_module(const struct allocations *a, uint32_t module)
{
	return a ? walk_publisher_open_module(a->publisher, module) : -ENOENT;
}

int allocations_open_root(const struct allocations *a, uint32_t module, size_t *ret_prefix)
{
	return a ? walk_publisher_open_root(a->publisher, module, ret_prefix) : -ENOENT;
}
