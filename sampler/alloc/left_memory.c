/*
 * The files that recorders share with targets have names. The memory in them tells how far its
 * recorder came and where its code is; a process can write anything there, but what it has us unmap
 * is its own.
 */
#include "sampler/alloc/left_memory.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/path.h"
#include "core/untrusted/remote_read.h"
#include "sampler/agent/alloc/alloc_region.h"
#include "sampler/inject/inject_process.h"
#include "sampler/target/proc_maps.h"

#define ALLOC_FILE "/memfd:sprof-alloc"
#define ANY_FILE "/memfd:sprof-"

struct range {
	uint64_t start, end;
	bool is_shared, is_ours, is_code;
};

struct ranges {
	struct range *all;
	size_t nr, capacity;
};

static void read_ranges(pid_t pid, struct ranges *r)
{
	FILE *f = remote_open(pid, "maps");
	char *line = NULL;
	size_t size = 0;

	while (f && getline(&line, &size, f) > 0) {
		struct file_mapping m = { .pid = pid };
		bool is_executable = false;

		if (!proc_maps_parse(line, &m, &is_executable))
			continue;
		r->all = xgrow(r->all, &r->capacity, r->nr + 1, sizeof(*r->all));
		r->all[r->nr++] = (struct range){
			.start = m.start,
			.end = m.end,
			.is_shared = begins_with(m.path, ALLOC_FILE) &&
				     m.end - m.start == sizeof(struct alloc_shared),
			.is_ours = begins_with(m.path, ANY_FILE),
			.is_code = is_executable && !m.ino && !m.path[0] &&
				   m.end - m.start >= ALLOC_CODE_SIZE,
		};
	}
	free(line);
	if (f)
		fclose(f);
}

static uint64_t read_word(const struct inject_process *p, uint64_t address)
{
	uint64_t word = 0;

	return inject_process_read(p, address, &word, sizeof(word)) ? 0 : word;
}

#define READ_SHARED(p, at, field) read_word(p, (at) + offsetof(struct alloc_shared, field))

/* Its recorder runs, or its hooks are on: then these are found by their code (plan_hooks.c). */
static bool is_in_use(const struct inject_process *p, uint64_t shared)
{
	return READ_SHARED(p, shared, stage) == ALLOC_STAGE_ON ||
	       READ_SHARED(p, shared, heartbeat_ns) + LEFT_MEMORY_NS > monotonic_ns();
}

/* Has another recorder, whose memory is in use, its code at that address? */
static bool is_code_of_other(const struct inject_process *p, const struct ranges *r, uint64_t code,
			     uint64_t shared)
{
	for (size_t i = 0; i < r->nr; i++)
		if (r->all[i].is_shared && r->all[i].start != shared &&
		    is_in_use(p, r->all[i].start) && READ_SHARED(p, r->all[i].start, code) == code)
			return true;
	return false;
}

static uint64_t find_code(const struct inject_process *p, const struct ranges *r, uint64_t shared)
{
	uint64_t code = READ_SHARED(p, shared, code);

	for (size_t i = 0; code && i < r->nr; i++)
		if (r->all[i].is_code && r->all[i].start == code)
			return is_code_of_other(p, r, code, shared) ? 0 : code;
	return 0;
}

size_t left_memory_find(const struct inject_process *p, struct left_memory *ret, size_t max)
{
	struct ranges r = { 0 };
	size_t nr = 0;

	read_ranges(p->pid, &r);
	for (size_t i = 0; i < r.nr && nr < max; i++) {
		struct left_memory *left = &ret[nr];

		if (!r.all[i].is_shared || is_in_use(p, r.all[i].start))
			continue;
		left->start = r.all[i].start;
		left->end = r.all[i].end;
		left->code = find_code(p, &r, left->start);
		/* What lies behind it was mapped with it. */
		for (size_t k = i + 1; k < r.nr && r.all[k].start == left->end &&
				       r.all[k].is_ours && !r.all[k].is_shared;
		     k++)
			left->end = r.all[k].end;
		nr++;
	}
	free(r.all);
	return nr;
}
