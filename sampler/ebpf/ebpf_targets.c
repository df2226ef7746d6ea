/*
 * What the kernel side must know to walk: which code lies where in which process, and the unwind
 * rows of that code. Kept right from the events of fork, exec, mmap and exit, in time order.
 */
#include "sampler/ebpf/ebpf.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "sampler/bpf/sprof.skel.h"
#include "sampler/target/proc_maps.h"
#include "sampler/unwind/unwind_table.h"

/* A walk is over in microseconds; what nothing points to is free after this. */
#define GRACE_NS (1000ull * 1000 * 1000)
#define REREAD_NS (20ull * 1000 * 1000)
#define MIN_ROOM (WALK_MAX_MODULES / 4)
#define ROOM_NS (10ull * 1000 * 1000 * 1000)

void ebpf_limit(struct source *s, enum source_limit limit, const char *format, ...)
{
	va_list ap;
	char text[256];

	s->stats.nr_limits++;
	if (s->limit_warned[limit])
		return;
	s->limit_warned[limit] = true;
	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	log_warning("%s", text);
}

/* ---- code */

static void set_module(struct source *s, uint32_t index, const struct module_entry *entry)
{
	struct module_entry *to = &s->modules[index];
	uint32_t state = entry->state;

	to->base = entry->base;
	to->pages = entry->pages;
	to->nr_pages = entry->nr_pages;
	/* The state makes the rest count: it is written last. */
	__atomic_store_n(&to->state, state, __ATOMIC_RELEASE);
}

static void set_no_rows(struct source *s, uint32_t index)
{
	set_module(s, index, &(struct module_entry){ .state = WALK_MODULE_NO_ROWS });
}

static void on_code(void *context, struct mapped_file *code)
{
	struct source *s = context;
	const void *vdso;
	size_t size;

	/* The entry may have been other code's. */
	set_module(s, code->index, &(struct module_entry){ .state = WALK_MODULE_PENDING });
	if (code->fd == -EMFILE || code->fd == -ENFILE)
		ebpf_limit(
			s, LIMIT_FILES,
			"too many open files: further ones are walked by frame pointers and have "
			"no names (ulimit -n)");
	if (code->kind == MODULE_ELF && code->nr_segments)
		table_builder_request(s->builder, code->index, code->fd);
	else if (code->kind == MODULE_VDSO && (vdso = file_table_vdso_image(&size)))
		table_builder_request_memory(s->builder, code->index, vdso, size);
	else
		set_no_rows(s, code->index);
}

static struct mapped_file *code_of(struct source *s, const struct sideband_record *r)
{
	const struct file_mapping m = {
		.pid = r->pid,
		.start = r->start,
		.end = r->start + r->length,
		.pgoff = r->pgoff,
		.dev = r->dev,
		.ino = r->ino,
		.path = r->path,
	};
	struct mapped_file *code = NULL;
	bool is_new = false;

	switch (mapping_backing(r->path, r->ino)) {
	case BACKING_FILE: code = file_table_add(s->codes, &m, &is_new); break;
	case BACKING_MEMFD: code = file_table_add_memfd(s->codes, &m, r->pid, &is_new); break;
	case BACKING_RUNTIME: code = file_table_add_runtime(s->codes, r->pid, &is_new); break;
	case BACKING_VDSO: code = file_table_add_vdso(s->codes, &is_new); break;
	case BACKING_IGNORED: return NULL;
	}
	if (!code)
		ebpf_limit(s, LIMIT_MODULES,
			   "more than %d mapped files: the code of further ones stays [unknown]",
			   WALK_MAX_MODULES);
	if (is_new)
		on_code(s, code);
	return code;
}

void ebpf_expect_file(void *source, const char *path)
{
	struct source *s = source;
	char *real = realpath(path, NULL);
	struct file_mapping m = { .pid = getpid(), .path = real };
	struct mapped_file *code;
	struct stat st;
	bool is_new;

	if (real && !stat(real, &st) && S_ISREG(st.st_mode)) {
		m.dev = st.st_dev;
		m.ino = st.st_ino;
		code = file_table_add(s->codes, &m, &is_new);
		if (code && is_new)
			on_code(s, code);
	}
	free(real);
}

static void take_tables(struct source *s)
{
	struct unwind_table *table;
	uint32_t index;

	while (table_builder_take(s->builder, &index, &table)) {
		struct module_entry entry;

		if (index >= WALK_MAX_MODULES) {
			runtime_unwind_take(s->jit, index, table);
			continue;
		}
		if (!table) {
			set_no_rows(s, index);
		} else if (arena_add_table(s->arena, table, &entry)) {
			set_no_rows(s, index);
			ebpf_limit(s, LIMIT_ROWS,
				   "unwind rows exceed %d MiB: further files are walked by frame "
				   "pointers",
				   ARENA_MAX_SHARDS);
		} else {
			s->stats.nr_rows += table->nr_rows;
			file_table_get(s->codes, index)->nr_derived_functions =
				table->nr_derived_functions;
			set_module(s, index, &entry);
		}
		unwind_table_free(table);
	}
}

static bool publish_runtime(void *context, uint32_t number, const struct unwind_table *rows)
{
	struct source *s = context;
	struct module_entry entry;

	if (arena_add_region(s->arena, rows, &entry))
		return false;
	s->stats.nr_rows += rows->nr_rows;
	set_module(s, WALK_MAX_MODULES + number, &entry);
	return true;
}

static void forget_runtime(void *context, uint32_t number, const struct unwind_table *rows)
{
	struct source *s = context;
	const struct module_entry entry = s->modules[WALK_MAX_MODULES + number];

	set_no_rows(s, WALK_MAX_MODULES + number);
	arena_remove_region(s->arena, &entry, rows);
}

const struct runtime_ops ebpf_runtime_ops = { publish_runtime, forget_runtime };

/* ---- processes */

static struct process *add_process(struct source *s, pid_t pid, uint32_t exec_id)
{
	struct process *p = xcalloc(1, sizeof(struct ebpf_process));

	p->pid = pid;
	ebpf_own(p)->exec_id = exec_id;
	process_new_epoch(p);
	HASH_ADD_INT(s->processes, pid, p);
	return p;
}

static void remove_process(struct source *s, struct process *p, bool forget_entry)
{
	uint32_t key = (uint32_t)p->pid;

	if (forget_entry)
		bpf_map_delete_elem(bpf_map__fd(s->skel->maps.processes), &key);
	ebpf_retire(s, ebpf_own(p)->region);
	HASH_DEL(s->processes, p);
	process_fini(p);
	free(p);
}

struct process *ebpf_find_process(struct source *s, pid_t pid)
{
	struct process *p;

	HASH_FIND_INT(s->processes, &pid, p);
	return p;
}

int ebpf_process(struct source *s, pid_t pid, uint32_t exec_id, struct process **ret_process)
{
	struct process *p = ebpf_find_process(s, pid);
	int err;

	*ret_process = p;
	if (p)
		return 0;
	p = add_process(s, pid, exec_id);
	p->known_ns = p->read_ns = monotonic_ns();
	/* Before its maps are read: from now on we are told when it execs and when it ends. */
	ebpf_write_entry(s, p);
	err = process_read_maps(p, s->codes, on_code, s);
	if (err) {
		remove_process(s, p, true);
		return err;
	}
	ebpf_publish_maps(s, p);
	*ret_process = p;
	return 0;
}

static void read_again(struct source *s, struct process *p)
{
	p->read_ns = monotonic_ns();
	process_read_maps(p, s->codes, on_code, s);
}

void ebpf_reread(struct source *s, struct process *p)
{
	if (!p->ended_ns && !p->exec_pending && monotonic_ns() - p->read_ns >= REREAD_NS)
		read_again(s, p);
}

void ebpf_on_fork(struct source *s, const struct fork_event *e)
{
	struct process *parent = ebpf_find_process(s, (pid_t)e->header.tgid);
	struct process *child = ebpf_find_process(s, (pid_t)e->child);
	struct map_region *region;

	if (!parent)
		return;
	if (child) /* the number was used before and is used again */
		remove_process(s, child, false);
	child = add_process(s, (pid_t)e->child, e->exec_id);
	child->maps = xmalloc(parent->nr_maps * sizeof(*child->maps));
	if (parent->nr_maps)
		memcpy(child->maps, parent->maps, parent->nr_maps * sizeof(*child->maps));
	child->nr_maps = child->capacity = parent->nr_maps;
	child->dirty = parent->dirty;
	region = ebpf_own(child)->region = ebpf_own(parent)->region;
	ebpf_own(child)->python = ebpf_own(parent)->python;
	runtime_regions_copy(&child->runtime, &parent->runtime);
	if (region) {
		region->nr_users++;
		ebpf_write_entry(s, child);
	}
}

void ebpf_on_exec(struct source *s, const struct exec_event *e)
{
	struct process *p = ebpf_find_process(s, (pid_t)e->header.tgid);

	if (!p)
		return;
	ebpf_own(p)->exec_id = e->exec_id;
	p->dirty = true;
	if (!p->exec_pending) { /* its record was lost */
		process_unmap_all(p);
		read_again(s, p);
	}
	p->exec_pending = false;
}

void ebpf_on_exit(struct source *s, const struct exit_event *e)
{
	struct process *p = ebpf_find_process(s, (pid_t)e->header.tgid);

	uint32_t key = e->header.tgid;

	if (p)
		p->ended_ns = e->header.time_ns;
	else /* one that we could not look into */
		bpf_map_delete_elem(bpf_map__fd(s->skel->maps.processes), &key);
}

void ebpf_on_sideband(struct source *s, const struct sideband_record *r)
{
	struct process *p = ebpf_find_process(s, r->pid);
	struct mapping m;

	if (r->type == SIDEBAND_LOST) {
		for (p = s->processes; p; p = p->hh.next)
			ebpf_reread(s, p);
		return;
	}
	/* What came before was seen in /proc. */
	if (!p || r->time_ns < p->known_ns)
		return;
	if (r->type == SIDEBAND_EXEC) {
		process_unmap_all(p);
		p->exec_pending = true;
		return;
	}
	m = (struct mapping){
		.start = r->start,
		.end = r->start + r->length,
		.pgoff = r->pgoff,
		.code = code_of(s, r),
		.stack = mapping_is_stack(r->path),
	};
	if (m.code && m.end > m.start)
		process_map(p, &m);
}

static void mark_used(bool *used, const struct mapping *maps, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		used[maps[i].code->index] = true;
}

/* Each process may have code without a file: over days that fills any table. */
static void make_room_for_code(struct source *s, uint64_t now)
{
	size_t nr = file_table_size(s->codes);
	bool *used;

	if (file_table_room(s->codes) >= MIN_ROOM || now < s->next_room_ns)
		return;
	s->next_room_ns = now + ROOM_NS;
	used = xcalloc(nr, sizeof(*used));
	for (const struct process *p = s->processes; p; p = p->hh.next) {
		mark_used(used, p->maps, p->nr_maps);
		mark_used(used, p->covered, p->nr_covered);
	}
	for (size_t i = 0; i < nr; i++)
		if (!used[i])
			file_table_reuse(s->codes, file_table_get(s->codes, (uint32_t)i));
	free(used);
}

void ebpf_publish(struct source *s)
{
	uint64_t now = monotonic_ns();
	struct process *p, *next;

	take_tables(s);
	ebpf_free_retired(s, now);
	runtime_unwind_tidy(s->jit, now);
	make_room_for_code(s, now);
	HASH_ITER (hh, s->processes, p, next) {
		if (p->ended_ns && now > p->ended_ns + GRACE_NS) {
			remove_process(s, p, true);
			continue;
		}
		ebpf_allow_snapshots(s, p, now);
		if (p->nr_covered && !p->ended_ns)
			process_check_covered(p);
		runtime_unwind_look(s->jit, p, now);
		if (p->dirty && !p->exec_pending)
			ebpf_publish_maps(s, p);
	}
}

void ebpf_free_processes(struct source *s)
{
	struct process *p, *next;

	HASH_ITER (hh, s->processes, p, next) {
		struct map_region *region = ebpf_own(p)->region;

		free(region && !--region->nr_users ? region : NULL);
		HASH_DEL(s->processes, p);
		process_fini(p);
		free(p);
	}
	free(s->retired);
}
