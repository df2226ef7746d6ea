/*
 * Compares recordings of ranks in which any bytes say what the processes did. Whatever the times,
 * numbers and names are, the result must have valid ids and sums, and both writers must come to an
 * end. The first byte of a record says what it is; the numbers after it are small, or any of 64
 * bits where a bit of the first byte asks for that.
 */
#include <stdlib.h>
#include <string.h>

#include "core/base/buffer.h"
#include "core/base/log.h"
#include "core/profile/facts.h"
#include "core/profile/profile.h"
#include "output/ranks/ranks.h"
#include "output/ranks/ranks_write.h"

#define MAX_PROFILES 6
#define MAX_RECORDS 4096
#define WIDE 0x80 /* of the first byte */

struct input {
	const uint8_t *data, *end;
	bool wide;
};

static uint8_t byte(struct input *in)
{
	return in->data < in->end ? *in->data++ : 0;
}

static uint64_t number(struct input *in)
{
	uint64_t n = 0;

	for (int i = 0; i < (in->wide ? 8 : 1); i++)
		n |= (uint64_t)byte(in) << 8 * i;
	return n;
}

/* Microseconds, so that small numbers overlap as operations of a communicator do. */
static uint64_t time_ns(struct input *in)
{
	return in->wide ? number(in) : 1000ull * (number(in) + 1);
}

static uint32_t name(struct profile *p, struct input *in)
{
	static const char *const names[] = { "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x<4096ul>)",
					     "ncclKernel_AllGather_RING_LL_Sum_float",
					     "ncclDevKernel_",
					     "(<",
					     "",
					     "train \033[31m",
					     "_<_(",
					     "gemm" };

	return profile_cstring(p, names[byte(in) % 8]);
}

static uint32_t thread(struct profile *p, struct input *in)
{
	uint32_t pid = byte(in) % 4, tid = byte(in) % 8;

	return tid == 7 ? PROFILE_NONE : profile_thread(p, pid, tid, profile_cstring(p, "t"));
}

static uint32_t stack(struct profile *p, struct input *in)
{
	uint32_t frames[16], nr = byte(in) % 16;
	uint32_t module = profile_module(
		p, &(struct profile_module){ .kind = byte(in) % 2 ? MODULE_ELF : MODULE_KERNEL,
					     .path = profile_cstring(p, "/lib/libc.so.6") });

	for (uint32_t i = 0; i < nr; i++)
		frames[i] = profile_frame(p, module, byte(in) % 8);
	return profile_stack(p, frames, nr);
}

static void add_rank(struct profile *p, struct input *in)
{
	struct fact_rank row = { .pid = number(in) % 5,
				 .rank = number(in),
				 .local_rank = byte(in),
				 .nr_ranks = number(in) };

	row.host = profile_cstring(p, byte(in) % 2 ? "a" : "a,b");
	facts_put(p, FACT_RANK, &row);
}

static void add_collective(struct profile *p, struct input *in)
{
	struct fact_collective row = {
		.pid = in->wide && byte(in) % 2 ? number(in) : byte(in) % 5,
		.thread = thread(p, in),
		.way = byte(in) % 4,
		.device = byte(in) % 2,
		.lane = byte(in) % 4,
		.name = name(p, in),
		.start_ns = time_ns(in),
		.duration_ns = time_ns(in),
		.call_ahead_ns = number(in) - (byte(in) % 2 ? 0 : 100),
		.stack = PROFILE_NONE,
	};

	if (byte(in) % 2)
		row.stack = stack(p, in);
	facts_put(p, FACT_COLLECTIVE, &row);
}

static void add_sample(struct profile *p, struct input *in)
{
	const struct profile_sample s = {
		.time_ns = time_ns(in),
		.weight = time_ns(in),
		.thread = thread(p, in),
		.stack = stack(p, in),
		.column = byte(in) % NR_COLUMNS,
	};

	profile_add_sample(p, &s);
}

static void add_activity(struct profile *p, struct input *in)
{
	const struct fact_gpu_activity row = {
		.pid = byte(in) % 5,
		.kind = byte(in) % 6,
		.device = byte(in) % 2,
		.name = name(p, in),
		.start_ns = time_ns(in),
		.duration_ns = time_ns(in),
		.thread = PROFILE_NONE,
	};

	facts_put(p, FACT_GPU_ACTIVITY, &row);
}

static void check(const struct ranks *r)
{
	for (size_t i = 0; i < r->nr_lanes; i++) {
		const struct rank_lane *lane = &r->lanes[i];

		if (lane->rank >= r->nr || (lane->communicator != PROFILE_NONE &&
					    lane->communicator >= r->nr_communicators))
			abort();
		for (size_t k = 0; k < lane->nr; k++)
			if (lane->ops[k].name >= r->nr_names ||
			    (k && lane->ops[k].start_ns < lane->ops[k - 1].start_ns))
				abort();
	}
	for (size_t i = 0; i < r->nr_collectives; i++) {
		const struct rank_collective *c = &r->collectives[i];
		const struct rank_communicator *group = &r->communicators[c->communicator];

		if (c->last >= r->nr || c->name >= r->nr_names ||
		    c->ops + group->nr > r->nr_members || c->late_ns > c->waited_ns)
			abort();
		for (size_t k = 0; k < group->nr; k++)
			if (ranks_op(r, c, k)->start_ns > c->start_ns)
				abort();
	}
}

static void write_all(const struct ranks *r)
{
	const struct ranks_write_opts opts = { .max_rows = 20, .columns = 100 };
	struct buffer b = { 0 };

	ranks_write(&b, r, &opts);
	for (size_t i = 0; i < b.size; i++)
		if ((unsigned char)b.data[i] < 0x20 && b.data[i] != '\n')
			abort();
	b.size = 0;
	ranks_write_json(&b, r, &opts);
	buffer_fini(&b);
}

static struct profile *begin_profile(struct input *in)
{
	struct profile *p = profile_new();

	p->meta.hostname = profile_cstring(p, byte(in) % 2 ? "one" : "two");
	in->wide = byte(in) % 2;
	p->meta.start_ns = number(in);
	p->meta.start_realtime_ns = number(in);
	return p;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const add[])(struct profile *, struct input *) = {
		add_rank, add_collective, add_collective, add_collective, add_sample, add_activity,
	};
	struct input in = { data, data + size, false };
	struct profile *profiles[MAX_PROFILES];
	struct ranks *r = ranks_new();
	size_t nr = 0;

	log_set_level(LOG_QUIET);
	profiles[nr++] = begin_profile(&in);
	for (int i = 0; i < MAX_RECORDS && in.data < in.end; i++) {
		uint8_t first = byte(&in), kind = first % 7;

		in.wide = first & WIDE;
		if (kind < 6)
			add[kind](profiles[nr - 1], &in);
		else if (nr < MAX_PROFILES)
			profiles[nr++] = begin_profile(&in);
	}
	for (size_t i = 0; i < nr; i++)
		ranks_add(r, profiles[i]);
	ranks_align(r);
	check(r);
	if (r->nr)
		write_all(r);
	ranks_free(r);
	for (size_t i = 0; i < nr; i++)
		profile_free(profiles[i]);
	return 0;
}
