/*
 * A record's fields lie one after the other, and which there are follows from the event. They are
 * taken from its front in that order; a record that ends too early is refused.
 */
#include "sampler/perf/perf_record.h"

#include <string.h>
#include <sys/sysmacros.h>

#include "sampler/target/perf_ring.h"
#include "sampler/target/registers_x86_64.h"

struct ids {
	uint32_t pid, tid;
	uint64_t time;
	uint32_t cpu, reserved;
};
_Static_assert(sizeof(struct ids) == 24, "PERF_RECORD_IDS");

/* What is left of a record. */
struct rest {
	const uint8_t *at;
	size_t size;
};

static bool take(struct rest *r, void *to, size_t size)
{
	if (r->size < size)
		return false;
	memcpy(to, r->at, size);
	r->at += size;
	r->size -= size;
	return true;
}

static bool skip(struct rest *r, uint64_t size)
{
	if (r->size < size)
		return false;
	r->at += size;
	r->size -= size;
	return true;
}

static bool parse_mmap2(struct rest body, struct perf_record *out)
{
	struct perf_mmap2 m;

	if (!take(&body, &m, sizeof(m)) || !memchr(body.at, '\0', body.size))
		return false;
	out->type = PERF_MAPPED;
	out->pid = (pid_t)m.pid;
	out->tid = (pid_t)m.tid;
	out->start = m.start;
	out->length = m.length;
	out->pgoff = m.pgoff;
	out->dev = makedev(m.major, m.minor);
	out->ino = m.ino;
	out->path = (const char *)body.at;
	return true;
}

static bool parse_comm(const struct perf_event_header *h, struct rest body, struct perf_record *out)
{
	uint32_t ids[2];
	size_t length;

	if (!take(&body, ids, sizeof(ids)))
		return false;
	length = strnlen((const char *)body.at, body.size);
	if (length == body.size)
		return false;
	out->type = PERF_NAMED;
	out->pid = (pid_t)ids[0];
	out->tid = (pid_t)ids[1];
	out->is_exec = h->misc & PERF_RECORD_MISC_COMM_EXEC;
	memcpy(out->comm, body.at, length < COMM_SIZE - 1 ? length : COMM_SIZE - 1);
	return true;
}

static bool parse_task(const struct perf_event_header *h, struct rest body, struct perf_record *out)
{
	uint32_t ids[4]; /* pid, ppid, tid, ptid */

	if (!take(&body, ids, sizeof(ids)))
		return false;
	out->type = h->type == PERF_RECORD_FORK ? PERF_FORKED : PERF_EXITED;
	out->pid = (pid_t)ids[0];
	out->parent_pid = (pid_t)ids[1];
	out->tid = (pid_t)ids[2];
	out->parent_tid = (pid_t)ids[3];
	return true;
}

static bool parse_lost(struct rest body, struct perf_record *out)
{
	out->type = PERF_DROPPED;
	return skip(&body, 8) && take(&body, &out->nr_lost, 8);
}

/*
 * The events leave user frames out, so every address of the chain is the kernel's; markers are
 * skipped.
 */
static bool parse_chain(struct rest *r, struct perf_sample *out)
{
	uint64_t nr, address;

	if (!take(r, &nr, 8) || nr > PERF_RECORD_MAX_CHAIN)
		return false;
	while (nr--) {
		if (!take(r, &address, 8))
			return false;
		if (address < (uint64_t)PERF_CONTEXT_MAX && out->nr_kernel < MAX_KERNEL_FRAMES)
			out->kernel[out->nr_kernel++] = address;
	}
	return true;
}

static bool parse_regs(struct rest *r, struct perf_sample *out)
{
	uint64_t regs[REGISTERS_NR_PERF], *next = regs;

	if (!take(r, &out->abi, 8))
		return false;
	if (out->abi == PERF_SAMPLE_REGS_ABI_NONE)
		return true;
	if (!take(r, regs, sizeof(regs)))
		return false;
	for (unsigned int i = 0; i < 64; i++) {
		if (!(REGISTERS_PERF_MASK >> i & 1))
			continue;
		if (registers_of_perf(i) == WALK_REG_RA)
			out->pc = *next++;
		else
			out->gpr[registers_of_perf(i)] = *next++;
	}
	return true;
}

/* The kernel reserves as much as was asked for; the number of bytes that it filled comes last. */
static bool parse_stack(struct rest *r, struct perf_sample *out)
{
	uint64_t room, filled;

	if (!take(r, &room, 8))
		return false;
	if (!room)
		return true;
	out->stack = r->at;
	if (!skip(r, room) || !take(r, &filled, 8) || filled > room)
		return false;
	out->stack_size = filled;
	return true;
}

static bool parse_sample(const struct perf_event_header *h, struct rest body, bool has_chain,
			 struct perf_record *out)
{
	struct perf_sample *s = &out->sample;
	struct ids ids;

	if (!skip(&body, 8) || !take(&body, &ids, sizeof(ids)) || !take(&body, &s->period, 8))
		return false;
	out->type = PERF_SAMPLE_TAKEN;
	out->pid = (pid_t)ids.pid;
	out->tid = (pid_t)ids.tid;
	out->time_ns = ids.time;
	out->cpu = (uint16_t)ids.cpu;
	s->in_kernel = (h->misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL;
	return (!has_chain || parse_chain(&body, s)) && parse_regs(&body, s) &&
	       parse_stack(&body, s);
}

bool perf_record_parse(const struct perf_event_header *h, const uint8_t *body, size_t size,
		       bool has_chain, struct perf_record *out)
{
	struct rest rest = { body, size };
	struct ids ids;

	memset(out, 0, sizeof(*out));
	if (h->type == PERF_RECORD_SAMPLE)
		return parse_sample(h, rest, has_chain, out);
	if (size < sizeof(ids))
		return false;
	rest.size -= sizeof(ids);
	memcpy(&ids, body + rest.size, sizeof(ids));
	out->pid = (pid_t)ids.pid;
	out->tid = (pid_t)ids.tid;
	out->time_ns = ids.time;
	out->cpu = (uint16_t)ids.cpu;
	switch (h->type) {
	case PERF_RECORD_MMAP2: return parse_mmap2(rest, out);
	case PERF_RECORD_COMM: return parse_comm(h, rest, out);
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT: return parse_task(h, rest, out);
	case PERF_RECORD_LOST: return parse_lost(rest, out);
	case PERF_RECORD_SWITCH:
		out->type = PERF_SWITCHED;
		out->is_out = h->misc & PERF_RECORD_MISC_SWITCH_OUT;
		out->is_preempted = h->misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT;
		return true;
	case PERF_RECORD_THROTTLE: out->type = PERF_THROTTLED; return true;
	default: return false;
	}
}
