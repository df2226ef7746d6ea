/*
 * The kernel side adds up on each CPU; here the CPUs are added up, and the histogram of times tells
 * the median and the 99th percentile to an eighth.
 */
#include "sampler/waiting/syscalls_side.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "core/base/alloc.h"
#include "core/profile/facts.h"
#include "core/profile/source.h"
#include "sampler/bpf/events.h"
#include "sampler/bpf/sprof.skel.h"
#include "sampler/bpf/syscalls.skel.h"
#include "sampler/waiting/call_names.h"
#include "sampler/waiting/program_cost.h"
#include "sampler/waiting/shared_maps.h"

/* Calls that are samples: a program can make a million in a second, and they fill the recording. */
#define SAMPLES_PER_S 10000
#define WINDOWS_PER_S 10

struct syscalls_side {
	struct syscalls_bpf *skel;
	struct bpf_link *enter, *leave;
	int nr_cpus;
};

static void copy_settings(struct syscalls_bpf *skel, const struct sprof_bpf *main)
{
	struct syscalls_bpf__rodata *to = skel->rodata;
	const struct sprof_bpf__rodata *from = main->rodata;
	uint32_t nr_cpus = (uint32_t)libbpf_num_possible_cpus();
	uint32_t per_cpu = SAMPLES_PER_S / WINDOWS_PER_S / nr_cpus;

	to->max_in_window = per_cpu ? per_cpu : 1;
	to->system_wide = from->system_wide;
	to->callers_only = from->callers_only;
	to->caller_uid = from->caller_uid;
	to->caller_gid = from->caller_gid;
	to->caller_capabilities = from->caller_capabilities;
	to->recorder = from->recorder;
	to->walk_ns = from->walk_ns;
	to->python_ns = from->python_ns;
	to->wakeup_bytes = from->wakeup_bytes;
	to->first_giver = 3 * nr_cpus;
	bpf_map__set_max_entries(skel->maps.states, nr_cpus);
	bpf_map__set_max_entries(skel->maps.code_buffers, nr_cpus);
}

int syscalls_side_new(const struct sprof_bpf *main, uint64_t threshold_ns,
		      struct syscalls_side **ret)
{
	struct syscalls_side *s = xcalloc(1, sizeof(*s));
	int err;

	s->nr_cpus = libbpf_num_possible_cpus();
	s->skel = s->nr_cpus > 0 ? syscalls_bpf__open() : NULL;
	err = s->skel ? shared_maps_of_walks(s->skel->obj, main->obj) : -errno;
	if (!err) {
		copy_settings(s->skel, main);
		s->skel->rodata->threshold_ns = threshold_ns;
		err = syscalls_bpf__load(s->skel);
	}
	if (err)
		syscalls_side_free(s);
	else
		*ret = s;
	return err;
}

void syscalls_side_free(struct syscalls_side *s)
{
	if (!s)
		return;
	syscalls_side_stop(s);
	syscalls_bpf__destroy(s->skel);
	free(s);
}

int syscalls_side_start(struct syscalls_side *s)
{
	s->leave = bpf_program__attach(s->skel->progs.at_return);
	if (!s->leave)
		return -errno;
	s->enter = bpf_program__attach(s->skel->progs.at_call);
	return s->enter ? 0 : -errno;
}

/* Calls that have begun are still counted while the second link is there. */
void syscalls_side_stop(struct syscalls_side *s)
{
	bpf_link__destroy(s->enter);
	bpf_link__destroy(s->leave);
	s->enter = s->leave = NULL;
}

/* The time in the middle of a bucket. */
static uint64_t time_of(unsigned int bucket)
{
	unsigned int shift = bucket / 8 - 1;

	if (bucket < 16)
		return bucket;
	return ((8ull + bucket % 8) << shift) + (1ull << shift) / 2;
}

static uint64_t percentile(const struct call_sums *sums, unsigned int percent)
{
	uint64_t nr = 0, seen = 0;

	for (unsigned int i = 0; i < CALL_BUCKETS; i++)
		nr += sums->times[i];
	for (unsigned int i = 0; i < CALL_BUCKETS; i++) {
		seen += sums->times[i];
		if (nr && seen * 100 >= nr * percent)
			return time_of(i) < sums->max_ns ? time_of(i) : sums->max_ns;
	}
	return 0;
}

static void add_up(struct call_sums *to, const struct call_sums *from)
{
	to->calls += from->calls;
	to->errors += from->errors;
	to->total_ns += from->total_ns;
	if (from->max_ns > to->max_ns)
		to->max_ns = from->max_ns;
	for (unsigned int i = 0; i < CALL_BUCKETS; i++)
		to->times[i] += from->times[i];
}

static void tell_call(struct sink *sink, uint32_t nr, const struct call_sums *sums)
{
	const char *known = call_name(nr);
	struct fact_system_call fact = {
		.number = nr,
		.calls = sums->calls,
		.errors = sums->errors,
		.total_ns = sums->total_ns,
		.p50_ns = percentile(sums, 50),
		.p99_ns = percentile(sums, 99),
		.max_ns = sums->max_ns,
	};
	char name[32];

	if (known || nr == NO_SYSTEM_CALL)
		snprintf(name, sizeof(name), "%s", known ? known : "no such system call");
	else
		snprintf(name, sizeof(name), "system call %u", nr);
	fact.name = sink_cstring(sink, name);
	sink->fact(sink, FACT_SYSTEM_CALL, &fact);
}

void syscalls_side_tell(const struct syscalls_side *s, struct sink *sink)
{
	int map = bpf_map__fd(s->skel->maps.call_sums);
	struct call_sums *cpus = xcalloc((size_t)s->nr_cpus, sizeof(*cpus));
	uint32_t nr, *before = NULL;

	while (!bpf_map_get_next_key(map, before, &nr)) {
		struct call_sums all = { 0 };

		before = &nr;
		if (bpf_map_lookup_elem(map, &nr, cpus))
			continue;
		for (int i = 0; i < s->nr_cpus; i++)
			add_up(&all, &cpus[i]);
		tell_call(sink, nr, &all);
	}
	free(cpus);
}

uint64_t syscalls_side_cost_ns(const struct syscalls_side *s)
{
	return program_cost_ns(s->skel->obj);
}

uint64_t syscalls_side_memory_bytes(const struct syscalls_side *s, const struct bpf_object *main)
{
	return program_memory_bytes(s->skel->obj, main);
}
