/*
 * Where the zone lies, and what it holds at first: the mailbox and the signal frame that leads the
 * thread back to what it did.
 */
#include "sampler/inject/session.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>

#include "sampler/inject/x86_64/registers.h"

int inject_zone_put(struct inject *i, size_t offset, const void *bytes, size_t size)
{
	return inject_process_write(&i->process, i->zone + offset, bytes, size);
}

bool inject_zone_is_marked(const struct inject *i)
{
	uint64_t magic;

	return !inject_process_read(&i->process, i->process.stack_start, &magic, sizeof(magic)) &&
	       magic == INJECT_MAGIC;
}

/*
 * Below the stack pointer nothing of a thread lies on a stack that the kernel gave it; on any other
 * stack (Go, coroutines) other data may lie there. Then the zone is put at the far end of the first
 * thread's stack, which no function has reached yet.
 */
int inject_zone_place(struct inject *i)
{
	const struct inject_process *p = &i->process;
	uint64_t sp = inject_regs_sp(&i->thread.state.regs);
	static const uint8_t zeros[ZONE_SIZE];
	uint8_t there[ZONE_SIZE];
	uint64_t magic;

	i->zone_is_shared = false;
	if (sp <= p->stack_end && sp > p->stack_start + ZONE_SIZE + 2 * INJECT_RED_ZONE) {
		i->zone = (sp - INJECT_RED_ZONE - ZONE_SIZE) & ~63ull;
		return 0;
	}
	i->zone = p->stack_start;
	i->zone_is_shared = true;
	if (p->stack_end - p->stack_start < 2 * ZONE_SIZE ||
	    inject_process_read(p, i->zone, there, sizeof(there)))
		return -ENOTSUP;
	memcpy(&magic, there, sizeof(magic));
	if (magic == INJECT_MAGIC) /* left by a recorder that was killed */
		return 0;
	return memcmp(there, zeros, ZONE_SIZE) ? -ENOTSUP : 0;
}

uint64_t inject_zone_way_back(const struct inject *i)
{
	return i->zone + (i->process.sequences[INJECT_RESTORER] ? ZONE_FRAME : ZONE_CHAIN);
}

uint64_t inject_zone_way_back_unmapping(const struct inject *i)
{
	return i->process.sequences[INJECT_POP_RAX] ? i->zone + ZONE_UNMAP
						    : inject_zone_way_back(i);
}

/*
 * What the stub does last, by a jump into the process's own code, because the stub itself may be
 * what is unmapped. The frame comes after it.
 */
static struct inject_leave leave_by(const struct inject *i, uint64_t start, uint64_t size)
{
	const uint64_t code = i->process.sequences[INJECT_SYSCALL_RETURN];

	if (size)
		return (struct inject_leave){ SYS_munmap, start, size, inject_zone_way_back(i),
					      code };
	return (struct inject_leave){ SYS_rt_sigreturn, 0, 0, i->zone + ZONE_FRAME + 8, code };
}

/*
 * Behind the mailbox lies the way back: a system call that returns at `chain` pops 15, the number
 * of rt_sigreturn(2), into rax and makes another system call; or the process has code that does
 * both.
 */
int inject_zone_write(struct inject *i)
{
	const struct inject_process *p = &i->process;
	/*
	 * mmap(2) leaves its first two arguments, address and size, where munmap(2) has them too.
	 */
	struct {
		uint64_t unmap[3], chain[2];
		uint8_t frame[INJECT_FRAME_SIZE];
	} back = {
		.unmap = { p->sequences[INJECT_POP_RAX], SYS_munmap,
			   p->sequences[INJECT_SYSCALL_RETURN] },
		.chain = { p->sequences[INJECT_POP_RAX], SYS_rt_sigreturn },
	};
	struct inject_mailbox mailbox = {
		.magic = INJECT_MAGIC,
		.leave = leave_by(i, 0, 0),
		.descriptors = { -1, -1, -1, -1 },
	};
	int size = inject_frame_build(
		back.frame, i->zone + ZONE_FRAME,
		p->sequences[p->sequences[INJECT_RESTORER] ? INJECT_RESTORER
							   : INJECT_SYSCALL_RETURN],
		&i->sizes, &i->thread.state);

	_Static_assert(ZONE_UNMAP + sizeof(back.unmap) == ZONE_CHAIN, "one after the other");
	_Static_assert(ZONE_CHAIN + sizeof(back.chain) == ZONE_FRAME, "one after the other");
	i->submitted = 0;
	if (size < 0)
		return size;
	return inject_zone_put(i, 0, &mailbox, sizeof(mailbox))
		       ? -EFAULT
		       : inject_zone_put(i, ZONE_UNMAP, &back,
					 offsetof(typeof(back), frame) + (size_t)size);
}

int inject_unmap_on_death(struct inject *i, uint64_t start, uint64_t size)
{
	const struct inject_leave leave = leave_by(i, start, size);

	return inject_zone_put(i, offsetof(struct inject_mailbox, leave), &leave, sizeof(leave));
}

void inject_keep_calls(const struct inject *i, struct inject_call *calls)
{
	const uint64_t at = i->zone + offsetof(struct inject_mailbox, leave);
	const struct inject_leave leave = leave_by(i, 0, 0);

	/* Only these differ. */
	calls[0] = (struct inject_call){ INJECT_STORE,
					 { at + offsetof(struct inject_leave, rax), leave.rax },
					 0 };
	calls[1] = (struct inject_call){ INJECT_STORE,
					 { at + offsetof(struct inject_leave, rsp), leave.rsp },
					 0 };
}

void inject_zone_clear(struct inject *i)
{
	static const uint8_t zeros[ZONE_SIZE];

	if (i->zone_is_shared)
		inject_zone_put(i, 0, zeros, sizeof(zeros));
}
