/*
 * Takes the fields one after the other, in the order of the kernel's perf_output_sample(); a field
 * that is not needed is skipped. The cursor remembers whether the record was long enough.
 */
#include "sampler/perf_data/sample_record.h"

#include <string.h>

#include "sampler/target/registers_x86_64.h"

#define NR_SAMPLED_REGS 64 /* bits of the mask */

/* Where user addresses end, at the latest, on an architecture other than x86-64. */
#define FOREIGN_USER_END (1ull << 56)

static bool is_foreign(const struct perf_data_file *f)
{
	return *f->arch && strcmp(f->arch, "x86_64") != 0;
}

static void take_context(struct perf_data_sample *s, uint64_t address, int *context, bool *leaf,
			 size_t *nr_all)
{
	bool exact = *leaf;

	*leaf = false;
	if (*context == PERF_RECORD_MISC_KERNEL) {
		if (s->nr_kernel < MAX_KERNEL_FRAMES)
			s->kernel[s->nr_kernel++] = address;
		return;
	}
	if (*context != PERF_RECORD_MISC_USER || address >= s->user_end)
		return;
	address |= exact ? FRAME_EXACT : 0;
	if (*nr_all < MAX_USER_FRAMES) {
		s->user[(*nr_all)++] = address;
		return;
	}
	/* Frames between the leaf part and the root part are dropped: the root part is a ring. */
	s->user[MAX_LEAF_FRAMES + (*nr_all - MAX_LEAF_FRAMES) % MAX_ROOT_FRAMES] = address;
	s->gap = MAX_LEAF_FRAMES;
	(*nr_all)++;
}

static void turn_ring(struct perf_data_sample *s, size_t nr_all)
{
	uint64_t ring[MAX_ROOT_FRAMES];
	size_t first = (nr_all - MAX_LEAF_FRAMES) % MAX_ROOT_FRAMES;

	for (size_t i = 0; i < MAX_ROOT_FRAMES; i++)
		ring[i] = s->user[MAX_LEAF_FRAMES + (first + i) % MAX_ROOT_FRAMES];
	memcpy(s->user + MAX_LEAF_FRAMES, ring, sizeof(ring));
}

/*
 * The chain has parts, each after a marker (PERF_CONTEXT_*) that says whose frames follow. The
 * first address of a part is exact, the others are return addresses.
 */
static bool take_chain(struct cursor *b, struct perf_data_sample *s)
{
	uint64_t nr = cursor_fixed(b, 8);
	int context = s->in_kernel ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER;
	size_t nr_all = 0;
	bool leaf = true;

	if (nr > cursor_left(b) / 8)
		return false;
	while (nr--) {
		uint64_t address = cursor_fixed(b, 8);

		if (address < (uint64_t)PERF_CONTEXT_MAX) {
			take_context(s, address, &context, &leaf, &nr_all);
			continue;
		}
		/* In the user part that is where user code entered the kernel. */
		leaf = true;
		if (address == (uint64_t)PERF_CONTEXT_KERNEL)
			context = PERF_RECORD_MISC_KERNEL;
		else if (address == (uint64_t)PERF_CONTEXT_USER)
			context = PERF_RECORD_MISC_USER;
		else
			context = PERF_RECORD_MISC_HYPERVISOR; /* frames that are not shown */
	}
	s->nr_user = nr_all < MAX_USER_FRAMES ? nr_all : MAX_USER_FRAMES;
	if (s->gap)
		turn_ring(s, nr_all);
	return true;
}

static void skip_read(struct cursor *b, const struct perf_event_attr *attr)
{
	uint64_t times = attr->read_format &
			 (PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING);
	uint64_t each = 8 * (1 + (uint64_t)__builtin_popcountll(
					 attr->read_format & (PERF_FORMAT_ID | PERF_FORMAT_LOST)));
	uint64_t nr = 1;

	if (attr->read_format & PERF_FORMAT_GROUP)
		nr = cursor_fixed(b, 8);
	cursor_take(b, 8 * (uint64_t)__builtin_popcountll(times));
	if (nr > cursor_left(b) / each)
		b->bad = true;
	else
		cursor_take(b, nr * each);
}

static void skip_branches(struct cursor *b, const struct perf_event_attr *attr)
{
	uint64_t nr = cursor_fixed(b, 8);

	if (attr->branch_sample_type & PERF_SAMPLE_BRANCH_HW_INDEX)
		cursor_take(b, 8);
	if (nr > cursor_left(b) / 24)
		b->bad = true;
	else
		cursor_take(b, nr * 24);
}

/* The registers of the mask, in perf's order. */
static void take_regs(struct cursor *b, const struct perf_event_attr *attr,
		      struct perf_data_sample *s)
{
	uint64_t mask = attr->sample_regs_user, seen = 0;

	s->abi = cursor_fixed(b, 8);
	if (s->abi == PERF_SAMPLE_REGS_ABI_NONE)
		return;
	for (unsigned i = 0; i < NR_SAMPLED_REGS; i++) {
		int place = registers_of_perf(i);
		uint64_t value;

		if (!(mask >> i & 1))
			continue;
		value = cursor_fixed(b, 8);
		if (place < 0)
			continue;
		seen |= 1ull << i;
		if (place == WALK_REG_RA)
			s->pc = value;
		else
			s->gpr[place] = value;
	}
	s->all_regs = seen == REGISTERS_PERF_MASK;
}

/* Registers of another architecture mean nothing here. */
static void skip_regs(struct cursor *b, const struct perf_event_attr *attr)
{
	if (cursor_fixed(b, 8) != PERF_SAMPLE_REGS_ABI_NONE)
		cursor_take(b, 8 * (uint64_t)__builtin_popcountll(attr->sample_regs_user));
}

/* The reserved bytes, and then how many of them were filled. */
static void take_stack(struct cursor *b, struct perf_data_sample *s)
{
	uint64_t room = cursor_fixed(b, 8), filled;
	const uint8_t *stack;

	if (!room)
		return;
	stack = cursor_take(b, room);
	filled = cursor_fixed(b, 8);
	if (filled > room)
		b->bad = true;
	s->stack = stack;
	s->stack_size = filled;
}

static const struct perf_data_event *event_of(const struct perf_data_file *f, struct cursor b)
{
	uint64_t type = f->events->attr.sample_type, before;

	if (type & PERF_SAMPLE_IDENTIFIER)
		return perf_data_file_event(f, cursor_fixed(&b, 8));
	if (!(type & PERF_SAMPLE_ID))
		return f->events;
	before = type & (PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR);
	cursor_take(&b, 8 * (uint64_t)__builtin_popcountll(before));
	return perf_data_file_event(f, cursor_fixed(&b, 8));
}

const struct perf_data_event *perf_data_sample_event(const struct perf_data_file *f,
						     const struct perf_data_record *r)
{
	return event_of(f, (struct cursor){ r->body, r->body + r->size, false });
}

static void take_fixed(struct cursor *b, uint64_t type, struct perf_data_sample *s)
{
	if (type & PERF_SAMPLE_IDENTIFIER)
		cursor_take(b, 8);
	if (type & PERF_SAMPLE_IP)
		s->ip = cursor_fixed(b, 8);
	if (type & PERF_SAMPLE_TID) {
		s->pid = (uint32_t)cursor_fixed(b, 4);
		s->tid = (uint32_t)cursor_fixed(b, 4);
		s->has_thread = true;
	}
	if (type & PERF_SAMPLE_TIME)
		s->time_ns = cursor_fixed(b, 8);
	if (type & PERF_SAMPLE_ADDR)
		cursor_take(b, 8);
	if (type & PERF_SAMPLE_ID)
		cursor_take(b, 8);
	if (type & PERF_SAMPLE_STREAM_ID)
		cursor_take(b, 8);
	if (type & PERF_SAMPLE_CPU)
		s->cpu = (uint32_t)cursor_fixed(b, 8);
	if (type & PERF_SAMPLE_PERIOD)
		s->period = cursor_fixed(b, 8);
}

bool perf_data_sample_parse(const struct perf_data_file *f, const struct perf_data_record *r,
			    struct perf_data_sample *s)
{
	struct cursor b = { r->body, r->body + r->size, false };
	const struct perf_event_attr *attr;
	uint64_t type;

	memset(s, 0, sizeof(*s));
	s->user_end = is_foreign(f) ? FOREIGN_USER_END : WALK_USER_END;
	s->event = event_of(f, b);
	if (!s->event)
		return false;
	attr = &s->event->attr;
	type = attr->sample_type;
	s->in_kernel = (r->header.misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL;
	if (!attr->freq)
		s->period = attr->sample_period;
	take_fixed(&b, type, s);
	if (type & PERF_SAMPLE_READ)
		skip_read(&b, attr);
	if (type & PERF_SAMPLE_CALLCHAIN && !take_chain(&b, s))
		return false;
	if (type & PERF_SAMPLE_RAW)
		cursor_take(&b, cursor_fixed(&b, 4));
	if (type & PERF_SAMPLE_BRANCH_STACK)
		skip_branches(&b, attr);
	if (type & PERF_SAMPLE_REGS_USER && is_foreign(f))
		skip_regs(&b, attr);
	else if (type & PERF_SAMPLE_REGS_USER)
		take_regs(&b, attr, s);
	if (type & PERF_SAMPLE_STACK_USER)
		take_stack(&b, s);
	if (s->stack && is_foreign(f)) {
		s->stack = NULL;
		s->has_foreign_stack = true;
	}
	if (!s->nr_kernel && s->in_kernel && s->ip)
		s->kernel[s->nr_kernel++] = s->ip;
	if (!s->nr_user && !s->in_kernel && !s->stack && s->ip && s->ip < s->user_end)
		s->user[s->nr_user++] = s->ip | FRAME_EXACT;
	return !b.bad;
}
