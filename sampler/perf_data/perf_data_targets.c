/*
 * A mapping names its file by path. Whether the file of that path is still the one that was mapped
 * is decided by its build-id, which is in the mapping or in the header, or else by device and
 * inode. A file that cannot be identified is not used.
 */
#include "sampler/perf_data/perf_data_targets.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/path.h"
#include "core/rights/safe_open.h"
#include "core/portable/frames.h"
#include "sampler/unwind/unwind_table.h"
#include "sampler/walk/module_debug_files.h"

#define FILES_MAX 65536
#define PROCESSES_MAX 262144 /* the limit for threads, too */
#define MAPS_MAX 65536	     /* of a process: vm.max_map_count */
#define KERNEL_PATH "[kernel.kallsyms]"

struct data_file {
	struct mapped_file file;
	struct unwind_table *table;
	UT_hash_handle hh;
	size_t key_size;
	char key[]; /* the identity in the mapping, and the path */
};

struct data_thread {
	uint32_t tid;
	char comm[COMM_SIZE];
	UT_hash_handle hh;
};

/* A mapping, from its record. */
struct mapped {
	uint32_t pid, tid;
	uint64_t start, length, pgoff;
	struct identity {
		uint64_t dev, ino;
		uint8_t build_id_size, build_id[BUILD_ID_MAX];
	} file;
	bool is_code;
	const char *path;
};

void perf_data_tables_init(struct perf_data_tables *t, const struct perf_data_file *file)
{
	*t = (struct perf_data_tables){ .file = file, .rules = rule_set_new() };
}

static void remove_process(struct perf_data_tables *t, struct process *p)
{
	HASH_DEL(t->processes, p);
	process_fini(p);
	free(p);
}

void perf_data_tables_fini(struct perf_data_tables *t)
{
	struct data_thread *thread, *next_thread;
	struct process *p, *next;

	HASH_ITER (hh, t->processes, p, next)
		remove_process(t, p);
	HASH_ITER (hh, t->threads, thread, next_thread) {
		HASH_DEL(t->threads, thread);
		free(thread);
	}
	HASH_CLEAR(hh, t->files);
	for (size_t i = 0; i < t->nr_files; i++) {
		struct data_file *c = t->by_index[i];

		if (c->file.fd >= 0)
			close(c->file.fd);
		free(c->file.path);
		free(c->file.segments);
		unwind_table_free(c->table);
		free(c);
	}
	free(t->by_index);
	free(t->kernel_symbol);
	rule_set_free(t->rules);
	*t = (struct perf_data_tables){ 0 };
}

static void find_build_id(const struct perf_data_tables *t, const char *path,
			  struct identity *identity)
{
	for (size_t i = 0; i < t->file->nr_build_ids && !identity->build_id_size; i++) {
		const struct perf_data_build_id *id = &t->file->build_ids[i];

		if (strcmp(id->path, path) != 0)
			continue;
		identity->build_id_size = id->size;
		memcpy(identity->build_id, id->id, sizeof(id->id));
	}
}

static void set_build_id(struct mapped_file *file, const struct identity *identity)
{
	file->build_id_size = identity->build_id_size;
	memcpy(file->build_id, identity->build_id, sizeof(file->build_id));
}

/* Opens the file if it is the mapped one: same build-id, or else same device and inode. */
static void open_file(struct mapped_file *file, const struct identity *identity)
{
	struct stat st;
	bool same;

	file->fd = safe_open(file->path, SAFE_OPEN_ELF_MAX);
	if (file->fd < 0) {
		set_build_id(file, identity);
		return;
	}
	same = !fstat(file->fd, &st) && !mapped_file_read_elf(file);
	if (identity->build_id_size)
		same = same && file->build_id_size == identity->build_id_size &&
		       !memcmp(file->build_id, identity->build_id, identity->build_id_size);
	else
		same = same && identity->ino && identity->ino == st.st_ino &&
		       identity->dev == st.st_dev;
	if (same)
		return;
	close(file->fd);
	file->fd = -1;
	free(file->segments);
	file->segments = NULL;
	file->nr_segments = 0;
	set_build_id(file, identity);
}

static void read_file(struct perf_data_tables *t, struct data_file *c,
		      const struct identity *identity)
{
	struct module_debug_files files;

	open_file(&c->file, identity);
	if (c->file.fd < 0)
		return;
	if (t->keep_files) {
		module_debug_files_init(&files, c->file.fd, &c->file.root, c->file.path);
		if (unwind_table_build(c->file.fd, &files.files, t->rules, &c->table))
			c->table = NULL;
		return;
	}
	close(c->file.fd);
	c->file.fd = -1;
}

/* The mapped file with this key; a new one is for the caller to fill in. NULL: too many. */
static struct data_file *code_of(struct perf_data_tables *t, const void *key, size_t size,
				 bool *ret_new)
{
	struct data_file *c;

	HASH_FIND(hh, t->files, key, size, c);
	*ret_new = !c;
	if (c)
		return c;
	if (t->nr_files == FILES_MAX) {
		t->nr_limits++;
		return NULL;
	}
	c = xcalloc(1, sizeof(*c) + size);
	memcpy(c->key, key, size);
	c->key_size = size;
	c->file.index = (uint32_t)t->nr_files;
	c->file.sink_id = PROFILE_NONE;
	c->file.fd = -1;
	t->by_index =
		xgrow(t->by_index, &t->files_capacity, t->nr_files + 1, sizeof(struct data_file *));
	t->by_index[t->nr_files++] = c;
	HASH_ADD_KEYPTR(hh, t->files, c->key, c->key_size, c);
	return c;
}

static struct mapped_file *file_code(struct perf_data_tables *t, const struct mapped *m)
{
	struct buffer key = { 0 };
	struct data_file *c;
	bool is_new;

	buffer_add(&key, &m->file, sizeof(m->file));
	buffer_add_string(&key, m->path);
	c = code_of(t, key.data, key.size, &is_new);
	buffer_fini(&key);
	if (c && is_new) {
		struct identity identity = m->file;

		find_build_id(t, m->path, &identity);
		c->file.kind = MODULE_ELF;
		c->file.path = xstrdup(m->path);
		c->file.dev = m->file.dev;
		c->file.ino = m->file.ino;
		read_file(t, c, &identity);
	}
	return c ? &c->file : NULL;
}

/* Code without a file: the runtime code of one process, or the vdso. */
static struct mapped_file *other_code(struct perf_data_tables *t, enum module_kind kind,
				      uint32_t pid)
{
	const uint32_t key[] = { kind, kind == MODULE_JIT ? pid : 0 };
	struct data_file *c;
	bool is_new;

	c = code_of(t, key, sizeof(key), &is_new);
	if (c && is_new) {
		c->file.kind = kind;
		c->file.path = xstrdup(kind == MODULE_JIT ? "[jit]" : "[vdso]");
		c->file.pid = (pid_t)pid;
	}
	return c ? &c->file : NULL;
}

static struct mapped_file *file_behind(struct perf_data_tables *t, const struct mapped *m)
{
	if (!strcmp(m->path, "[vdso]"))
		return other_code(t, MODULE_VDSO, m->pid);
	if (m->path[0] != '/' || begins_with(m->path, "//anon") ||
	    begins_with(m->path, "/memfd:") || begins_with(m->path, "/dev/zero"))
		return !strcmp(m->path, "[vsyscall]") ? NULL : other_code(t, MODULE_JIT, m->pid);
	return file_code(t, m);
}

static struct process *find_process(const struct perf_data_tables *t, uint32_t pid)
{
	pid_t key = (pid_t)pid;
	struct process *p;

	HASH_FIND_INT(t->processes, &key, p);
	return p;
}

static struct process *get_process(struct perf_data_tables *t, uint32_t pid)
{
	struct process *p = find_process(t, pid);

	if (p)
		return p;
	if (HASH_COUNT(t->processes) >= PROCESSES_MAX) {
		t->nr_limits++;
		return NULL;
	}
	p = xcalloc(1, sizeof(*p));
	p->pid = (pid_t)pid;
	process_new_epoch(p);
	HASH_ADD_INT(t->processes, pid, p);
	return p;
}

const struct process *perf_data_process(const struct perf_data_tables *t, uint32_t pid)
{
	return find_process(t, pid);
}

static struct data_thread *get_thread(struct perf_data_tables *t, uint32_t tid)
{
	struct data_thread *thread;

	HASH_FIND(hh, t->threads, &tid, sizeof(tid), thread);
	if (thread || HASH_COUNT(t->threads) >= PROCESSES_MAX)
		return thread;
	thread = xcalloc(1, sizeof(*thread));
	thread->tid = tid;
	if (!tid)
		memcpy(thread->comm, "swapper", 7);
	HASH_ADD(hh, t->threads, tid, sizeof(thread->tid), thread);
	return thread;
}

const char *perf_data_comm(struct perf_data_tables *t, uint32_t tid)
{
	static const char none[COMM_SIZE];
	const struct data_thread *thread = get_thread(t, tid);

	return thread ? thread->comm : none;
}

static void on_comm(struct perf_data_tables *t, const struct perf_data_record *r, struct cursor b)
{
	uint32_t pid = (uint32_t)cursor_fixed(&b, 4), tid = (uint32_t)cursor_fixed(&b, 4);
	struct data_thread *thread;
	struct process *p;
	size_t length;

	if (b.bad)
		return;
	length = strnlen((const char *)b.at, cursor_left(&b));
	thread = get_thread(t, tid);
	if (thread) {
		memset(thread->comm, 0, sizeof(thread->comm));
		memcpy(thread->comm, b.at, length < COMM_SIZE - 1 ? length : COMM_SIZE - 1);
	}
	p = r->header.misc & PERF_RECORD_MISC_COMM_EXEC ? find_process(t, pid) : NULL;
	if (p)
		process_unmap_all(p);
}

static void copy_maps(struct process *to, const struct process *from)
{
	free(to->maps);
	process_new_epoch(to);
	to->maps = xmalloc((from->nr_maps + 1) * sizeof(*to->maps));
	if (from->nr_maps)
		memcpy(to->maps, from->maps, from->nr_maps * sizeof(*to->maps));
	to->nr_maps = from->nr_maps;
	to->capacity = from->nr_maps + 1;
}

static void on_fork(struct perf_data_tables *t, struct cursor b)
{
	uint32_t pid = (uint32_t)cursor_fixed(&b, 4), parent = (uint32_t)cursor_fixed(&b, 4);
	uint32_t tid = (uint32_t)cursor_fixed(&b, 4);
	uint32_t parent_tid = (uint32_t)cursor_fixed(&b, 4);
	struct data_thread *thread;
	struct process *p;
	char comm[COMM_SIZE];

	if (b.bad)
		return;
	memcpy(comm, perf_data_comm(t, parent_tid), sizeof(comm));
	thread = get_thread(t, tid);
	if (thread && comm[0])
		memcpy(thread->comm, comm, sizeof(comm));
	if (pid == parent || !find_process(t, parent))
		return;
	p = get_process(t, pid);
	if (p)
		copy_maps(p, find_process(t, parent));
}

static bool parse_mapped(const struct perf_data_record *r, struct cursor b, struct mapped *m)
{
	bool has_identity = r->header.type == PERF_RECORD_MMAP2;

	*m = (struct mapped){ .is_code = !(r->header.misc & PERF_RECORD_MISC_MMAP_DATA) };
	m->pid = (uint32_t)cursor_fixed(&b, 4);
	m->tid = (uint32_t)cursor_fixed(&b, 4);
	m->start = cursor_fixed(&b, 8);
	m->length = cursor_fixed(&b, 8);
	m->pgoff = cursor_fixed(&b, 8);
	if (has_identity && r->header.misc & PERF_RECORD_MISC_MMAP_BUILD_ID) {
		const uint8_t *id = cursor_take(&b, 24);

		if (!id || id[0] > 20)
			return false;
		m->file.build_id_size = id[0];
		memcpy(m->file.build_id, id + 4, id[0]);
	} else if (has_identity) {
		uint32_t major = (uint32_t)cursor_fixed(&b, 4);

		m->file.dev = makedev(major, (uint32_t)cursor_fixed(&b, 4));
		m->file.ino = cursor_fixed(&b, 8);
		cursor_take(&b, 8);
	}
	if (has_identity) {
		m->is_code &= (cursor_fixed(&b, 4) & PROT_EXEC) != 0;
		cursor_take(&b, 4);
	}
	m->path = (const char *)b.at;
	return !b.bad && memchr(b.at, '\0', cursor_left(&b));
}

static void on_mapped(struct perf_data_tables *t, const struct perf_data_record *r, struct cursor b)
{
	struct process *p;
	struct mapping at;
	struct mapped m;

	if (!parse_mapped(r, b, &m))
		return;
	if ((r->header.misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL) {
		/*
		 * The path is "[kernel.kallsyms]_text"; the page offset is that symbol's address.
		 */
		if (begins_with(m.path, KERNEL_PATH) && m.path[strlen(KERNEL_PATH)] &&
		    !t->kernel_symbol) {
			t->kernel_symbol = xstrdup(m.path + strlen(KERNEL_PATH));
			t->kernel_address = m.pgoff;
		}
		return;
	}
	p = m.is_code && m.length <= UINT64_MAX - m.start ? get_process(t, m.pid) : NULL;
	if (!p)
		return;
	if (p->nr_maps >= MAPS_MAX) {
		t->nr_limits++;
		return;
	}
	at = (struct mapping){
		.start = m.start,
		.end = m.start + m.length,
		.pgoff = m.pgoff,
		.code = file_behind(t, &m),
	};
	if (at.code)
		process_map(p, &at);
}

void perf_data_tables_take(struct perf_data_tables *t, const struct perf_data_record *r)
{
	struct cursor b = { r->body, r->body + r->size, false };

	switch (r->header.type) {
	case PERF_RECORD_COMM: on_comm(t, r, b); break;
	case PERF_RECORD_FORK: on_fork(t, b); break;
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2: on_mapped(t, r, b); break;
	}
}

/* ---- what the unwinder asks; modules are numbered by the index of their mapped file + 1 */

bool perf_data_open_module(const struct perf_data_tables *t, uint64_t module,
			   struct snapshot_file *ret)
{
	const struct mapped_file *file = &t->by_index[module - 1]->file;

	*ret = (struct snapshot_file){ .fd = file->fd };
	if (file->kind == MODULE_VDSO && t->same_kernel)
		ret->memory = file_table_vdso_image(&ret->size);
	return ret->memory || file->fd >= 0;
}

bool perf_data_find_rule(const struct perf_data_tables *t, uint64_t module, uint64_t vaddr,
			 struct walk_rule *ret)
{
	const struct unwind_table *table = t->by_index[module - 1]->table;
	uint32_t nr;

	if (!table)
		return false;
	*ret = rule_set_rules(t->rules, &nr)[unwind_table_find(table, vaddr)];
	return true;
}
