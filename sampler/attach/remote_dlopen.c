/*
 * The stopped thread calls dlopen(3) on a stack of its own, which lies behind the stub, so that one
 * munmap(2) removes both. A watchdog checks every 15 ms whether the thread waits for the loader's
 * lock, and takes it back if so.
 */
#include "sampler/attach/remote_dlopen.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/proc_status.h"
#include "sampler/inject/inject.h"
#include "sampler/inject/inject_check.h"
#include "sampler/inject/seccomp_status.h"
#include "sampler/inject/x86_64/registers.h"
#include "sampler/attach/safe_point.h"

#define STACK_SIZE (512u << 10)
#define ENTRY_OFFSET PATH_MAX /* where the entry's name lies, from the stack's low end */
#define STOP_LIMIT_MS 200u
#define LOAD_LIMIT_MS 3000u
#define WATCH_MS 15u
#define LOCK_DEPTH 2048u /* bytes of stack that the loader uses up to taking its lock, at most */
#define RETRY_NS 1000000
#define ERESTARTSYS 512 /* include/linux/errno.h */

struct loading {
	const struct remote_library *library;
	struct remote_dlopen *ret;
	struct inject_reason *reason;
	struct safe_point *point;
	uint64_t functions[NR_NEEDED_FUNCTIONS]; /* in the target */
	bool warm; /* a stack was walked before, so the next walk is short */
	bool taken;
	uint64_t stack_low, stack_top; /* in the target */
};

/* Asked of each thread that stops. The first one is only copied, and walked when it runs again. */
static bool accept_thread(void *context, const struct inject_thread *thread)
{
	struct loading *l = context;

	if (!l->warm) {
		if (!l->taken)
			safe_point_take(l->point, thread);
		l->taken = true;
		return false;
	}
	safe_point_take(l->point, thread);
	return safe_point_judge(l->point);
}

/*
 * The time limit begins after the first look, whose walk reads files: on a busy machine that alone
 * can take seconds.
 */
static int find_safe_point(struct inject *i, struct loading *l)
{
	uint64_t until = monotonic_ns() + l->library->limit_ms * NS_PER_MS;
	bool was_first;
	int err;

	do {
		err = inject_stop(i, STOP_LIMIT_MS, accept_thread, l, l->reason);
		was_first = !l->warm && l->taken;
		if (was_first) {
			safe_point_judge(l->point);
			l->warm = true;
			until = monotonic_ns() + l->library->limit_ms * NS_PER_MS;
		} else if (err == -EBUSY) {
			nanosleep(&(struct timespec){ 0, RETRY_NS }, NULL);
		}
	} while (err == -EBUSY && (was_first || monotonic_ns() < until));
	if (err == -EBUSY && l->taken)
		inject_refuse(
			l->reason, err, "try again, or start it with the library",
			"every time it was looked at, each thread was at a point where a library "
			"cannot be loaded (the last one: %s)",
			safe_point_why(l->point));
	return err;
}

/* Maps a stack behind the stub, with the path and the entry's name at its low end. */
static int bring_stack(struct inject *i, struct loading *l)
{
	const char *path = l->library->path, *entry = l->library->entry;
	const uint64_t start = inject_stub(i) + INJECT_STUB_SIZE;
	struct inject_call calls[2] = {
		{ SYS_mmap,
		  { start, STACK_SIZE, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE | MAP_NORESERVE, (uint64_t)-1,
		    0 },
		  0 },
		{ SYS_madvise, { start, STACK_SIZE, MADV_DONTFORK }, 0 },
	};
	int err = inject_unmap_on_death(i, inject_stub(i), INJECT_STUB_SIZE + STACK_SIZE);

	if (!err)
		err = inject_calls(i, calls, 2, INJECT_SYSCALL_MS);
	if (!err && calls[0].result != start)
		err = calls[0].result == (uint64_t)-EEXIST ? -EBUSY : -ENOMEM;
	if (err == -EBUSY)
		return inject_refuse(l->reason, err, "wait for the end of that recording",
				     "sprof samples it by timers");
	l->stack_low = start;
	l->stack_top = start + STACK_SIZE;
	if (!err)
		err = inject_process_write(inject_process(i), start, path, strlen(path) + 1);
	if (!err && entry)
		err = inject_process_write(inject_process(i), start + ENTRY_OFFSET, entry,
					   strlen(entry) + 1);
	return err;
}

/* Does the thread sleep in futex(2) with hardly any stack used? */
static bool waits_for_lock(const struct inject *i, const struct loading *l)
{
	unsigned long long a[8];
	char text[256];
	int nr;

	proc_text(text, sizeof(text), "/proc/%d/task/%d/syscall", (int)inject_process(i)->pid,
		  (int)inject_thread(i)->tid);
	return sscanf(text, "%d %llx %llx %llx %llx %llx %llx %llx %llx", &nr, &a[0], &a[1], &a[2],
		      &a[3], &a[4], &a[5], &a[6], &a[7]) == 9 &&
	       nr == SYS_futex && a[6] < l->stack_top && l->stack_top - a[6] < LOCK_DEPTH;
}

/*
 * Stops a thread that waits for a lock, to take it out of there for good. That is only safe while
 * it is not woken: if it was given the lock, or the one wake-up that comes with its release, and
 * left with it, all other threads would wait for ever. 0; -EAGAIN: it was woken and runs on; or
 * -errno.
 */
static int stop_waiting(struct inject *i, const struct loading *l)
{
	struct user_regs_struct r;
	int err = inject_halt(i);
	uint64_t sp;

	if (!err)
		err = inject_thread_regs(inject_thread(i), &r);
	if (err)
		return err;
	/*
	 * Interrupted by our stop: futex(2) returns 0 to a thread that was woken, whatever else
	 * came.
	 */
	sp = inject_regs_sp(&r);
	if (inject_regs_syscall(&r) == SYS_futex && inject_regs_result(&r) == -ERESTARTSYS &&
	    sp < l->stack_top && l->stack_top - sp < LOCK_DEPTH)
		return 0;
	err = inject_run_on(i);
	return err ? err : -EAGAIN;
}

/* Called when a call has not returned within the watchdog's time. */
static int outwait(struct inject *i, struct loading *l, struct inject_call *call)
{
	uint64_t until = monotonic_ns() + LOAD_LIMIT_MS * NS_PER_MS;
	int err;

	do {
		err = waits_for_lock(i, l) ? stop_waiting(i, l) : -EAGAIN;
		if (!err)
			return inject_refuse(l->reason, -EBUSY, "try again",
					     "its loader is locked by another thread");
		if (err == -EAGAIN)
			err = inject_await(i, call, WATCH_MS);
	} while (err == -ETIMEDOUT && monotonic_ns() < until);
	if (err == -ETIMEDOUT) {
		inject_abandon(i);
		return inject_refuse(l->reason, -EINPROGRESS, "",
				     "the library is being loaded for %u s by now",
				     LOAD_LIMIT_MS / 1000);
	}
	return err;
}

static int call_function(struct inject *i, struct loading *l, uint64_t function, uint64_t first,
			 uint64_t second, uint64_t *ret)
{
	struct inject_call call = { function, { first, second, 0, 0, 0, l->stack_top }, 0 };
	int err = inject_calls(i, &call, 1, WATCH_MS);

	if (err == -ETIMEDOUT)
		err = outwait(i, l, &call);
	*ret = call.result;
	return err;
}

/* Reads dlerror(3) in the target. */
static int read_error(struct inject *i, struct loading *l)
{
	uint64_t at = 0;
	uint64_t dlerror = l->functions[NEEDED_DLERROR];
	int err = dlerror ? call_function(i, l, dlerror, 0, 0, &at) : 0;

	for (size_t n = 0; at && !err && n < sizeof(l->ret->error) - 1; n++) {
		if (inject_process_read(inject_process(i), at + n, &l->ret->error[n], 1) ||
		    !l->ret->error[n])
			break;
	}
	return err ? err
		   : inject_refuse(l->reason, -ELIBACC, "", "dlopen(3) says: %s", l->ret->error);
}

/* Calls the entry. There is no watchdog here: the entry would be left half done. */
static int enter(struct inject *i, struct loading *l)
{
	struct inject_call call = { .args = { [5] = l->stack_top } };
	int err = call_function(i, l, l->functions[NEEDED_DLSYM], l->ret->handle,
				l->stack_low + ENTRY_OFFSET, &call.target);

	if (!err && !call.target)
		return inject_refuse(l->reason, -ENOSYS, "make install",
				     "'%.60s' has no %.40s: it is of another version",
				     l->library->path, l->library->entry);
	if (!err)
		err = inject_calls(i, &call, 1, LOAD_LIMIT_MS);
	if (err == -ETIMEDOUT) {
		inject_abandon(i);
		return inject_refuse(l->reason, -EINPROGRESS, "",
				     "the library has been starting for %u s by now",
				     LOAD_LIMIT_MS / 1000);
	}
	l->ret->result = (int64_t)call.result;
	return err;
}

static int load(struct inject *i, struct loading *l)
{
	int err = call_function(i, l, l->functions[NEEDED_DLOPEN], l->stack_low,
				(uint64_t)l->library->mode, &l->ret->handle);

	if (!err && !l->ret->handle)
		return read_error(i, l);
	return err || !l->library->entry ? err : enter(i, l);
}

/* Loads, and restores the thread's errno, which it may be about to read. */
static int load_and_keep_errno(struct inject *i, struct loading *l)
{
	uint64_t at = 0;
	int value = 0, err = bring_stack(i, l);

	if (!err && l->functions[NEEDED_ERRNO])
		err = call_function(i, l, l->functions[NEEDED_ERRNO], 0, 0, &at);
	if (!err && at)
		err = inject_process_read(inject_process(i), at, &value, sizeof(value));
	if (err)
		return err;
	err = load(i, l);
	if (at && err != -EINPROGRESS)
		inject_process_write(inject_process(i), at, &value, sizeof(value));
	return err;
}

static int work(struct inject *i, void *context)
{
	struct loading *l = context;
	uint64_t stub;
	int err = find_safe_point(i, l);

	if (err)
		return err;
	stub = inject_stub(i);
	err = load_and_keep_errno(i, l);
	if (err != -EINPROGRESS) {
		int unmapped =
			inject_unmap(i, stub, INJECT_STUB_SIZE + (l->stack_top ? STACK_SIZE : 0));

		err = err ? err : unmapped;
	}
	l->ret->stop_ns = inject_stop_ns(i);
	if (err && !l->reason->why[0])
		inject_refuse(l->reason, err, "", "the library could not be loaded: %s",
			      strerror(-err));
	return err;
}

int remote_dlopen(pid_t pid, const struct remote_library *library, struct remote_dlopen *ret,
		  struct inject_reason *reason)
{
	const char *path = library->path;
	struct loading l = {
		.library = library,
		.ret = ret,
		.reason = reason,
	};
	int err;

	*reason = (struct inject_reason){ 0 };
	*ret = (struct remote_dlopen){ 0 };
	if (path[0] != '/' || strlen(path) >= ENTRY_OFFSET)
		return inject_refuse(reason, -EINVAL, "", "'%.100s' is not an absolute path", path);
	err = inject_check_status(pid, reason);
	if (!err)
		err = inject_seccomp_check_none(pid, reason);
	if (err)
		return err;
	err = safe_point_new(pid, library->sandbox, &l.point, reason);
	if (err)
		return err;
	for (int i = 0; i < NR_NEEDED_FUNCTIONS; i++)
		l.functions[i] = safe_point_function(l.point, (enum needed_function)i);
	if (l.functions[NEEDED_DLOPEN] && (!library->entry || l.functions[NEEDED_DLSYM]))
		err = inject_run(pid, 0, work, &l, reason);
	else
		err = inject_refuse(reason, -ENOTSUP, "start it with the library, by LD_PRELOAD",
				    "it has no dlopen(3): it is linked statically");
	safe_point_free(l.point);
	return err;
}
