/*
 * Processes, their mappings, the rows of their mapped files and the names of their threads, as of
 * the record being handled. A process that is met for the first time is read from /proc; records
 * that are older than that reading are skipped.
 */
#include "core/base/proc_status.h"
#include "sampler/perf/perf.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "sampler/perf/python_stacks.h"
#include "sampler/target/proc_maps.h"
#include "sampler/release/process_prune.h"
#include "sampler/selection/process_user.h"
#include "sampler/unwind/unwind_table.h"
#include "sampler/walk/confined/source_unwinder.h"

#define REREAD_NS (20ull * 1000 * 1000)
#define REREAD_SHARE 8 /* mappings are read again for at most 1 / this of the time */
#define GRACE_NS (1000ull * 1000 * 1000)
#define MAX_THREADS 65536
#define MAX_LOOKS 8 /* at mappings of processes, in one round */

static void on_file(void *context, struct mapped_file *file)
{
	struct source *s = context;
	const void *vdso;
	size_t size;

	s->rows = xgrow_to(s->rows, &s->rows_capacity, &s->nr_rows, file->index, sizeof(*s->rows));
	s->rows[file->index] = (struct perf_rows){ 0 };
	file->building = true;
	if (file->kind == MODULE_ELF && file->nr_segments)
		table_builder_request(s->builder, file);
	else if (file->kind == MODULE_VDSO && (vdso = file_table_vdso_image(&size)))
		table_builder_request_memory(s->builder, file->index, vdso, size);
	else
		file->building = !(s->rows[file->index].ready = true);
}

/* Walks are made here and now, so nothing reads the rows any more. */
static void on_release(void *context, struct mapped_file *file)
{
	struct source *s = context;
	struct perf_rows *rows = &s->rows[file->index];

	source_unwinder_forget(s->unwinder, file->index + 1ull);
	unwind_table_free(rows->table);
	table_builder_release(s->builder, &rows->claim);
	*rows = (struct perf_rows){ .ready = true };
}

static void release_files(struct source *s, uint64_t now)
{
	uint32_t index;

	while (file_table_reclaim(s->files, now, &index))
		continue;
	if (!file_release_begin(&s->release, s->files, now))
		return;
	for (const struct process *p = s->processes; p; p = p->hh.next)
		file_release_mark(&s->release, p);
	file_release_end(&s->release, s->files, now, on_release, s);
}

void perf_take_tables(struct source *s)
{
	struct built_table built;

	while (table_builder_take(s->builder, &built)) {
		const struct unwind_table *table = built.table;
		struct mapped_file *file;

		if (built.index >= WALK_MAX_MODULES) {
			s->stats.nr_rows += table ? table->nr_rows : 0;
			runtime_unwind_take(s->runtime, &built);
			continue;
		}
		s->rows[built.index] = (struct perf_rows){
			.ready = true,
			.table = built.table,
			.claim = built.claim,
		};
		file = file_table_get(s->files, built.index);
		file->building = false;
		file->parser_failed |= built.parser_failed;
		if (!table)
			continue;
		s->stats.nr_rows += table->nr_rows;
		file->nr_derived_functions = table->nr_derived_functions;
	}
}

static struct perf_thread *add_thread(struct source *s, pid_t tid)
{
	struct perf_thread *t, *next;

	HASH_FIND_INT(s->threads, &tid, t);
	if (t)
		return t;
	if (HASH_COUNT(s->threads) >= MAX_THREADS) {
		HASH_ITER (hh, s->threads, t, next) {
			HASH_DEL(s->threads, t);
			free(t);
		}
	}
	t = xcalloc(1, sizeof(*t));
	t->tid = tid;
	HASH_ADD_INT(s->threads, tid, t);
	return t;
}

const char *perf_thread_comm(struct source *s, pid_t pid, pid_t tid)
{
	char name[COMM_SIZE + 1];
	struct perf_thread *t;

	HASH_FIND_INT(s->threads, &tid, t);
	if (!t) {
		t = add_thread(s, tid);
		if (proc_name(pid, tid, name, sizeof(name)))
			memcpy(t->comm, name, strlen(name));
	}
	return t->comm;
}

static struct process *find_process(struct source *s, pid_t pid)
{
	struct process *p;

	HASH_FIND_INT(s->processes, &pid, p);
	return p;
}

static struct process *add_process(struct source *s, pid_t pid)
{
	struct process *p = xcalloc(1, sizeof(*p));

	p->pid = pid;
	process_new_epoch(p);
	HASH_ADD_INT(s->processes, pid, p);
	return p;
}

static void remove_process(struct source *s, struct process *p)
{
	python_stacks_forget(s->python, p);
	HASH_DEL(s->processes, p);
	process_fini(p);
	free(p);
}

static int read_maps(struct source *s, struct process *p)
{
	int err;

	p->read_ns = monotonic_ns();
	err = process_read_maps(p, s->files, on_file, s);
	python_stacks_update(s->python, p);
	return err;
}

int perf_process(struct source *s, pid_t pid, struct process **ret_process)
{
	struct process *p = find_process(s, pid);
	int err;

	*ret_process = p;
	if (p) {
		/* One of its mappings may have been among what was dropped. */
		if (p->read_ns < s->dropped_ns)
			perf_reread(s, p);
		return 0;
	}
	p = add_process(s, pid);
	p->user = process_user(pid, USER_NOBODY);
	p->known_ns = monotonic_ns();
	err = read_maps(s, p);
	if (err) {
		remove_process(s, p);
		return err;
	}
	*ret_process = p;
	return 0;
}

/* Until its exec, what the process maps is sprof's own. */
void perf_launched(struct source *s, pid_t pid)
{
	struct process *p = add_process(s, pid);

	p->user = process_user(pid, USER_NOBODY);
	p->known_ns = monotonic_ns();
	p->exec_pending = true;
}

void perf_reread(struct source *s, struct process *p)
{
	uint64_t now = monotonic_ns();

	if (p->ended_ns || now - p->read_ns < REREAD_NS ||
	    s->reread_ns > REREAD_NS + (now - s->start_ns) / REREAD_SHARE)
		return;
	read_maps(s, p);
	s->reread_ns += monotonic_ns() - now;
}

void perf_on_named(struct source *s, const struct perf_record *r)
{
	struct process *p = find_process(s, r->pid);

	memcpy(add_thread(s, r->tid)->comm, r->comm, COMM_SIZE);
	/* The mappings of the new program follow. */
	if (r->is_exec && p && r->time_ns >= p->known_ns) {
		process_unmap_all(p);
		python_stacks_forget(s->python, p);
		p->exec_pending = true;
	}
}

void perf_on_forked(struct source *s, const struct perf_record *r)
{
	struct process *parent = find_process(s, r->parent_pid), *child;
	char comm[COMM_SIZE];

	memcpy(comm, perf_thread_comm(s, r->parent_pid, r->parent_tid), COMM_SIZE);
	memcpy(add_thread(s, r->tid)->comm, comm, COMM_SIZE);
	if (r->pid == r->parent_pid)
		return;
	child = find_process(s, r->pid);
	if (child && r->time_ns < child->known_ns)
		return;
	if (child) /* an earlier process with that pid */
		remove_process(s, child);
	if (!parent)
		return;
	child = add_process(s, r->pid);
	child->user = parent->user;
	child->maps = xmalloc((parent->nr_maps + 1) * sizeof(*child->maps));
	if (parent->nr_maps)
		memcpy(child->maps, parent->maps, parent->nr_maps * sizeof(*child->maps));
	child->nr_maps = parent->nr_maps;
	child->capacity = parent->nr_maps + 1;
	runtime_regions_copy(&child->runtime, &parent->runtime);
	python_stacks_update(s->python, child);
}

void perf_on_exited(struct source *s, const struct perf_record *r)
{
	struct process *p = r->pid == r->tid ? find_process(s, r->pid) : NULL;
	struct perf_thread *t;

	python_stacks_thread_ended(s->python, r->tid);
	HASH_FIND_INT(s->threads, &r->tid, t);
	if (t) {
		HASH_DEL(s->threads, t);
		free(t);
	}
	/* If other threads live on, their next sample adds the process again. */
	if (p)
		p->ended_ns = r->time_ns;
}

void perf_on_mapped(struct source *s, const struct perf_record *r)
{
	struct process *p = find_process(s, r->pid);
	const struct file_mapping at = {
		.pid = r->pid,
		.user = p ? p->user : 0,
		.start = r->start,
		.end = r->start + r->length,
		.pgoff = r->pgoff,
		.dev = r->dev,
		.ino = r->ino,
		.path = r->path,
	};
	struct mapping m = {
		.start = at.start,
		.end = at.end,
		.pgoff = at.pgoff,
		.stack = mapping_is_stack(at.path),
	};
	bool is_new = false;

	/* What happened before known_ns was seen in /proc. */
	if (!p || r->time_ns < p->known_ns)
		return;
	m.code = mapping_code(s->files, &at, r->pid, &is_new);
	if (is_new)
		on_file(s, m.code);
	if (m.code) {
		process_map(p, &m);
		python_stacks_update(s->python, p);
	}
}

void perf_on_dropped(struct source *s, const struct perf_record *r)
{
	s->stats.nr_lost += r->nr_lost;
	s->dropped_ns = monotonic_ns();
}

void perf_tidy(struct source *s)
{
	uint64_t now = monotonic_ns();
	struct process *p, *next;
	int nr_looks = 0;

	perf_take_tables(s);
	runtime_unwind_tidy(s->runtime, now);
	HASH_ITER (hh, s->processes, p, next) {
		runtime_unwind_look(s->runtime, p, now);
		if (p->ended_ns && now > p->ended_ns + GRACE_NS)
			remove_process(s, p);
		else if (p->nr_covered && !p->ended_ns)
			process_check_covered(p);
		else if (nr_looks < MAX_LOOKS && process_prune_is_due(p, now)) {
			process_prune(p, now);
			nr_looks++;
		}
	}
	release_files(s, now);
}

void perf_free_tables(struct source *s)
{
	struct perf_thread *t, *next_thread;
	struct process *p, *next;

	HASH_ITER (hh, s->processes, p, next)
		remove_process(s, p);
	HASH_ITER (hh, s->threads, t, next_thread) {
		HASH_DEL(s->threads, t);
		free(t);
	}
	for (size_t i = 0; i < s->nr_rows; i++) {
		unwind_table_free(s->rows[i].table);
		free(s->rows[i].claim.numbers);
	}
	free(s->rows);
}
