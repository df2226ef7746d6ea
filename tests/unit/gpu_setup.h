/* A collector over a hand-made region, and records for it. */
#ifndef SPROF_TESTS_GPU_SETUP_H
#define SPROF_TESTS_GPU_SETUP_H

#include "tests/unit/gpu_region.h"

#include <stdio.h>

#include "core/profile/column.h"
#include "core/profile/facts.h"
#include "core/profile/source.h"
#include "gpu/collect.h"

struct setup {
	struct test_region region;
	struct profile *p;
	struct sink *sink;
	struct gpu_collect *c;
	int nr_lookups;
	uint64_t *activity_room, *run_room; /* NULL: no activities, and a thousand runs */
};

/* Address 0x1000 is a call in the program; CUPTI starts at 0x9000. */
static inline uint32_t program_frame(void *context, struct sink *sink, uint64_t address)
{
	struct profile_module program = { .kind = MODULE_ELF };

	if (address >= 0x9000)
		return GPU_NO_FRAME;
	program.path = sink->string(sink, "/usr/bin/train", 14);
	++*(int *)context;
	return sink->frame(sink, sink->module(sink, &program), address);
}

static inline char *readable(const char *name)
{
	return strcmp(name, "_Z4gemmPf") ? NULL : xstrdup("gemm(float*)");
}

static inline void start(struct setup *s)
{
	static uint64_t thousand;
	const struct gpu_collect_opts opts = {
		.pid = 4242424, /* no such process, so it has no name */
		.context = &s->nr_lookups,
		.frame = program_frame,
		.demangle = readable,
		.activity_room = s->activity_room,
		.run_room = s->run_room ? s->run_room : &thousand,
	};

	thousand = 1000;
	test_region_open(&s->region);
	s->p = profile_new();
	s->sink = profile_sink_new(s->p);
	s->c = gpu_collect_new(s->region.shared, &opts, s->sink);
}

static inline void finish(struct setup *s)
{
	gpu_collect_free(s->c);
	profile_sink_free(s->sink);
	profile_free(s->p);
	test_region_fini(&s->region);
}

static inline uint64_t sum_of(const struct profile *p, enum profile_column column)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < p->nr_samples; i++)
		sum += p->samples[i].column == column ? p->samples[i].weight : 0;
	return sum;
}

/* Returns the names of a sample's stack as "a;b;c". */
static inline const char *name_stack(const struct profile *p, const struct profile_sample *s)
{
	const struct profile_stack *stack = &p->stacks[s->stack];
	static char text[1024];
	size_t at = 0;

	text[0] = '\0';
	for (uint32_t i = 0; i < stack->nr_frames; i++) {
		char name[128];

		at += (size_t)snprintf(
			text + at, sizeof(text) - at, "%s%s", i ? ";" : "",
			profile_frame_fallback_name(p, p->stack_frames[stack->first_frame + i],
						    name, sizeof(name)));
		assert_true(at < sizeof(text));
	}
	return text;
}

static inline const struct profile_sample *sample_in(const struct profile *p,
						     enum profile_column column)
{
	for (size_t i = 0; i < p->nr_samples; i++)
		if (p->samples[i].column == column)
			return &p->samples[i];
	return NULL;
}

/* A stack of one call at this address. */
static inline uint32_t one_frame(struct test_region *t, uint64_t address)
{
	address++;
	return test_stack(t, &address, 1, END_ROOT);
}

static inline void emit_call(struct test_region *t, enum gpu_api_class api_class,
			     uint32_t correlation, uint64_t start_ns, uint64_t end_ns,
			     uint32_t stack)
{
	const struct gpu_rec_api call = {
		.head = { GPU_RECORD_API, sizeof(call), 77 },
		.start_ns = start_ns,
		.end_ns = end_ns,
		.correlation = correlation,
		.stack = stack,
		.api_class = (uint8_t)api_class,
	};

	assert_true(test_emit(t, 0, &call));
}

static inline void emit_kernel(struct test_region *t, const struct gpu_work *work, uint32_t name)
{
	struct gpu_rec_kernel kernel = { .work = *work, .name = name };

	kernel.work.head = (struct gpu_record){ GPU_RECORD_KERNEL, sizeof(kernel), 77 };
	assert_true(test_emit(t, TEST_LANES - 1, &kernel));
}

static inline void emit_copy(struct test_region *t, const struct gpu_work *work)
{
	struct gpu_rec_memcpy copy = { .work = *work, .copy_kind = 1 };

	copy.work.head = (struct gpu_record){ GPU_RECORD_MEMCPY, sizeof(copy), 77 };
	assert_true(test_emit(t, TEST_LANES - 1, &copy));
}

static inline void emit_range(struct test_region *t, uint32_t range, uint64_t start_ns,
			      uint64_t end_ns)
{
	const struct gpu_rec_range record = {
		.head = { GPU_RECORD_RANGE, sizeof(record), 77 },
		.start_ns = start_ns,
		.end_ns = end_ns,
		.range = range,
		.kind = GPU_RANGE_PUSH_POP,
	};

	assert_true(test_emit(t, 0, &record));
}

static inline void emit_memory(struct test_region *t, enum gpu_memory_op op, uint32_t range,
			       uint64_t time_ns, uint64_t bytes)
{
	const struct gpu_rec_memory record = {
		.work = { .head = { GPU_RECORD_MEMORY, sizeof(record), 77 },
			  .start_ns = time_ns,
			  .end_ns = time_ns,
			  .range = range },
		.op = op,
		.bytes = bytes,
		.memory_kind = 3, /* device memory */
	};

	assert_true(test_emit(t, TEST_LANES - 1, &record));
}

#endif
