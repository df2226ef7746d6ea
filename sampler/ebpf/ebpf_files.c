/*
 * An entry of modules[] goes through three states: pending while the builder works, then rows or no
 * rows. Its place may have belonged to other code before, so the first thing to do for a new file
 * is to set its entry to pending.
 */
#include "sampler/ebpf/ebpf_files.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/rights/privileges.h"
#include "core/base/alloc.h"
#include "sampler/ebpf/arena.h"
#include "sampler/sink/limits.h"
#include "sampler/ebpf/kernel_side.h"
#include "sampler/target/mapped_file.h"
#include "sampler/target/proc_maps.h"
#include "sampler/target/process.h"
#include "sampler/target/sideband.h"
#include "sampler/unwind/unwind_table.h"
#include "sampler/walk/runtime_unwind.h"
#include "sampler/walk/table_builder.h"

#define MIN_ROOM (WALK_MAX_MODULES / 4)
#define ROOM_NS (10ull * 1000 * 1000 * 1000)

/* ---- rows of runtime code, for the walker */

static bool publish_runtime(void *context, uint32_t number, const struct unwind_table *rows)
{
	struct ebpf_files *f = context;
	struct module_entry entry;

	if (arena_add_region(f->kernel->arena, rows, &entry))
		return false;
	f->nr_rows += rows->nr_rows;
	kernel_side_set_module(f->kernel, WALK_MAX_MODULES + number, &entry);
	return true;
}

static void forget_runtime(void *context, uint32_t number, const struct unwind_table *rows)
{
	struct ebpf_files *f = context;
	const struct module_entry entry = f->kernel->modules[WALK_MAX_MODULES + number];

	kernel_side_set_no_rows(f->kernel, WALK_MAX_MODULES + number);
	arena_remove_region(f->kernel->arena, &entry, rows);
}

/* ---- life */

void ebpf_files_init(struct ebpf_files *f, struct kernel_side *kernel, struct limits *limits,
		     const struct sandbox *sandbox)
{
	static const struct runtime_ops ops = { publish_runtime, forget_runtime };

	f->kernel = kernel;
	f->limits = limits;
	f->table = file_table_new();
	file_table_raise_limit();
	f->builder = table_builder_new(kernel->rules, WALK_NR_RULES, sandbox);
	f->runtime = runtime_unwind_new(f->builder, WALK_MAX_MODULES, kernel->rules, &ops, f);
}

void ebpf_files_fini(struct ebpf_files *f)
{
	table_builder_free(f->builder); /* its thread writes the kernel side's rules */
	runtime_unwind_free(f->runtime);
	file_table_free(f->table);
}

/* ---- files */

void ebpf_files_add(void *files, struct mapped_file *file)
{
	struct ebpf_files *f = files;
	const void *vdso;
	size_t size;

	kernel_side_set_module(f->kernel, file->index,
			       &(struct module_entry){ .state = WALK_MODULE_PENDING });
	if (file->fd == -EMFILE || file->fd == -ENFILE)
		limit_hit(f->limits, LIMIT_OPEN_FILES,
			  "too many open files: further ones are walked by frame pointers and have "
			  "no names (ulimit -n)");
	if (file->kind == MODULE_ELF && file->nr_segments)
		table_builder_request(f->builder, file->index, file->fd);
	else if (file->kind == MODULE_VDSO && (vdso = file_table_vdso_image(&size)))
		table_builder_request_memory(f->builder, file->index, vdso, size);
	else
		kernel_side_set_no_rows(f->kernel, file->index);
}

struct mapped_file *ebpf_files_mapped(struct ebpf_files *f, const struct sideband_record *r)
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
	bool is_new = false;
	struct mapped_file *file = mapping_code(f->table, &m, r->pid, &is_new);

	if (is_new)
		ebpf_files_add(f, file);
	if (!file && mapping_backing(r->path, r->ino) != BACKING_IGNORED)
		limit_hit(f->limits, LIMIT_FILES,
			  "more than %d mapped files: the code of further ones stays "
			  "[unknown]",
			  WALK_MAX_MODULES);
	return file;
}

void ebpf_files_expect(void *files, const char *path)
{
	enum rights before = privileges_use(RIGHTS_OF_CALLER); /* the caller named the path */
	struct ebpf_files *f = files;
	char *real = realpath(path, NULL);
	struct file_mapping m = { .pid = getpid(), .path = real };
	struct mapped_file *file = NULL;
	struct stat st;
	bool is_new;

	if (real && !stat(real, &st) && S_ISREG(st.st_mode)) {
		m.dev = st.st_dev;
		m.ino = st.st_ino;
		file = file_table_add(f->table, &m, &is_new);
	}
	privileges_use(before);
	if (file && is_new)
		ebpf_files_add(f, file);
	free(real);
}

static void publish_table(struct ebpf_files *f, uint32_t index, const struct unwind_table *table)
{
	struct module_entry entry;

	if (!table) {
		kernel_side_set_no_rows(f->kernel, index);
	} else if (arena_add_table(f->kernel->arena, table, &entry)) {
		kernel_side_set_no_rows(f->kernel, index);
		limit_hit(f->limits, LIMIT_ROWS,
			  "unwind rows exceed %d MiB: further files are walked by frame "
			  "pointers",
			  ARENA_MAX_SHARDS);
	} else {
		f->nr_rows += table->nr_rows;
		file_table_get(f->table, index)->nr_derived_functions = table->nr_derived_functions;
		kernel_side_set_module(f->kernel, index, &entry);
	}
}

void ebpf_files_poll(struct ebpf_files *f, uint64_t now_ns)
{
	struct built_table built;

	while (table_builder_take(f->builder, &built)) {
		if (built.index >= WALK_MAX_MODULES) {
			runtime_unwind_take(f->runtime, built.index, built.table);
			continue;
		}
		file_table_get(f->table, built.index)->parser_failed = built.parser_failed;
		publish_table(f, built.index, built.table);
		unwind_table_free(built.table);
	}
	runtime_unwind_tidy(f->runtime, now_ns);
}

static void mark_used(bool *used, const struct mapping *maps, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		used[maps[i].code->index] = true;
}

/* Each process may have code without a file: over days that fills any table. */
void ebpf_files_make_room(struct ebpf_files *f, const struct process *processes, uint64_t now_ns)
{
	size_t nr = file_table_size(f->table);
	bool *used;

	if (file_table_room(f->table) >= MIN_ROOM || now_ns < f->next_room_ns)
		return;
	f->next_room_ns = now_ns + ROOM_NS;
	used = xcalloc(nr, sizeof(*used));
	for (const struct process *p = processes; p; p = p->hh.next) {
		mark_used(used, p->maps, p->nr_maps);
		mark_used(used, p->covered, p->nr_covered);
	}
	for (size_t i = 0; i < nr; i++)
		if (!used[i])
			file_table_reuse(f->table, file_table_get(f->table, (uint32_t)i));
	free(used);
}

bool ebpf_files_find_rule(const struct ebpf_files *f, uint64_t module, uint64_t vaddr,
			  struct walk_rule *ret)
{
	const struct module_entry *m = &f->kernel->modules[module - 1];

	if (m->state == WALK_MODULE_PENDING)
		return false;
	*ret = (struct walk_rule){ .cfa = WALK_CFA_NONE };
	if (m->state == WALK_MODULE_ROWS)
		*ret = f->kernel->rules[arena_find_rule(f->kernel->arena, m, vaddr)];
	return true;
}
