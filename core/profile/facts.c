/*
 * One table per kind holds rows of numbers; an intern table finds a row by its key, so that a later
 * row replaces the earlier one. A string of letters describes the fields of each kind.
 */
#include "core/profile/facts.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <xxhash.h>

#include "core/base/alloc.h"
#include "core/profile/gpu_kinds.h"
#include "core/profile/intern.h"
#include "core/profile/process_end.h"
#include "core/profile/profile.h"
#include "core/profile/recorder_facts.h"

#define CHECK(letters, type)                                                                       \
	_Static_assert(sizeof(struct type) == 8 * (sizeof(letters) - 1), "a letter for each "      \
									 "field")

#define DEVICE "pnssnnnnnnnnnnnn@@nnnnnn"
#define WORK "pnnnsnnnnnnnnnnnnnnnnn"
#define API "pnsnnn"
#define RANGE "pnnssnnnnnnnn"
#define RANGE_RUN "pnt@nnn@nin"
#define COUNTER "psn"
#define NOTE "pns@n"
#define MEMORY "pn@n"
#define ACTIVITY "ptnnnnns@nnsinnnnnnnnnnn"
#define DERIVED_RULES "sn"
#define CALLS "nsssnnn"
#define GC "pnnnnnn"
#define IMPORT "pnnsn@nn"
#define LIMIT "nsn"
#define PROCESS "ppnssss"
#define THREAD_TIME "pt@nnnnnn@"
#define RANK "pnnns"
#define COLLECTIVE "ptnnns@nik"
#define LOCK_WAIT "pnttnsnnnnn"
#define SYSTEM_CALL "nsnnnnnn"
#define CALL_TIMES "nnnnnnnnnn"
#define COLLECTED "p@n"
#define LEVEL "p@nnn"
#define ESTIMATE "pnnnsnnnnnn"
#define EVENT "nsn"
#define MEMORY_SAMPLED "pnnnn"
#define RESOURCE "pss"
#define RATE "@nnnn"
#define COST "@nnnnn"
#define PROCESS_END "p@nn"
#define MEMORY_HELD "pnnn"
#define FLOPS "pnksnnnnnnnnn"
#define FLOPS_WORK "pnnsnn"
#define GPU_PC "psnnssnnnn"
#define TENSOR_MEMORY "pnsnnnnnnnnn"
#define TENSOR_LEVEL "pn@nn"
#define MEMORY_UNHOOKED "psss"

CHECK(DEVICE, fact_gpu_device);
CHECK(WORK, fact_gpu_work);
CHECK(API, fact_gpu_api);
CHECK(RANGE, fact_range);
CHECK(RANGE_RUN, fact_range_run);
CHECK(COUNTER, fact_gpu_counter);
CHECK(NOTE, fact_gpu_note);
CHECK(MEMORY, fact_gpu_memory);
CHECK(ACTIVITY, fact_gpu_activity);
CHECK(DERIVED_RULES, fact_derived_rules);
CHECK(CALLS, fact_calls);
CHECK(GC, fact_gc);
CHECK(IMPORT, fact_import);
CHECK(LIMIT, fact_limit);
CHECK(PROCESS, fact_process);
CHECK(THREAD_TIME, fact_thread_time);
CHECK(RANK, fact_rank);
CHECK(COLLECTIVE, fact_collective);
CHECK(LOCK_WAIT, fact_lock_wait);
CHECK(SYSTEM_CALL, fact_system_call);
CHECK(CALL_TIMES, fact_call_times);
CHECK(COLLECTED, fact_gpu_collected);
CHECK(LEVEL, fact_gpu_level);
CHECK(ESTIMATE, fact_gpu_estimate);
CHECK(EVENT, fact_event);
CHECK(MEMORY_SAMPLED, fact_memory_sampled);
CHECK(RESOURCE, fact_resource);
CHECK(RATE, fact_rate);
CHECK(COST, fact_cost);
CHECK(PROCESS_END, fact_process_end);
CHECK(MEMORY_HELD, fact_memory_held);
CHECK(FLOPS, fact_gpu_flops);
CHECK(FLOPS_WORK, fact_gpu_flops_work);
CHECK(GPU_PC, fact_gpu_pc);
CHECK(TENSOR_MEMORY, fact_tensor_memory);
CHECK(TENSOR_LEVEL, fact_tensor_level);
CHECK(MEMORY_UNHOOKED, fact_memory_unhooked);

static const struct fact_info infos[NR_FACT_KINDS] = {
	[FACT_GPU_DEVICE] = { DEVICE, sizeof(DEVICE) - 1, 2 },
	[FACT_GPU_WORK] = { WORK, sizeof(WORK) - 1, 5 },
	[FACT_GPU_API] = { API, sizeof(API) - 1, 3 },
	[FACT_RANGE] = { RANGE, sizeof(RANGE) - 1, 2 },
	[FACT_RANGE_RUN] = { RANGE_RUN, sizeof(RANGE_RUN) - 1, 0 },
	[FACT_GPU_COUNTER] = { COUNTER, sizeof(COUNTER) - 1, 2 },
	[FACT_GPU_NOTE] = { NOTE, sizeof(NOTE) - 1, 3 },
	[FACT_GPU_MEMORY] = { MEMORY, sizeof(MEMORY) - 1, 0 },
	[FACT_GPU_ACTIVITY] = { ACTIVITY, sizeof(ACTIVITY) - 1, 0 },
	[FACT_DERIVED_RULES] = { DERIVED_RULES, sizeof(DERIVED_RULES) - 1, 1 },
	[FACT_CALLS] = { CALLS, sizeof(CALLS) - 1, 5 },
	[FACT_GC] = { GC, sizeof(GC) - 1, 2 },
	[FACT_IMPORT] = { IMPORT, sizeof(IMPORT) - 1, 0 },
	[FACT_LIMIT] = { LIMIT, sizeof(LIMIT) - 1, 1 },
	[FACT_PROCESS] = { PROCESS, sizeof(PROCESS) - 1, 1 },
	[FACT_THREAD_TIME] = { THREAD_TIME, sizeof(THREAD_TIME) - 1, 3 },
	[FACT_RANK] = { RANK, sizeof(RANK) - 1, 1 },
	[FACT_COLLECTIVE] = { COLLECTIVE, sizeof(COLLECTIVE) - 1, 0 },
	[FACT_LOCK_WAIT] = { LOCK_WAIT, sizeof(LOCK_WAIT) - 1, 5 },
	[FACT_SYSTEM_CALL] = { SYSTEM_CALL, sizeof(SYSTEM_CALL) - 1, 1 },
	[FACT_CALL_TIMES] = { CALL_TIMES, sizeof(CALL_TIMES) - 1, 2 },
	[FACT_GPU_COLLECTED] = { COLLECTED, sizeof(COLLECTED) - 1, 0 },
	[FACT_GPU_LEVEL] = { LEVEL, sizeof(LEVEL) - 1, 0 },
	[FACT_GPU_ESTIMATE] = { ESTIMATE, sizeof(ESTIMATE) - 1, 5 },
	[FACT_EVENT] = { EVENT, sizeof(EVENT) - 1, 1 },
	[FACT_MEMORY_SAMPLED] = { MEMORY_SAMPLED, sizeof(MEMORY_SAMPLED) - 1, 1 },
	[FACT_RESOURCE] = { RESOURCE, sizeof(RESOURCE) - 1, 1 },
	[FACT_RATE] = { RATE, sizeof(RATE) - 1, 0 },
	[FACT_COST] = { COST, sizeof(COST) - 1, 1 },
	[FACT_PROCESS_END] = { PROCESS_END, sizeof(PROCESS_END) - 1, 1 },
	[FACT_MEMORY_HELD] = { MEMORY_HELD, sizeof(MEMORY_HELD) - 1, 1 },
	[FACT_GPU_FLOPS] = { FLOPS, sizeof(FLOPS) - 1, 2 },
	[FACT_GPU_FLOPS_WORK] = { FLOPS_WORK, sizeof(FLOPS_WORK) - 1, 4 },
	[FACT_GPU_PC] = { GPU_PC, sizeof(GPU_PC) - 1, 5 },
	[FACT_TENSOR_MEMORY] = { TENSOR_MEMORY, sizeof(TENSOR_MEMORY) - 1, 2 },
	[FACT_TENSOR_LEVEL] = { TENSOR_LEVEL, sizeof(TENSOR_LEVEL) - 1, 0 },
	[FACT_MEMORY_UNHOOKED] = { MEMORY_UNHOOKED, sizeof(MEMORY_UNHOOKED) - 1, 3 },
};

struct fact_table {
	uint64_t *values; /* nr rows of nr_fields */
	size_t nr, capacity;
	struct intern index; /* by key */
};

struct facts {
	uint64_t seed;
	struct fact_table tables[NR_FACT_KINDS];
};

/* Context for comparing a key: the table, and what its kind says about keys. */
struct key_owner {
	const struct fact_table *table;
	const struct fact_info *info;
};

const struct fact_info *fact_info(uint64_t kind)
{
	return kind < NR_FACT_KINDS && infos[kind].fields ? &infos[kind] : NULL;
}

static bool key_equal(const void *owner, uint32_t id, const void *key)
{
	const struct key_owner *o = owner;

	return memcmp(o->table->values + (size_t)id * o->info->nr_fields, key,
		      o->info->nr_key * sizeof(uint64_t)) == 0;
}

static struct facts *facts_of(struct profile *p)
{
	if (!p->facts) {
		p->facts = xcalloc(1, sizeof(*p->facts));
		if (getrandom(&p->facts->seed, sizeof(p->facts->seed), GRND_NONBLOCK) < 0)
			p->facts->seed = (uintptr_t)p;
	}
	return p->facts;
}

/* Notes in the profile which of its columns of memory are sampled. */
static void note_memory(struct profile *p, enum fact_kind kind, const void *row)
{
	const struct fact_tensor_memory *tensors = row;

	p->samples_memory |= kind == FACT_MEMORY_SAMPLED;
	p->has_tensors |= kind == FACT_TENSOR_MEMORY;
	p->samples_tensors |= kind == FACT_TENSOR_MEMORY && tensors->interval > 1;
}

static uint32_t hash_of_key(const struct profile *p, const struct fact_info *info, const void *row)
{
	return (uint32_t)XXH3_64bits_withSeed(row, info->nr_key * sizeof(uint64_t), p->facts->seed);
}

bool facts_put(struct profile *p, enum fact_kind kind, const void *row)
{
	const struct fact_info *info = fact_info(kind);
	struct fact_table *t;
	bool is_new;
	size_t id;

	assert(kind < NR_FACT_KINDS && info);
	t = &facts_of(p)->tables[kind];
	id = t->nr;
	assert(id < PROFILE_NONE);
	if (info->nr_key) {
		struct key_owner owner = { t, info };

		id = intern_id(&t->index, hash_of_key(p, info, row), (uint32_t)id, key_equal,
			       &owner, row);
	}
	note_memory(p, kind, row);
	is_new = id == t->nr;
	if (is_new)
		t->values =
			xgrow(t->values, &t->capacity, ++t->nr, info->nr_fields * sizeof(uint64_t));
	memcpy(t->values + id * info->nr_fields, row, info->nr_fields * sizeof(uint64_t));
	return is_new;
}

const void *facts_find(const struct profile *p, enum fact_kind kind, const void *row)
{
	const struct fact_info *info = fact_info(kind);
	struct key_owner owner = { .info = info };
	uint32_t id;

	assert(info && info->nr_key);
	if (!p->facts)
		return NULL;
	owner.table = &p->facts->tables[kind];
	id = intern_find(&owner.table->index, hash_of_key(p, info, row), key_equal, &owner, row);
	return id == PROFILE_NONE ? NULL : owner.table->values + (size_t)id * info->nr_fields;
}

/*
 * Percentiles of two sets of calls do not tell that of both, unless they are equal; the histograms
 * do, if both have one.
 */
void facts_add_calls(enum fact_kind kind, void *to, const void *more)
{
	struct fact_system_call *sum = to;
	const struct fact_system_call *c = more;

	if (kind == FACT_CALL_TIMES) {
		const struct fact_call_times *times = more;

		for (size_t i = 0; i < CALL_OCTAVE; i++)
			add_clamped(&((struct fact_call_times *)to)->calls[i], times->calls[i]);
		return;
	}
	add_clamped(&sum->calls, c->calls);
	add_clamped(&sum->errors, c->errors);
	add_clamped(&sum->total_ns, c->total_ns);
	if (sum->max_ns < c->max_ns)
		sum->max_ns = c->max_ns;
	if (sum->p50_ns != c->p50_ns)
		sum->p50_ns = PERCENTILE_UNKNOWN;
	if (sum->p99_ns != c->p99_ns)
		sum->p99_ns = PERCENTILE_UNKNOWN;
}

const void *facts_rows(const struct profile *p, enum fact_kind kind, size_t *ret_nr)
{
	*ret_nr = p->facts ? p->facts->tables[kind].nr : 0;
	return p->facts ? p->facts->tables[kind].values : NULL;
}

void facts_shift_times(struct profile *p, uint64_t shift_ns)
{
	for (int kind = 0; p->facts && kind < NR_FACT_KINDS; kind++) {
		struct fact_table *t = &p->facts->tables[kind];
		uint32_t nr_fields = infos[kind].nr_fields;

		for (size_t i = 0; i < t->nr * nr_fields; i++)
			if (infos[kind].fields[i % nr_fields] == FIELD_TIME && t->values[i])
				t->values[i] += shift_ns;
	}
}

void facts_free(struct facts *facts)
{
	if (!facts)
		return;
	for (int i = 0; i < NR_FACT_KINDS; i++) {
		free(facts->tables[i].values);
		intern_fini(&facts->tables[i].index);
	}
	free(facts);
}

/* From the last look at a thread in a segment to the end of that segment; a busy machine's. */
#define TURN_NS UINT64_C(1000000000)

uint64_t facts_thread_from(const struct fact_thread_time *row)
{
	return row->from_ns ? row->from_ns : row->start_ns;
}

bool facts_reaches_beyond(const struct profile *p, const struct fact_thread_time *row)
{
	uint64_t from = facts_thread_from(row), slack = row->from_ns ? TURN_NS : 0;

	return p->meta.is_cut && from &&
	       (from + slack < p->meta.start_ns || from > p->meta.end_ns ||
		row->wall_ns > p->meta.end_ns + slack - from);
}

uint64_t facts_count(const struct profile *p, const char *counter)
{
	const struct fact_gpu_counter *c;
	uint64_t sum = 0;
	size_t nr;

	c = facts_rows(p, FACT_GPU_COUNTER, &nr);
	for (size_t i = 0; i < nr; i++)
		if (!strcmp(profile_str(p, (uint32_t)c[i].name), counter))
			sum += c[i].value;
	return sum;
}

const struct fact_gpu_device *facts_gpu_device(const struct profile *p, uint64_t pid,
					       uint64_t device)
{
	return facts_find(p, FACT_GPU_DEVICE, (const uint64_t[]){ pid, device });
}
