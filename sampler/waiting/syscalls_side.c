/*
 * The kernel side adds up on each CPU, from the start on; here the CPUs are added up, and what a
 * segment gets is what was added in its time. The histogram of times tells the median and the 99th
 * percentile to an eighth.
 */
#include "sampler/waiting/syscalls_side.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
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
/* Of a recorder that is killed, the sums are at most this old. */
#define TELL_NS (10000ull * 1000 * 1000)
#define MAX_CALLS (NO_SYSTEM_CALL + 1)

/* The calls of one number in the present segment. */
struct call_totals {
	struct call_sums read; /* all CPUs, as they were read last; its times may wrap around */
	uint64_t calls, errors, total_ns, max_ns;
	__u64 times[CALL_BUCKETS];
	uint64_t changed; /* a bit for each octave that was not told as it is now */
};
_Static_assert(CALL_OCTAVES <= 64, "a bit each");

struct syscalls_side {
	struct syscalls_bpf *skel;
	struct bpf_link *enter, *leave;
	int nr_cpus;
	struct call_sums *cpus;		       /* scratch: an entry of the map */
	struct call_totals *totals[MAX_CALLS]; /* by number; NULL: none was seen */
	uint64_t told_ns;
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
	if (s->skel)
		s->cpus = xcalloc((size_t)s->nr_cpus, sizeof(*s->cpus));
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
	for (uint32_t i = 0; i < MAX_CALLS; i++)
		free(s->totals[i]);
	free(s->cpus);
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

static struct call_totals *totals_of(struct syscalls_side *s, uint32_t nr)
{
	if (nr >= MAX_CALLS)
		return NULL;
	if (!s->totals[nr])
		s->totals[nr] = xcalloc(1, sizeof(*s->totals[nr]));
	return s->totals[nr];
}

/* The sum of all CPUs; *ret_max is the longest call of the segment. */
static void add_cpus(const struct syscalls_side *s, struct call_sums *ret, uint64_t *ret_max)
{
	*ret = (struct call_sums){ 0 };
	*ret_max = 0;
	for (int i = 0; i < s->nr_cpus; i++) {
		const struct call_sums *cpu = &s->cpus[i];

		ret->errors += cpu->errors;
		ret->total_ns += cpu->total_ns;
		if (cpu->segment == s->skel->bss->segment && cpu->max_ns > *ret_max)
			*ret_max = cpu->max_ns;
		for (unsigned int k = 0; k < CALL_BUCKETS; k++)
			ret->times[k] += cpu->times[k];
	}
}

/* Adds what was counted since the sums were read last. */
static void add_new(const struct syscalls_side *s, struct call_totals *t)
{
	const struct call_sums before = t->read;

	add_cpus(s, &t->read, &t->max_ns);
	t->errors += t->read.errors - before.errors;
	t->total_ns += t->read.total_ns - before.total_ns;
	for (unsigned int i = 0; i < CALL_BUCKETS; i++) {
		uint32_t more = t->read.times[i] - before.times[i];

		t->calls += more; /* so the histogram has all of them */
		t->times[i] += more;
		if (more)
			t->changed |= 1ull << i / CALL_OCTAVE;
	}
}

static void read_sums(struct syscalls_side *s)
{
	int map = bpf_map__fd(s->skel->maps.call_sums);
	uint32_t nr, *before = NULL;

	while (!bpf_map_get_next_key(map, before, &nr)) {
		struct call_totals *t = totals_of(s, nr);

		before = &nr;
		if (t && !bpf_map_lookup_elem(map, &nr, s->cpus))
			add_new(s, t);
	}
}

/*
 * The longest call of the segment lies in the last bucket that is not empty. A call that ended
 * while a segment ended may be counted in the next one, where its time is known to an eighth.
 */
static uint64_t longest(const struct call_totals *t)
{
	uint32_t last = CALL_BUCKETS - 1;

	while (last && !t->times[last])
		last--;
	if (t->max_ns >= call_bucket_start(last) &&
	    (last == CALL_BUCKETS - 1 || t->max_ns < call_bucket_start(last + 1)))
		return t->max_ns;
	return call_bucket_middle(last);
}

static void tell_times(struct sink *sink, uint32_t nr, struct call_totals *t)
{
	for (uint32_t i = 0; i < CALL_OCTAVES; i++) {
		struct fact_call_times row = { .number = nr, .octave = i };

		if (!(t->changed >> i & 1))
			continue;
		memcpy(row.calls, &t->times[i * CALL_OCTAVE], sizeof(row.calls));
		sink->fact(sink, FACT_CALL_TIMES, &row);
	}
	t->changed = 0;
}

const char *syscalls_side_call_name(uint32_t nr, char *room, size_t size)
{
	const char *known = call_name(nr);

	if (known)
		return known;
	if (nr == NO_SYSTEM_CALL)
		return "no such system call";
	snprintf(room, size, "system call %u", nr);
	return room;
}

static void tell_call(struct sink *sink, uint32_t nr, struct call_totals *t)
{
	struct fact_system_call fact = {
		.number = nr,
		.calls = t->calls,
		.errors = t->errors,
		.total_ns = t->total_ns,
		.max_ns = longest(t),
	};
	char name[32];

	fact.p50_ns = call_times_percentile(t->times, 50, fact.max_ns);
	fact.p99_ns = call_times_percentile(t->times, 99, fact.max_ns);
	fact.name = sink_cstring(sink, syscalls_side_call_name(nr, name, sizeof(name)));
	sink->fact(sink, FACT_SYSTEM_CALL, &fact);
	tell_times(sink, nr, t);
}

void syscalls_side_tell(struct syscalls_side *s, struct sink *sink)
{
	read_sums(s);
	for (uint32_t i = 0; i < MAX_CALLS; i++)
		if (s->totals[i] && s->totals[i]->changed)
			tell_call(sink, i, s->totals[i]);
}

void syscalls_side_poll(struct syscalls_side *s, struct sink *sink)
{
	uint64_t now_ns = monotonic_ns();

	if (!s->told_ns)
		s->told_ns = now_ns;
	if (now_ns - s->told_ns < TELL_NS)
		return;
	s->told_ns = now_ns;
	syscalls_side_tell(s, sink);
}

void syscalls_side_turn(struct syscalls_side *s)
{
	s->skel->bss->segment++;
	for (uint32_t i = 0; i < MAX_CALLS; i++) {
		struct call_totals *t = s->totals[i];

		if (!t)
			continue;
		t->calls = t->errors = t->total_ns = t->max_ns = t->changed = 0;
		memset(t->times, 0, sizeof(t->times));
	}
}

uint64_t syscalls_side_cost_ns(const struct syscalls_side *s)
{
	return program_cost_ns(s->skel->obj);
}

uint64_t syscalls_side_memory_bytes(const struct syscalls_side *s, const struct bpf_object *main)
{
	return program_memory_bytes(s->skel->obj, main);
}
