/*
 * The kernel names an address at the cost of two system calls, so what an address tells is kept:
 * the kernel code that threads wait in is a few hundred addresses.
 */
#include "sampler/ebpf/ebpf_waits.h"

#include <stdlib.h>

#include <uthash.h>

#include "core/base/alloc.h"
#include "core/profile/facts.h"
#include "core/profile/source.h"
#include "sampler/ebpf/kernel_side.h"
#include "sampler/sink/sample_sink.h"
#include "sampler/waiting/wait_reason.h"

#define MAX_ADDRESSES 65536
/* Threads with a row of their own. Further ones are added up in one row. */
#define MAX_THREAD_ROWS 65536

struct known_address {
	uint64_t address;
	struct wait_hint hint;
	UT_hash_handle hh;
};

struct ebpf_waits {
	const struct kernel_side *kernel;
	struct known_address *addresses;
	size_t nr_rows;
	struct fact_thread_time others;
};

struct ebpf_waits *ebpf_waits_new(const struct kernel_side *kernel)
{
	struct ebpf_waits *w = xcalloc(1, sizeof(*w));

	w->kernel = kernel;
	w->others.thread = PROFILE_NONE;
	return w;
}

static void forget_addresses(struct ebpf_waits *w)
{
	struct known_address *a, *next;

	HASH_ITER (hh, w->addresses, a, next) {
		HASH_DEL(w->addresses, a);
		free(a);
	}
}

void ebpf_waits_free(struct ebpf_waits *w)
{
	if (!w)
		return;
	forget_addresses(w);
	free(w);
}

static struct wait_hint hint_of(struct ebpf_waits *w, uint64_t address)
{
	struct known_address *a;
	char name[256];

	HASH_FIND(hh, w->addresses, &address, sizeof(address), a);
	if (a)
		return a->hint;
	if (HASH_COUNT(w->addresses) >= MAX_ADDRESSES)
		forget_addresses(w);
	a = xcalloc(1, sizeof(*a));
	a->address = address;
	if (!kernel_side_symbol(w->kernel, address - 1, name, sizeof(name)))
		a->hint = wait_hint_of(name);
	HASH_ADD(hh, w->addresses, address, sizeof(a->address), a);
	return a->hint;
}

void ebpf_waits_explain(struct ebpf_waits *w, uint32_t state, struct walked *walked)
{
	struct wait_hint hints[MAX_KERNEL_FRAMES];
	size_t nr = walked->nr_kernel, cut;

	if (!state)
		return;
	for (size_t i = 0; i < nr; i++)
		hints[i] = hint_of(w, walked->kernel[i]);
	walked->wait = wait_reason_name(wait_reason_of(hints, nr, state));
	cut = wait_frames_of_switch(hints, nr);
	walked->kernel += cut;
	walked->nr_kernel -= cut;
	if (!walked->nr_kernel) /* preempted in user code: all frames were of the switch */
		walked->in_kernel = false;
}

void ebpf_waits_make_runnable(uint32_t state, struct walked *walked)
{
	if (state != WAIT_PREEMPTED && state != WAIT_NEW)
		walked->wait = wait_reason_name(REASON_CPU);
}

void ebpf_waits_thread(struct ebpf_waits *w, struct sample_sink *out, const struct thread_event *e)
{
	struct fact_thread_time row = {
		.pid = e->header.tgid,
		.start_ns = e->start_ns,
		.threads = 1,
		.wall_ns = e->wall_ns,
		.cpu_ns = e->cpu_ns,
		.runnable_ns = e->runnable_ns,
		.waiting_ns = e->waiting_ns,
		.waits = e->nr_waits,
	};
	struct fact_thread_time *o = &w->others;

	if (w->nr_rows < MAX_THREAD_ROWS) {
		w->nr_rows++;
		row.thread = sample_sink_thread(out, e->header.tgid, e->tid, e->comm);
		out->sink->fact(out->sink, FACT_THREAD_TIME, &row);
		return;
	}
	o->threads++;
	o->wall_ns += row.wall_ns;
	o->cpu_ns += row.cpu_ns;
	o->runnable_ns += row.runnable_ns;
	o->waiting_ns += row.waiting_ns;
	o->waits += row.waits;
	out->sink->fact(out->sink, FACT_THREAD_TIME, o);
}
