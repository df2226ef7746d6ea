/*
 * How the stub comes into a process, is started, stopped and removed. Before there is a stub the
 * stopped thread makes system calls through code of its own program (inject_process.h). Whatever
 * the thread runs for us, its stack leads it back through a signal frame if the recorder dies.
 */
#include "sampler/inject/session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

#include "core/base/alloc.h"
#include "sampler/inject/ptrace_thread.h"
#include "sampler/inject/quiesce.h"
#include "sampler/inject/seccomp_check.h"
#include "sampler/inject/x86_64/registers.h"

#define OTHERS_LIMIT_MS 3000u

/*
 * A recorder that was killed leaves a thread in its stub for a tenth of a second. Waits until no
 * thread is there: then the stub and the zone may be used again.
 */
static int wait_for_others(const struct inject *i, struct inject_reason *reason)
{
	const struct inject_process *p = &i->process;
	const struct quiesce_range ranges[2] = {
		{ p->stack_start, p->stack_start + ZONE_SIZE },
		{ p->ours_start, p->ours_start + INJECT_STUB_SIZE },
	};
	int err;

	err = quiesce_wait(p, ranges, 2, OTHERS_LIMIT_MS);
	if (err == -ESRCH)
		return inject_refuse(reason, err, "pgrep -l NAME lists what runs", "it has ended");
	if (err)
		return inject_refuse(reason, -EBUSY, "try again when it has ended",
				     "another sprof is at work in it");
	return 0;
}

int inject_open(pid_t pid, uint64_t stub, struct inject **ret, struct inject_reason *reason)
{
	struct inject *i = xcalloc(1, sizeof(*i));
	int err = inject_process_open(&i->process, pid, INJECT_TO_WRITE, reason);

	i->stub = stub;
	inject_frame_measure(&i->sizes);
	if (!err && !stub && (i->process.ours_start || inject_zone_is_marked(i))) {
		err = wait_for_others(i, reason);
		inject_process_close(&i->process);
		if (!err) /* what the other recorder left may be gone by now */
			err = inject_process_open(&i->process, pid, INJECT_TO_WRITE, reason);
	}
	if (!err && !inject_thread_can_seize(i->process.thread)) {
		err = inject_refuse_entry(reason, -ETIMEDOUT, "",
					  "it is starting a program, which takes too long");
		inject_process_close(&i->process);
	}
	if (!err && !stub) {
		err = inject_seccomp_check(&i->process, reason);
		if (err)
			inject_process_close(&i->process);
	}
	if (err) {
		free(i);
		return err;
	}
	*ret = i;
	return 0;
}

/*
 * Makes a system call through the process's own code. If the recorder dies meanwhile, the thread
 * goes back to what it did by way_back.
 */
static int bare_syscall(struct inject *i, uint64_t number, const uint64_t *args, uint64_t way_back,
			int64_t *ret)
{
	struct user_regs_struct r = i->thread.state.regs;
	int err;

	inject_regs_set_call(&r, number, args);
	inject_regs_jump(&r, i->process.sequences[INJECT_SYSCALL_RETURN], way_back);
	err = inject_thread_set(&i->thread, &r);
	for (int stop = 0; stop < 2 && !err; stop++) /* at its entry, at its exit */
		err = inject_thread_to_syscall(&i->thread);
	if (!err)
		err = inject_thread_regs(&i->thread, &r);
	*ret = inject_regs_result(&r);
	return err;
}

static int map_stub(struct inject *i)
{
	int err = -ENOMEM;

	for (unsigned int n = 0; err; n++) {
		uint64_t address = inject_process_address(&i->process, n);
		const uint64_t args[6] = {
			address,
			INJECT_STUB_SIZE,
			PROT_READ | PROT_EXEC,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE,
			(uint64_t)-1,
			0,
		};
		int64_t result;

		if (!address)
			return err;
		err = bare_syscall(i, SYS_mmap, args, inject_zone_way_back_unmapping(i), &result);
		if (err)
			return err;
		if (result == (int64_t)address)
			i->stub = address;
		else if (result != -EEXIST)
			return result < 0 ? (int)result : -ENOTSUP;
		err = i->stub ? 0 : -EEXIST;
	}
	return 0;
}

/*
 * The process itself may only read the page. Where /proc/PID/mem may not overrule that, ptrace
 * writes it.
 */
static int write_stub(struct inject *i)
{
	size_t size = (size_t)(inject_stub_end - inject_stub_code);

	if (!inject_process_write(&i->process, i->stub, inject_stub_code, size))
		return 0;
	for (size_t at = 0; at < size; at += sizeof(long)) {
		long word = 0;

		memcpy(&word, inject_stub_code + at,
		       size - at < sizeof(word) ? size - at : sizeof(word));
		if (ptrace(PTRACE_POKEDATA, i->thread.tid, (void *)(i->stub + at), (void *)word))
			return -errno;
	}
	return 0;
}

static int start_stub(struct inject *i)
{
	struct user_regs_struct r = i->thread.state.regs;
	int err;

	inject_regs_set_mailbox(&r, i->zone);
	inject_regs_jump(&r, i->stub, i->zone + ZONE_STACK_TOP);
	err = inject_thread_set(&i->thread, &r);
	if (!err)
		err = inject_thread_continue(&i->thread);
	i->runs = !err;
	return err;
}

/*
 * The first call of a new stub: children do not inherit its page. It is waited for together with
 * the next call.
 */
static int submit_forgetting(struct inject *i)
{
	const struct inject_call call = { SYS_madvise,
					  { i->stub, INJECT_STUB_SIZE, MADV_DONTFORK },
					  0 };

	i->submitted = 1;
	if (inject_zone_put(i, offsetof(struct inject_mailbox, calls), &call, sizeof(call)) ||
	    inject_zone_put(i, offsetof(struct inject_mailbox, submitted), &i->submitted,
			    sizeof(i->submitted)))
		return -EFAULT;
	return 0;
}

static int bring_stub(struct inject *i)
{
	bool is_new;
	int err = 0;

	if (!i->stub) /* that of a recorder that was killed */
		i->stub = i->process.ours_start;
	is_new = !i->stub;
	if (!is_new && !inject_process_has_stub(&i->process, i->stub)) {
		i->stub = 0;
		return -ESRCH; /* the program has replaced it meanwhile */
	}
	if (is_new)
		err = map_stub(i);
	if (!err && is_new)
		err = write_stub(i);
	if (!err && is_new)
		err = inject_unmap_on_death(i, i->stub, INJECT_STUB_SIZE);
	if (!err && is_new)
		err = submit_forgetting(i);
	return err ? err : start_stub(i);
}

/* Releases the thread, and restores what it was doing unless it has done that itself. */
static void let_go(struct inject *i, bool restore)
{
	uint64_t from = i->thread.stopped_ns;

	i->stop_ns = inject_thread_release(&i->thread, restore) - from;
	inject_zone_clear(i);
	inject_thread_release_hung(&i->thread);
}

int inject_stop(struct inject *i, unsigned int limit_ms, inject_accept accept, void *context,
		struct inject_reason *reason)
{
	int err = inject_thread_stop(&i->thread, &i->process, limit_ms, accept, context, reason);

	if (err)
		return err;
	i->runs = false;
	err = inject_zone_place(i);
	if (err) {
		i->zone_is_shared = false;
		let_go(i, true);
		return inject_refuse_entry(
			reason, err, "",
			"it has no memory that is known to be unused: the stack of "
			"its first thread has been used to its end");
	}
	err = inject_zone_write(i);
	if (!err)
		err = bring_stub(i);
	if (!err)
		return 0;
	inject_resume(i);
	if (err == -ESRCH)
		return inject_refuse(reason, err, "try again",
				     "the thread that was stopped has ended, or the process "
				     "runs another program now");
	return inject_refuse_entry(reason, err, "", "a page of code could not be put into it: %s",
				   strerror(-err));
}

/* Does the thread run our code, or is it on its way out of it? */
static bool is_ours(const struct inject *i, const struct user_regs_struct *r)
{
	uint64_t pc = inject_regs_pc(r);

	if (pc - i->stub < INJECT_STUB_SIZE && i->stub)
		return true;
	if (inject_regs_sp(r) - i->zone > ZONE_SIZE)
		return false;
	for (int n = 0; n < INJECT_NR_SEQUENCES; n++)
		if (pc - i->process.sequences[n] <= inject_sequences[n].size)
			return true;
	return false;
}

/*
 * Stops the thread in the stub. *ret_ours: its registers are still ours, so they must be restored.
 */
static int take_back(struct inject *i, bool *ret_ours)
{
	struct user_regs_struct r;
	uint32_t left = 1;
	int err = i->runs ? inject_thread_interrupt(&i->thread) : 0;

	if (err)
		return err;
	i->runs = false;
	if (inject_process_read(&i->process, i->zone + offsetof(struct inject_mailbox, left), &left,
				sizeof(left)))
		err = -ESRCH;
	*ret_ours = !left;
	if (left && !inject_thread_regs(&i->thread, &r))
		*ret_ours = is_ours(i, &r);
	return err;
}

int inject_halt(struct inject *i)
{
	bool ours;

	return take_back(i, &ours);
}

int inject_run_on(struct inject *i)
{
	int err = inject_thread_continue(&i->thread);

	i->runs = !err;
	return err;
}

int inject_resume(struct inject *i)
{
	bool ours = false;
	int err;

	if (!i->thread.tid)
		return 0;
	err = take_back(i, &ours);
	let_go(i, ours);
	return err;
}

void inject_abandon(struct inject *i)
{
	i->zone_is_shared = false; /* it is still in use */
	if (i->runs && !inject_thread_interrupt(&i->thread))
		let_go(i, false);
	i->runs = false;
}

int inject_unmap(struct inject *i, uint64_t start, uint64_t size)
{
	const uint64_t args[6] = { start, size };
	bool ours = false;
	int64_t result = 0;
	int err = take_back(i, &ours);

	if (!err && !ours)
		err = -ETIMEDOUT;
	if (!err)
		err = bare_syscall(i, SYS_munmap, args, inject_zone_way_back(i), &result);
	if (!err && i->stub - start < size)
		i->stub = i->process.ours_start = 0;
	let_go(i, ours);
	return err ? err : (int)result;
}

uint64_t inject_stop_ns(const struct inject *i)
{
	return i->stop_ns;
}

uint64_t inject_stub(const struct inject *i)
{
	return i->stub;
}

void inject_leave_others(struct inject *i)
{
	struct inject_process *p = &i->process;

	if (p->ours_end - p->ours_start > INJECT_STUB_SIZE)
		p->ours_start = p->ours_end = 0;
}

uint64_t inject_scratch(const struct inject *i)
{
	return i->zone + ZONE_SCRATCH;
}

uint64_t inject_mailbox(const struct inject *i)
{
	return i->zone;
}

const struct inject_thread *inject_thread(const struct inject *i)
{
	return &i->thread;
}

const struct inject_process *inject_process(const struct inject *i)
{
	return &i->process;
}

void inject_close(struct inject *i)
{
	if (!i)
		return;
	inject_resume(i);
	inject_process_close(&i->process);
	free(i);
}
