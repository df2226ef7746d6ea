/*
 * Threads of the table builder compile the rows. Until then the agent walks a module by frame
 * pointers, so finished rows raise the generation of every target: it walks such stacks again.
 */
#include "sampler/walk/walk_publisher.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/proc_status.h"
#include "core/portable/pycode.h"
#include "core/profile/source.h"
#include "core/portable/walk_tables.h"
#include "core/untrusted/shared_memory.h"
#include "sampler/target/mapped_file.h"
#include "sampler/target/proc_maps.h"
#include "sampler/target/process.h"
#include "sampler/runtimes/python/code_objects.h"
#include "sampler/runtimes/python/code_reader.h"
#include "sampler/runtimes/python/interpreter_files.h"
#include "sampler/sink/sample_sink.h"
#include "sampler/walk/table_builder.h"
#include "sampler/unwind/unwind_table.h"
#include "sampler/walk/walk_arena.h"

struct walk_publisher {
	struct walk_arena_writer *arena;
	struct table_builder *builder;
	struct file_table *files;
	struct python_files *pythons; /* NULL: Python frames are not wanted */
	struct code_reader *code_reader;
	struct sample_sink out; /* for the sink's ids of mapped files */
	struct profile_stats stats;
	struct walk_target *targets;
};

struct walk_target {
	struct walk_publisher *publisher;
	struct process maps;
	struct walk_space *space;
	int space_fd;
	uint32_t generation;
	struct python_codes *python_codes; /* made with the first Python frame */
	struct walk_target *next;
};

int walk_publisher_new(bool python, const struct sandbox *sandbox, struct table_cache *cache,
		       struct walk_publisher **ret)
{
	struct walk_publisher *p = xcalloc(1, sizeof(*p));
	int err = walk_arena_new(&p->arena);

	if (err) {
		free(p);
		return err;
	}
	p->builder = table_builder_new(walk_arena_rules(p->arena), sandbox, cache);
	p->files = file_table_new();
	file_table_confine(p->files, sandbox);
	p->pythons = python ? python_files_new() : NULL;
	p->code_reader = code_reader_new(sandbox);
	sample_sink_init(&p->out, &p->stats);
	*ret = p;
	return 0;
}

static void remove_target(struct walk_publisher *p, struct walk_target *t)
{
	struct walk_target **at = &p->targets;

	while (*at && *at != t)
		at = &(*at)->next;
	if (*at)
		*at = t->next;
	if (t->space)
		shared_memory_unmap(t->space, sizeof(*t->space));
	if (t->space_fd >= 0)
		close(t->space_fd);
	process_fini(&t->maps);
	if (p->out.python_codes == t->python_codes)
		p->out.python_codes = NULL;
	python_codes_free(t->python_codes);
	free(t);
}

void walk_publisher_free(struct walk_publisher *p)
{
	if (!p)
		return;
	while (p->targets)
		remove_target(p, p->targets);
	table_builder_free(p->builder);
	walk_arena_free(p->arena);
	file_table_free(p->files);
	code_reader_free(p->code_reader);
	python_files_free(p->pythons);
	sample_sink_fini(&p->out);
	free(p);
}

static void on_file(void *context, struct mapped_file *file)
{
	struct walk_publisher *p = context;

	walk_arena_add_file(p->arena, p->builder, file);
}

static void publish(struct walk_target *t)
{
	struct py_layout *python = &t->space->python[(t->generation + 1) & 1];

	if (!t->publisher->pythons || !python_files_find(t->publisher->pythons, &t->maps, python))
		memset(python, 0, sizeof(*python));
	walk_space_publish(t->space, &t->maps, 0, &t->generation);
}

void walk_target_refresh(struct walk_target *t)
{
	struct process now = { .pid = t->maps.pid };
	int err = process_read_maps(&now, t->publisher->files, on_file, t->publisher);

	/* a process that is ending shows only part of its mappings */
	if (err || now.nr_maps * 2 < t->maps.nr_maps || process_same_maps(&t->maps, &now)) {
		process_fini(&now);
		return;
	}
	process_fini(&t->maps);
	t->maps = now;
	publish(t);
}

static int map_space(struct walk_target *t)
{
	void *at;
	int err = shared_memory_new("sprof-walk-space", sizeof(struct walk_space),
				    SHARED_MEMORY_READ, &t->space_fd, &at);

	if (err)
		return err;
	t->space = at;
	t->space->magic = WALK_SPACE_MAGIC;
	return 0;
}

struct walk_target *walk_publisher_add(struct walk_publisher *p, pid_t pid)
{
	struct walk_target *t = xcalloc(1, sizeof(*t));

	t->publisher = p;
	t->space_fd = -1;
	t->maps.pid = pid;
	t->next = p->targets;
	p->targets = t;
	if (map_space(t)) {
		remove_target(p, t);
		return NULL;
	}
	walk_target_refresh(t);
	return t;
}

void walk_target_free(struct walk_target *t)
{
	if (t)
		remove_target(t->publisher, t);
}

int walk_publisher_arena_fd(const struct walk_publisher *p)
{
	return walk_arena_fd(p->arena);
}

int walk_target_space_fd(const struct walk_target *t)
{
	return t->space_fd;
}

void walk_publisher_take(struct walk_publisher *p, int timeout_ms)
{
	struct pollfd ready = { .fd = table_builder_event_fd(p->builder), .events = POLLIN };
	uint64_t end = monotonic_ms() + (uint64_t)timeout_ms;
	bool any = false;

	for (;;) {
		struct built_table built;
		uint64_t now = monotonic_ms();

		while (table_builder_take(p->builder, &built)) {
			walk_arena_add_table(p->arena, built.index, built.table);
			unwind_table_free(built.table);
			free(built.claim.numbers); /* rules and rows stay to the end */
			any = true;
		}
		if (!table_builder_nr_pending(p->builder) || now >= end)
			break;
		poll(&ready, 1, (int)(end - now));
	}
	/* incomplete stacks that lacked rows are to be walked again */
	for (struct walk_target *t = p->targets; any && t; t = t->next)
		publish(t);
}

uint32_t walk_target_module(struct walk_target *t, struct sink *sink, uint64_t address,
			    const char **ret_path, uint64_t *ret_address)
{
	const struct mapping *m = process_find(&t->maps, address);

	if (!m) {
		walk_target_refresh(t);
		m = process_find(&t->maps, address);
	}
	if (!m)
		return PROFILE_NONE;
	*ret_path = m->code->path;
	*ret_address = m->code->kind == MODULE_JIT ? address : address - m->start + m->pgoff;
	t->publisher->out.sink = sink;
	return sample_sink_module(&t->publisher->out, m->code);
}

uint32_t walk_target_frame(struct walk_target *t, struct sink *sink, uint64_t address,
			   const char **ret_path)
{
	uint32_t module = walk_target_module(t, sink, address, ret_path, &address);

	return module == PROFILE_NONE ? PROFILE_NONE : sink->frame(sink, module, address);
}

struct known_stack walk_target_stack(struct walk_target *t, struct sink *sink,
				     const struct walked *walked, pid_t tid, uint32_t *ret_thread)
{
	struct sample_sink *out = &t->publisher->out;
	char comm[COMM_SIZE + 1];

	out->sink = sink;
	out->python_codes = t->python_codes;
	*ret_thread = sample_sink_known_thread(out, (uint32_t)t->maps.pid, (uint32_t)tid);
	if (*ret_thread == PROFILE_NONE) {
		if (!proc_name(t->maps.pid, tid, comm, sizeof(comm)))
			proc_name(t->maps.pid, t->maps.pid, comm, sizeof(comm));
		memset(comm + strlen(comm), 0, sizeof(comm) - strlen(comm));
		*ret_thread = sample_sink_thread(out, (uint32_t)t->maps.pid, (uint32_t)tid, comm);
	}
	return sample_sink_stack(out, &t->maps, walked);
}

bool walk_target_add_code(struct walk_target *t, const struct code_record *code, size_t size)
{
	if (!t->python_codes)
		t->python_codes = python_codes_new(t->publisher->code_reader);
	return python_codes_add(t->python_codes, (uint64_t)t->maps.pid, code, size);
}

const struct py_layout *walk_target_python(const struct walk_target *t)
{
	return &t->space->python[t->generation & 1];
}

uint32_t walk_target_python_frame(struct walk_target *t, struct sink *sink, uint64_t word,
				  const void *code, size_t size)
{
	struct code_record *record;

	if (!t->python_codes)
		t->python_codes = python_codes_new(t->publisher->code_reader);
	if (!python_codes_know(t->python_codes, word) && size >= sizeof(*record)) {
		record = xmalloc(size);
		memcpy(record, code, size);
		record->id = word >> CODE_POSITION_BITS & CODE_ID_MASK;
		python_codes_add(t->python_codes, (uint64_t)t->maps.pid, record, size);
		free(record);
	}
	return python_codes_frame(t->python_codes, sink, word);
}

int walk_publisher_open_module(const struct walk_publisher *p, uint32_t module)
{
	return file_table_open_module(p->files, module);
}

int walk_publisher_open_root(const struct walk_publisher *p, uint32_t module, size_t *ret_prefix)
{
	return file_table_open_root(p->files, module, ret_prefix);
}
