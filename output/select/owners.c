/*
 * Makes frames of owners. A recording says of each sampled process what it belonged to (struct
 * fact_process). Older, merged and imported ones do not.
 */
#include "output/select/owners.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/number_map.h"
#include "core/base/order.h"
#include "core/profile/facts.h"
#include "core/profile/hosts.h"
#include "core/profile/profile.h"

#define SHORT_ID 12 /* digits of a container's number, as docker ps prints it */
#define FULL_ID 64

struct named_threads {
	const struct profile *p;
	uint64_t *last_ns; /* by thread: when its last sample was taken */
};

/*
 * Orders threads by process. Each process begins with its main thread under its last name; a thread
 * that changed its name has several entries.
 */
static int compare_threads(const void *a, const void *b, void *context)
{
	const struct named_threads *named = context;
	uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
	const struct profile_thread *x = &named->p->threads[i], *y = &named->p->threads[j];

	if (hosts_process(x) != hosts_process(y))
		return hosts_process(x) < hosts_process(y) ? -1 : 1;
	if ((x->pid == x->tid) != (y->pid == y->tid))
		return x->pid == x->tid ? -1 : 1;
	return ORDER(named->last_ns[j], named->last_ns[i]) ?: ORDER(j, i);
}

/*
 * By thread: the time of its last sample. The order of the table does not tell the last name of a
 * thread, because a thread that returns to an earlier name gets no new entry.
 */
static uint64_t *last_times(const struct profile *p)
{
	uint64_t *times = xcalloc(p->nr_threads + 1, sizeof(*times));

	for (size_t i = 0; i < p->nr_samples; i++) {
		const struct profile_sample *s = &p->samples[i];

		if (s->thread != PROFILE_NONE && s->time_ns > times[s->thread])
			times[s->thread] = s->time_ns;
	}
	return times;
}

/* By thread: the name of its process, a string. The caller frees the array. */
static uint32_t *process_comms(struct profile *p)
{
	uint32_t *comms = xcalloc(p->nr_threads + 1, sizeof(*comms));
	uint32_t *order = xcalloc(p->nr_threads + 1, sizeof(*order)), first = 0;
	struct named_threads named = { p, last_times(p) };

	for (uint32_t i = 0; i < p->nr_threads; i++)
		order[i] = i;
	qsort_r(order, p->nr_threads, sizeof(*order), compare_threads, &named);
	for (uint32_t i = 0; i < p->nr_threads; i++) {
		if (hosts_process(&p->threads[order[i]]) !=
		    hosts_process(&p->threads[order[first]]))
			first = i;
		comms[order[i]] = p->threads[order[first]].comm;
	}
	free(order);
	free(named.last_ns);
	return comms;
}

struct owners {
	struct profile *p;
	enum owner owner;
	bool numbers;
	uint32_t *comms; /* by thread: the name of its process */
	const struct fact_process *rows;
	struct number_map row_of; /* index in rows[] by pid */
	const struct fact_rank *ranks;
	struct number_map rank_of; /* index in ranks[] by pid */
};

static void owners_init(struct owners *o, struct profile *p, enum owner owner, bool numbers)
{
	size_t nr;
	bool is_new;

	*o = (struct owners){ .p = p, .owner = owner, .numbers = numbers };
	o->comms = process_comms(p);
	o->rows = facts_rows(p, FACT_PROCESS, &nr);
	for (size_t i = 0; i < nr; i++)
		*number_map_at(&o->row_of, o->rows[i].pid, &is_new) = (uint32_t)i;
	o->ranks = facts_rows(p, FACT_RANK, &nr);
	for (size_t i = 0; i < nr; i++)
		*number_map_at(&o->rank_of, o->ranks[i].pid, &is_new) = (uint32_t)i;
}

static void owners_fini(struct owners *o)
{
	free(o->comms);
	number_map_fini(&o->row_of);
	number_map_fini(&o->rank_of);
}

/* UINT32_MAX: nothing is known of the process. */
static uint32_t index_of(struct number_map *map, uint64_t process)
{
	bool is_new;
	uint32_t *at = number_map_at(map, process, &is_new);

	if (is_new)
		*at = UINT32_MAX;
	return *at;
}

/* "make (tid 12)", "make (tid 12 on node3)" */
static char *thread_name(const struct owners *o, const struct profile_thread *t)
{
	const char *name = profile_str(o->p, t->comm);
	const char *host = hosts_suffix(o->p, hosts_process(t));

	return o->numbers ? xasprintf("%s (tid %u%s%s)", name, t->tid, hosts_joint(host), host)
			  : xstrdup(name);
}

/* "make (pid 12)", "python3 (rank 3, pid 12)" */
static char *process_name(struct owners *o, uint32_t comm, uint64_t process)
{
	const char *name = profile_str(o->p, comm), *host = hosts_suffix(o->p, process);
	uint32_t rank = index_of(&o->rank_of, process), pid = (uint32_t)process;

	if (!o->numbers)
		return xstrdup(name);
	if (rank == UINT32_MAX)
		return xasprintf("%s (pid %u%s%s)", name, pid, hosts_joint(host), host);
	return xasprintf("%s (rank %u, pid %u%s%s)", name, (uint32_t)o->ranks[rank].rank, pid,
			 hosts_joint(host), host);
}

static char *host_name(const struct profile *p, uint64_t process)
{
	const char *host = hosts_name(p, process);

	return xstrdup(*host ? host : "[not known]");
}

static char *rank_name(struct owners *o, uint64_t process)
{
	uint32_t rank = index_of(&o->rank_of, process);

	if (rank == UINT32_MAX)
		return xstrdup("[no rank]");
	return xasprintf("rank %u", (uint32_t)o->ranks[rank].rank);
}

/* "docker 0123456789ab" */
static char *container_name(const struct profile *p, const struct fact_process *row)
{
	const char *id = profile_str(p, (uint32_t)row->container);
	size_t size = strlen(id);

	if (!size)
		return xstrdup("[no container]");
	return xasprintf("%s %.*s", profile_str(p, (uint32_t)row->engine),
			 (int)(size == FULL_ID ? SHORT_ID : size), id);
}

/* The caller frees it. */
static char *owner_name(struct owners *o, uint32_t thread)
{
	const struct profile_thread t = o->p->threads[thread];
	const struct fact_process *row;
	const char *name;
	uint32_t known;

	if (o->owner == OWNER_THREAD)
		return thread_name(o, &t);
	if (o->owner == OWNER_PROCESS)
		return process_name(o, o->comms[thread], hosts_process(&t));
	if (o->owner == OWNER_HOST)
		return host_name(o->p, hosts_process(&t));
	if (o->owner == OWNER_RANK)
		return rank_name(o, hosts_process(&t));
	known = index_of(&o->row_of, hosts_process(&t));
	if (known == UINT32_MAX)
		return xstrdup("[not known]");
	row = &o->rows[known];
	if (o->owner == OWNER_CONTAINER)
		return container_name(o->p, row);
	name = profile_str(o->p, (uint32_t)(o->owner == OWNER_USER ? row->user : row->cgroup));
	if (*name)
		return xstrdup(name);
	return o->owner == OWNER_USER ? xasprintf("user %u", (uint32_t)row->uid)
				      : xstrdup("[not known]");
}

/* Of one host is also what has no thread. */
static uint32_t frame_without_thread(const struct owners *o)
{
	const char *host = hosts_name(o->p, 0);

	if (o->owner == OWNER_HOST && !o->p->has_hosts && *host)
		return profile_named_frame(o->p, host, strlen(host), FUNCTION_THREAD);
	return profile_named_frame(o->p, "[no thread]", 11, FUNCTION_UNKNOWN);
}

/* By thread, and at the end for samples without one: the frame of its owner. */
static uint32_t *owner_frames(struct owners *o)
{
	struct profile *p = o->p;
	uint32_t *frames = xcalloc(p->nr_threads + 1, sizeof(*frames));

	for (uint32_t i = 0; i < p->nr_threads; i++) {
		char *name = owner_name(o, i);

		frames[i] = profile_named_frame(p, name, strlen(name), FUNCTION_THREAD);
		free(name);
	}
	frames[p->nr_threads] = frame_without_thread(o);
	return frames;
}

static uint32_t thread_index(const struct profile *p, const struct profile_sample *s)
{
	return s->thread == PROFILE_NONE ? (uint32_t)p->nr_threads : s->thread;
}

void owners_replace(struct profile *p, enum owner owner, bool numbers)
{
	struct owners o;
	uint32_t *frames;

	owners_init(&o, p, owner, numbers);
	frames = owner_frames(&o);
	for (size_t i = 0; i <= p->nr_threads; i++)
		frames[i] = profile_stack(p, &frames[i], 1);
	for (size_t i = 0; i < p->nr_samples; i++) {
		struct profile_sample *s = &p->samples[i];

		s->stack = frames[thread_index(p, s)];
		s->thread = PROFILE_NONE;
	}
	free(frames);
	owners_fini(&o);
}

static uint32_t with_root(struct profile *p, uint32_t frame, uint32_t stack)
{
	const struct profile_stack s = p->stacks[stack];
	uint32_t *frames = xcalloc(s.nr_frames + 1, sizeof(*frames)), id;

	frames[0] = frame;
	if (s.nr_frames)
		memcpy(frames + 1, p->stack_frames + s.first_frame, s.nr_frames * sizeof(*frames));
	id = profile_stack(p, frames, s.nr_frames + 1);
	free(frames);
	return id;
}

void owners_add_root(struct profile *p, enum owner owner)
{
	struct number_map stacks = { 0 }; /* by root frame and stack: the new stack */
	struct owners o;
	uint32_t *frames;

	owners_init(&o, p, owner, true);
	frames = owner_frames(&o);
	for (size_t i = 0; i < p->nr_samples; i++) {
		struct profile_sample *s = &p->samples[i];
		uint32_t frame = frames[thread_index(p, s)], *stack;
		bool is_new;

		stack = number_map_at(&stacks, (uint64_t)frame << 32 | s->stack, &is_new);
		if (is_new)
			*stack = with_root(p, frame, s->stack);
		s->stack = *stack;
		if (owner == OWNER_THREAD)
			s->thread = PROFILE_NONE;
	}
	number_map_fini(&stacks);
	free(frames);
	owners_fini(&o);
}
