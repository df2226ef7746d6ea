/*
 * What is shared lies behind the stub of sampler/inject, which the thread needs that maps it; the
 * code and what is private lie near the allocator.
 */
#include "sampler/alloc/alloc_memory.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "core/portable/walk_tables.h"
#include "sampler/alloc/alloc_target.h"
#include "sampler/alloc/near_gap.h"
#include "sampler/alloc/x86_64/stub_frame.h"
#include "sampler/attach/attach.h"
#include "sampler/attach/hand_over.h"
#include "sampler/attach/payload.h"
#include "sampler/inject/inject.h"
#include "sampler/target/vdso.h"

#define STOP_LIMIT_MS 500u
#define CALL_LIMIT_MS 1000u

const struct alloc_payload *alloc_memory_payload(void)
{
	return (const struct alloc_payload *)alloc_payload_bin;
}

bool alloc_memory_is_there(const struct inject_process *p, const struct alloc_target *t)
{
	uint64_t magic = 0, owner = 0;

	return !inject_process_read(p, t->private_memory, &magic, sizeof(magic)) &&
	       magic == ALLOC_MAGIC &&
	       !inject_process_read(p, t->shared_at + offsetof(struct alloc_shared, owner), &owner,
				    sizeof(owner)) &&
	       owner == t->owner;
}

/* With the arguments that seccomp filters were asked about (seccomp_calls.h). */
static struct inject_call map_private_call(const struct alloc_target *t)
{
	return (struct inject_call){
		SYS_mmap,
		{ t->code, ALLOC_CODE_SIZE + ALLOC_PRIVATE_SIZE, PROT_READ | PROT_EXEC,
		  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, (uint64_t)-1, 0 },
		0,
	};
}

/* The shared part, then the tables of the walker, behind the stub. */
static int map_shared(struct inject *i, struct alloc_target *t, struct inject_reason *reason)
{
	const uint64_t stub = inject_stub(i), shared = stub + INJECT_STUB_SIZE,
		       space = shared + sizeof(struct alloc_shared),
		       arena = space + sizeof(struct walk_space),
		       end = arena + sizeof(struct walk_arena);
	const struct attach_layout first = { stub, shared, shared, space, space, space };
	const struct attach_layout second = { stub, space, space, space, arena, end };
	struct attach_files files = { .region_fd = t->shared_fd, .arena_fd = -1 };
	const struct inject_call then = map_private_call(t);
	const struct inject_call quiet = {
		SYS_madvise, { t->private_memory, ALLOC_PRIVATE_SIZE, MADV_WIPEONFORK }, 0
	};
	int64_t result = 0;
	int err;

	t->shared_at = shared;
	t->end = space;
	err = attach_memory_map(i, &files, &first, &then, &result, reason);
	if (err == -EEXIST) /* something of somebody else is there, and stays */
		t->shared_at = 0;
	if (!err && result != (int64_t)t->code)
		return inject_refuse(reason, result < 0 ? (int)result : -ENOMEM, "try again",
				     "memory near its allocator could not be mapped");
	t->has_code = !err;
	files = (struct attach_files){
		.region_fd = t->space_fd,
		.arena_fd = t->arena_fd,
		.arena_size = sizeof(struct walk_arena),
	};
	t->end = err ? space : end;
	if (!err)
		err = attach_memory_map(i, &files, &second, &quiet, &result, reason);
	if (err == -EEXIST)
		t->end = space;
	if (!err && result)
		return inject_refuse(reason, (int)result, "", "madvise(2) in it failed: %s",
				     strerror((int)-result));
	return err;
}

/*
 * Best effort: what is not mapped is no error. The stub stays. Where our code could not be mapped,
 * the process itself has mapped something since its maps were read.
 */
static void unmap_all(struct inject *i, const struct alloc_target *t)
{
	struct inject_call calls[2];
	size_t nr = 0;

	if (t->has_code)
		calls[nr++] = (struct inject_call){
			SYS_munmap, { t->code, ALLOC_CODE_SIZE + ALLOC_PRIVATE_SIZE }, 0
		};
	if (t->shared_at)
		calls[nr++] = (struct inject_call){ SYS_munmap,
						    { t->shared_at, t->end - t->shared_at },
						    0 };
	if (nr)
		inject_calls(i, calls, nr, CALL_LIMIT_MS);
}

static int protect_private(struct inject *i, const struct alloc_target *t,
			   struct inject_reason *reason)
{
	struct inject_call call = {
		SYS_mprotect, { t->private_memory, ALLOC_PRIVATE_SIZE, PROT_READ | PROT_WRITE }, 0
	};
	int err = inject_calls(i, &call, 1, CALL_LIMIT_MS);

	if (!err && call.result)
		err = (int)(int64_t)call.result;
	return err ? inject_refuse(reason, err, "", "memory could not be made writable in it: %s",
				   strerror(-err))
		   : 0;
}

/*
 * FDEs that cover nothing lie up to where the stubs are, so that no page between is of zeros: there
 * a walker takes the code to end. Then comes the end of the list, a word of zeros.
 */
static int write_payload(const struct inject_process *p, uint64_t code,
			 const struct alloc_payload *payload)
{
	struct stub_frame_places places = { .cie = code + payload->head.eh_frame, .stub = code };
	uint8_t bytes[ALLOC_STUBS_AT] = { 0 };

	memcpy(bytes, alloc_payload_bin, alloc_payload_bin_size);
	for (uint32_t i = 0;; i++) {
		places.frame = hook_frame_at(code, payload, i);
		if (places.frame + ALLOC_FRAME_SIZE + sizeof(uint32_t) > code + sizeof(bytes))
			break;
		stub_frame_write(NULL, NULL, &places, bytes + (places.frame - code));
	}
	return inject_process_write(p, code, bytes, sizeof(bytes));
}

int alloc_memory_write(const struct inject *i, struct alloc_target *t)
{
	const struct inject_process *p = inject_process(i);
	const struct hook_memory memory = { t->code, t->private_memory, alloc_memory_payload(), 0 };
	const struct alloc_private head = {
		.shared = t->shared_at,
		.space = t->shared_at + sizeof(struct alloc_shared),
		.arena = t->shared_at + sizeof(struct alloc_shared) + sizeof(struct walk_space),
		.magic = ALLOC_MAGIC,
		.clock_gettime = vdso_address(t->pid, "__vdso_clock_gettime"),
	};

	if (hook_frame_at(0, memory.payload, ALLOC_NR_STUBS) + sizeof(uint32_t) > ALLOC_STUBS_AT)
		return -EFBIG;
	if (write_payload(p, t->code, memory.payload) ||
	    inject_process_write(p, t->private_memory, &head,
				 offsetof(struct alloc_private, counters)))
		return -EFAULT;
	t->nr_stubs = t->hooks.nr;
	return hook_set_write_stubs(&t->hooks, p, &memory);
}

/* The lowest and the highest function that is hooked. */
static void hooked_range(const struct alloc_target *t, uint64_t *low, uint64_t *high)
{
	*low = UINT64_MAX;
	*high = 0;
	for (size_t i = 0; i < t->hooks.nr; i++) {
		uint64_t at = t->hooks.hooks[i].plan.function;

		if (t->hooks.hooks[i].plan.is_slot)
			continue; /* the address of its stub fits in, wherever that lies */
		*low = at < *low ? at : *low;
		*high = at > *high ? at : *high;
	}
}

int alloc_memory_choose(struct alloc_target *t, struct inject_reason *reason)
{
	uint64_t low, high;

	hooked_range(t, &low, &high);
	t->code = near_gap_find(t->pid, low, high, ALLOC_CODE_SIZE + ALLOC_PRIVATE_SIZE);
	t->private_memory = t->code + ALLOC_CODE_SIZE;
	t->shared->code = t->code;
	return t->code ? 0
		       : inject_refuse(reason, -ENOMEM, "",
				       "there are no free addresses near its allocator");
}

int alloc_memory_unmap(struct inject *i, const struct alloc_target *t, struct inject_reason *reason)
{
	int err;

	inject_leave_others(i);
	err = inject_stop(i, STOP_LIMIT_MS, NULL, NULL, reason);

	if (err)
		return err;
	unmap_all(i, t);
	return inject_unmap(i, inject_stub(i), INJECT_STUB_SIZE);
}

int alloc_memory_map(struct inject *i, struct alloc_target *t, struct inject_reason *reason)
{
	int err;

	inject_leave_others(i);
	err = inject_stop(i, STOP_LIMIT_MS, NULL, NULL, reason);

	t->shared_at = 0;
	t->has_code = false;
	if (err)
		return err;
	err = map_shared(i, t, reason);
	if (!err)
		err = protect_private(i, t, reason);
	/* The thread may still be doing what it was asked for, only late: it is stopped first. */
	if (err)
		inject_halt(i);
	/* Our own parts stay mapped; the stub is needed no more. */
	inject_unmap(i, inject_stub(i), INJECT_STUB_SIZE);
	if (err)
		alloc_memory_unmap(i, t, &(struct inject_reason){ 0 });
	return err;
}
