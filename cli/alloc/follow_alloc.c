/*
 * Looks at /proc in intervals; a process that has called exec counts as ended, and as a new one.
 * What is started through a shell or a shim calls exec soon, and is looked at more often at first.
 */
#include "cli/alloc/follow_alloc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/alloc/alloc_functions.h"
#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/number_map.h"
#include "core/profile/profile.h"
#include "sampler/alloc/allocations.h"
#include "sampler/selection/process_tree.h"
#include "sampler/target/proc_life.h"

#define LOOK_NS (500ull * 1000 * 1000)
#define LOOK_SOON_NS (100ull * 1000 * 1000) /* while a process has not loaded what is hooked, */
#define NEW_NS (5000ull * 1000 * 1000)	    /* and so long after it was first seen */
#define FOLLOWED_MAX 64u		    /* processes at a time: each takes some MiB */

struct followed {
	pid_t pid;
	uint64_t program;
	struct alloc_finder *finder;
	bool is_hooked; /* false: it has not loaded yet what is to be hooked */
	uint64_t new_until_ns;
};

struct follow_alloc {
	struct allocations *allocations;
	unsigned int wanted;
	const struct sandbox *sandbox;
	struct followed *followed;
	size_t nr, capacity;
	pid_t *roots; /* processes that were named or started; others descend from them */
	size_t nr_roots, roots_capacity;
	struct number_map hooked; /* by pid that was hooked: is what it ran last hooked, too? */
	struct number_map tried;  /* by pid that was tried: low bits of its program's id then */
	bool children, is_full, any_hooked;
	uint64_t looked_ns, looked_soon_ns;
};

struct follow_alloc *follow_alloc_new(struct allocations *allocations, unsigned int wanted,
				      const struct sandbox *sandbox, bool children)
{
	struct follow_alloc *f = xcalloc(1, sizeof(*f));

	f->allocations = allocations;
	f->wanted = wanted;
	f->sandbox = sandbox;
	f->children = children;
	return f;
}

void follow_alloc_free(struct follow_alloc *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < f->nr; i++)
		alloc_finder_free(f->followed[i].finder);
	free(f->followed);
	free(f->roots);
	number_map_fini(&f->hooked);
	number_map_fini(&f->tried);
	free(f);
}

static void set_hooked(struct follow_alloc *f, pid_t pid, bool hooked)
{
	bool is_new;

	*number_map_at(&f->hooked, (uint64_t)pid, &is_new) = hooked;
}

/*
 * Are the libraries mapped? The C library's malloc comes with the last of them, and what is hooked
 * before it would not know that it serves the program.
 */
static bool has_loaded(const struct follow_alloc *f, const struct alloc_function *functions,
		       size_t nr)
{
	if (!(f->wanted & ALLOC_WANT_MALLOC))
		return true;
	for (size_t i = 0; i < nr; i++)
		if (!strcmp(functions[i].name, "malloc"))
			return true;
	return false;
}

/* `may_load`: the process may be so new that its libraries are not mapped yet. */
static int hook(struct follow_alloc *f, pid_t pid, bool may_load, struct inject_reason *reason)
{
	struct followed p = { .pid = pid,
			      .program = proc_life_program(pid),
			      .finder = alloc_finder_new(pid, f->wanted, f->sandbox),
			      .new_until_ns = monotonic_ns() + NEW_NS };
	const struct alloc_function *functions;
	size_t nr = alloc_finder_look(p.finder, &functions);
	bool waits = may_load && !has_loaded(f, functions, nr);
	int err = 0;
	bool is_new;

	*number_map_at(&f->tried, (uint64_t)pid, &is_new) = (uint32_t)p.program;
	if (nr && !waits)
		err = allocations_attach(f->allocations, pid, functions, nr, reason);
	else if (proc_life_has_ended(pid))
		err = -ESRCH;
	else if ((f->wanted & ALLOC_WANT_MALLOC) && !waits)
		err = inject_refuse(reason, -ENOENT,
				    "a static program without symbols has none that can be found; "
				    "--alloc=growth shows where its memory in RAM grows",
				    "none of its files defines malloc");
	if (err) {
		alloc_finder_free(p.finder);
		return err;
	}
	if (alloc_finder_has_unread(p.finder))
		log_warning("process %d: some of its files could not be read: allocation functions "
			    "in them are not counted",
			    (int)pid);
	f->followed = xgrow(f->followed, &f->capacity, f->nr + 1, sizeof(*f->followed));
	p.is_hooked = nr > 0 && !waits;
	f->followed[f->nr++] = p;
	f->any_hooked |= p.is_hooked;
	if (p.is_hooked)
		set_hooked(f, pid, true);
	return 0;
}

int follow_alloc_add(struct follow_alloc *f, pid_t pid)
{
	struct inject_reason reason = { 0 };
	int err = hook(f, pid, false, &reason);

	f->roots = xgrow(f->roots, &f->roots_capacity, f->nr_roots + 1, sizeof(*f->roots));
	f->roots[f->nr_roots++] = pid;
	if (!err)
		return 0;
	log_error(reason.why[0] ? 0 : -err, "sample the allocations of process %d%s%s", (int)pid,
		  reason.why[0] ? ": " : "", reason.why);
	if (reason.hint[0])
		log_hint("%s", reason.hint);
	if (!reason.hint[0] || reason.only_outside)
		log_hint("--alloc=growth hooks nothing, and shows where its memory in RAM grows");
	return err;
}

/* Hooks a child, or what one has executed. If that fails, follow_alloc_say_missed() counts it. */
static void hook_quietly(struct follow_alloc *f, pid_t pid)
{
	struct inject_reason reason = { 0 };

	if (f->nr == FOLLOWED_MAX) {
		if (!f->is_full)
			log_warning("allocations of more than %u processes are not sampled at a "
				    "time",
				    FOLLOWED_MAX);
		f->is_full = true;
		return;
	}
	if (hook(f, pid, true, &reason))
		log_debug("process %d: allocations are not sampled: %s", (int)pid, reason.why);
}

static void forget(struct follow_alloc *f, size_t i, struct sink *sink)
{
	allocations_end(f->allocations, f->followed[i].pid, sink);
	alloc_finder_free(f->followed[i].finder);
	f->followed[i] = f->followed[--f->nr];
}

/* Hooks a process that had nothing to hook when it was first seen, once it has loaded that. */
static void hook_late(struct follow_alloc *f, struct followed *p,
		      const struct alloc_function *functions, size_t nr)
{
	struct inject_reason reason = { 0 };
	int err;

	if (!nr || (!has_loaded(f, functions, nr) && monotonic_ns() < p->new_until_ns))
		return;
	err = allocations_attach(f->allocations, p->pid, functions, nr, &reason);
	if (err && err != -ESRCH)
		log_warning("process %d: %s is not recorded: %s", (int)p->pid,
			    f->wanted & ALLOC_WANT_MALLOC ? "what it allocates"
							  : "the memory of its tensors",
			    reason.why[0] ? reason.why : strerror(-err));
	p->is_hooked = f->any_hooked = true;
	set_hooked(f, p->pid, !err);
}

/* Finds the functions of earlier looks, too. */
static size_t look_anew(const struct follow_alloc *f, struct followed *p,
			const struct alloc_function **ret_functions)
{
	alloc_finder_free(p->finder);
	p->finder = alloc_finder_new(p->pid, f->wanted, f->sandbox);
	return alloc_finder_look(p->finder, ret_functions);
}

static void look_at(struct follow_alloc *f, struct followed *p)
{
	struct inject_reason reason = { 0 };
	const struct alloc_function *functions;
	size_t nr = alloc_finder_look(p->finder, &functions);
	int err;

	if (!p->is_hooked) {
		if ((f->wanted & ALLOC_WANT_MALLOC) && (nr || monotonic_ns() > p->new_until_ns))
			nr = look_anew(f, p, &functions);
		hook_late(f, p, functions, nr);
		return;
	}
	err = nr ? allocations_extend(f->allocations, p->pid, functions, nr, &reason) : 0;

	err = err ? err : allocations_renew(f->allocations, p->pid, &reason);
	if (err && err != -ESRCH)
		log_warning("process %d: allocation functions that it has loaded since are not "
			    "counted: %s",
			    (int)p->pid, reason.why);
}

static bool is_root(const struct follow_alloc *f, pid_t pid)
{
	for (size_t i = 0; i < f->nr_roots; i++)
		if (f->roots[i] == pid)
			return true;
	return false;
}

/* Has a process had its time to load something that allocates? */
static bool has_none(const struct follow_alloc *f, const struct followed *p, uint64_t now)
{
	return !p->is_hooked && (f->wanted & ALLOC_WANT_MALLOC) && now > p->new_until_ns;
}

/* `soon`: only what may be about to load its libraries or to call exec. */
static void look_at_all(struct follow_alloc *f, bool soon, uint64_t now, struct sink *sink)
{
	for (size_t i = f->nr; i-- > 0;) {
		struct followed *p = &f->followed[i];
		pid_t pid = p->pid;
		uint64_t program;

		if (soon && p->is_hooked && now > p->new_until_ns)
			continue;
		program = proc_life_program(pid);
		if (proc_life_has_ended(pid)) {
			if (!is_root(f, pid)) /* the end of a root is recorded when sampling ends */
				forget(f, i, sink);
		} else if (program && program != p->program) {
			forget(f, i, sink);
			set_hooked(f, pid, false);
			hook_quietly(f, pid);
		} else if (program && !(soon && p->is_hooked)) { /* 0: it is just ending */
			look_at(f, p);
			if (has_none(f, p, now))
				forget(f, i, sink);
		}
	}
}

static bool is_followed(const struct follow_alloc *f, pid_t pid)
{
	for (size_t i = 0; i < f->nr; i++)
		if (f->followed[i].pid == pid)
			return true;
	return false;
}

/* Also true for a process that is just ending. */
static bool was_tried(const struct follow_alloc *f, pid_t pid)
{
	const uint32_t *tried = number_map_find(&f->tried, (uint64_t)pid);
	uint64_t program = proc_life_program(pid);

	return !program || (tried && *tried == (uint32_t)program);
}

/* A root that called exec again while it was being hooked is not followed any more. */
static void look_for_roots(struct follow_alloc *f)
{
	for (size_t i = 0; i < f->nr_roots; i++)
		if (!is_followed(f, f->roots[i]) && !was_tried(f, f->roots[i]))
			hook_quietly(f, f->roots[i]);
}

static void look_for_children(struct follow_alloc *f)
{
	struct process_tree tree = { 0 };

	for (size_t i = 0; i < f->nr_roots; i++)
		process_tree_add_root(&tree, f->roots[i]);
	for (size_t i = 0; i < f->nr; i++) /* their parents may have ended */
		process_tree_add_root(&tree, f->followed[i].pid);
	process_tree_look(&tree);
	for (size_t i = tree.nr_roots; i < tree.nr; i++)
		if (!was_tried(f, tree.members[i].pid))
			hook_quietly(f, tree.members[i].pid);
	process_tree_fini(&tree);
}

void follow_alloc_look(struct follow_alloc *f, struct sink *sink)
{
	uint64_t now = monotonic_ns();
	bool soon = now - f->looked_ns < LOOK_NS;

	if (soon && now - f->looked_soon_ns < LOOK_SOON_NS)
		return;
	f->looked_soon_ns = now;
	look_at_all(f, soon, now, sink);
	look_for_roots(f);
	if (soon)
		return;
	f->looked_ns = now;
	if (f->children)
		look_for_children(f);
}

static void say_no_tensors(const struct follow_alloc *f)
{
	if (f->any_hooked)
		return;
	log_warning("no memory of tensors was recorded: no process has loaded PyTorch's libc10.so");
}

void follow_alloc_say_missed(const struct follow_alloc *f, const struct profile *p)
{
	struct number_map seen = { 0 };
	size_t nr = 0, nr_executed = 0;

	if (!(f->wanted & ALLOC_WANT_MALLOC)) {
		say_no_tensors(f);
		return;
	}
	for (size_t i = 0; i < p->nr_threads; i++) {
		const uint32_t *hooked = number_map_find(&f->hooked, p->threads[i].pid);
		bool is_new;

		if (hooked && *hooked)
			continue;
		number_map_at(&seen, p->threads[i].pid, &is_new);
		nr += is_new && !hooked;
		nr_executed += is_new && hooked;
	}
	number_map_fini(&seen);
	if (nr)
		log_warning("allocations of %zu child process%s that used the CPU are not counted: "
			    "a child is hooked within %llu ms after it was started",
			    nr, nr == 1 ? "" : "es", LOOK_NS / 1000000);
	if (nr_executed)
		log_warning("%zu process%s executed another program, whose allocations are not "
			    "counted: it ended before it was hooked, or cannot be (-v says why)",
			    nr_executed, nr_executed == 1 ? "" : "es");
}
