/*
 * There is one row for each process number. If profiles contradict each other, the row is marked as
 * unknown and stays, so that a third profile does not bring the process back.
 */
#include "core/profile/process_rows.h"

#include <stdbool.h>
#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/base/number_map.h"
#include "core/profile/copy.h"
#include "core/profile/facts.h"
#include "core/profile/hosts.h"
#include "core/profile/profile.h"
#include "core/profile/source.h"

struct row {
	struct fact_process of; /* its strings are in the vocabulary */
	bool unknown;
};

struct process_rows {
	struct row *rows;
	size_t nr, capacity;
	struct number_map by_pid; /* index in rows[] */
};

struct process_rows *process_rows_new(void)
{
	return xcalloc(1, sizeof(struct process_rows));
}

void process_rows_free(struct process_rows *r)
{
	if (!r)
		return;
	free(r->rows);
	number_map_fini(&r->by_pid);
	free(r);
}

static struct row *row_of(struct process_rows *r, uint64_t pid, bool *ret_new)
{
	uint32_t *at = number_map_at(&r->by_pid, pid, ret_new);

	if (*ret_new) {
		*at = (uint32_t)r->nr;
		r->rows = xgrow(r->rows, &r->capacity, r->nr + 1, sizeof(*r->rows));
		r->rows[r->nr++] = (struct row){ .of = { .pid = pid } };
	}
	return &r->rows[*at];
}

static uint64_t copy_string(const struct profile *from, struct profile *vocabulary, uint64_t id)
{
	return profile_cstring(vocabulary, profile_str(from, (uint32_t)id));
}

/* Compares all but the parent, which can change while a process lives. */
static bool is_same_owner(const struct fact_process *a, const struct fact_process *b)
{
	return a->uid == b->uid && a->user == b->user && a->cgroup == b->cgroup &&
	       a->container == b->container && a->engine == b->engine;
}

/* Returns true if the process was known and is not any more. */
static bool add_row(struct process_rows *r, const struct profile *from, struct profile *vocabulary,
		    struct fact_process of)
{
	struct row *row;
	bool is_new, was_known;

	of.user = copy_string(from, vocabulary, of.user);
	of.cgroup = copy_string(from, vocabulary, of.cgroup);
	of.container = copy_string(from, vocabulary, of.container);
	of.engine = copy_string(from, vocabulary, of.engine);
	row = row_of(r, of.pid, &is_new);
	if (is_new) {
		row->of = of;
		return false;
	}
	was_known = !row->unknown;
	row->unknown |= !is_same_owner(&row->of, &of);
	return was_known && row->unknown;
}

size_t process_rows_add(struct process_rows *r, const struct profile *from,
			struct profile *vocabulary, struct number_map *pids)
{
	struct number_map known = { 0 };
	const struct fact_process *rows;
	size_t nr, nr_forgotten = 0;
	bool is_new;

	rows = facts_rows(from, FACT_PROCESS, &nr);
	for (size_t i = 0; i < nr; i++) {
		struct fact_process of = rows[i];

		of.pid = profile_copy_pid(pids, of.pid);
		of.parent = profile_copy_pid(pids, of.parent);
		number_map_at(&known, of.pid, &is_new);
		nr_forgotten += add_row(r, from, vocabulary, of);
	}
	/* Processes with samples of which this profile knows nothing. */
	for (size_t i = 0; i < from->nr_threads; i++) {
		uint32_t pid = profile_copy_pid(pids, hosts_process(&from->threads[i]));
		struct row *row;

		number_map_at(&known, pid, &is_new);
		if (!is_new)
			continue;
		row = row_of(r, pid, &is_new);
		nr_forgotten += !is_new && !row->unknown;
		row->unknown = true;
	}
	number_map_fini(&known);
	return nr_forgotten;
}

static uint64_t sink_string(const struct profile *vocabulary, struct sink *sink, uint64_t id)
{
	return sink_cstring(sink, profile_str(vocabulary, (uint32_t)id));
}

void process_rows_write(const struct process_rows *r, const struct profile *vocabulary,
			struct sink *sink)
{
	for (size_t i = 0; i < r->nr; i++) {
		struct fact_process of = r->rows[i].of;

		if (r->rows[i].unknown)
			continue;
		of.user = sink_string(vocabulary, sink, of.user);
		of.cgroup = sink_string(vocabulary, sink, of.cgroup);
		of.container = sink_string(vocabulary, sink, of.container);
		of.engine = sink_string(vocabulary, sink, of.engine);
		sink->fact(sink, FACT_PROCESS, &of);
	}
}
