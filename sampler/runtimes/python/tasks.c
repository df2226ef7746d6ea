/*
 * A task holds a coroutine, which is suspended in an await of another one that lies on its frame's
 * value stack, and so on: this chain is the stack that the task has when it runs. All of it is data
 * of the target, so every chain and table is bounded.
 */
#include "sampler/runtimes/python/tasks.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/buffer.h"
#include "core/base/clock.h"
#include "core/base/order.h"
#include "core/portable/pycode.h"
#include "sampler/runtimes/python/asyncio.h"
#include "sampler/runtimes/python/code_decode.h"
#include "sampler/runtimes/python/stopped_thread.h"

#define MAX_TASKS 65536u
#define MAX_CHAIN 1024u
#define MAX_AWAITERS 1024u /* of a task */
#define MAX_DEPTH 8	   /* futures between a task and its awaiter */
#define NR_TYPES 16
#define COUNT_NS 2000000u /* more time, to count the tasks that were not read */

enum kind { KIND_OTHER, KIND_GENERATOR, KIND_WRAPPER, KIND_INT };

static const struct {
	const char *name;
	enum kind kind;
} kinds[] = {
	{ "coroutine", KIND_GENERATOR },
	{ "generator", KIND_GENERATOR },
	{ "async_generator", KIND_GENERATOR },
	/* Their first field is the coroutine or generator that they run. */
	{ "coroutine_wrapper", KIND_WRAPPER },
	{ "async_generator_asend", KIND_WRAPPER },
	{ "async_generator_athrow", KIND_WRAPPER },
	{ "anext_awaitable", KIND_WRAPPER },
	{ "int", KIND_INT },
};

struct tasks_walk {
	struct python_tasks *to;
	const struct asyncio_layout *asyncio;
	struct python_reader *reader;
	uint64_t deadline_ns;
	struct {
		uint64_t type;
		enum kind kind;
	} types[NR_TYPES]; /* a cache */
	uint64_t running;
};

static bool read_at(const struct tasks_walk *k, uint64_t address, void *to, size_t size)
{
	return !python_reader_read(k->reader, to, size, address);
}

static uint64_t word_at(const struct tasks_walk *k, uint64_t address)
{
	uint64_t word = 0;

	return read_at(k, address, &word, sizeof(word)) ? word : 0;
}

/* A reference that may have tag bits. */
static uint64_t object_at(const struct tasks_walk *k, uint64_t address)
{
	return word_at(k, address) & ~3ull;
}

static enum kind read_kind(const struct tasks_walk *k, uint64_t type)
{
	char name[24] = "";

	if (!read_at(k, word_at(k, type + k->asyncio->type_name), name, sizeof(name)))
		return KIND_OTHER;
	name[sizeof(name) - 1] = '\0';
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strcmp(name, kinds[i].name))
			return kinds[i].kind;
	return KIND_OTHER;
}

static enum kind kind_of(struct tasks_walk *k, uint64_t object)
{
	uint64_t type = word_at(k, object + k->asyncio->object_type);
	size_t i = type >> 4 & (NR_TYPES - 1);

	if (!type)
		return KIND_OTHER;
	if (k->types[i].type != type) {
		k->types[i].kind = read_kind(k, type);
		k->types[i].type = type;
	}
	return k->types[i].kind;
}

static bool read_state(const struct tasks_walk *k, uint64_t generator, int8_t *ret)
{
	return read_at(k, generator + k->asyncio->generator_state, ret, sizeof(*ret));
}

/* Adds the frame of a suspended coroutine; returns what it awaits, or 0. */
static uint64_t add_frame(struct tasks_walk *k, uint64_t generator, int8_t state)
{
	const struct asyncio_layout *a = k->asyncio;
	struct python_tasks *t = k->to;
	uint64_t frame = generator + a->generator_frame, stack, word;

	if (!python_reader_frame(k->reader, frame, &word))
		return 0;
	t->frames = xgrow(t->frames, &t->frames_capacity, t->nr_frames + 1, sizeof(*t->frames));
	t->frames[t->nr_frames++] = word;
	if (state < a->awaits || state > a->suspended_until)
		return 0;
	stack = word_at(k, frame + a->frame_stack);
	return stack ? object_at(k, stack - 8ull * a->awaited_depth) : 0;
}

static void add_chain(struct tasks_walk *k, uint64_t object)
{
	for (unsigned int i = 0; i < MAX_CHAIN && object && monotonic_ns() < k->deadline_ns; i++) {
		enum kind kind = kind_of(k, object);
		int8_t state;

		if (kind == KIND_WRAPPER) {
			object = word_at(k, object + k->asyncio->object_type + 8);
			continue;
		}
		if (kind != KIND_GENERATOR || !read_state(k, object, &state) ||
		    (state != k->asyncio->created &&
		     (state < k->asyncio->suspended_from || state > k->asyncio->suspended_until)))
			return;
		object = add_frame(k, object, state);
	}
}

static void reverse(uint64_t *words, size_t nr)
{
	for (size_t i = 0; i < nr / 2; i++) {
		uint64_t word = words[i];

		words[i] = words[nr - 1 - i];
		words[nr - 1 - i] = word;
	}
}

static void add_awaiters(struct tasks_walk *k, uint64_t future, size_t first, int depth);

static void add_awaiter(struct tasks_walk *k, uint64_t object, size_t first, int depth)
{
	struct python_tasks *t = k->to;
	uint8_t is_task = 0;

	if (!object || t->nr_awaiters - first >= MAX_AWAITERS ||
	    !read_at(k, object + k->asyncio->is_task, &is_task, 1))
		return;
	if (is_task == 1) {
		t->awaiters = xgrow(t->awaiters, &t->awaiters_capacity, t->nr_awaiters + 1,
				    sizeof(*t->awaiters));
		t->awaiters[t->nr_awaiters++] = object;
	} else if (depth < MAX_DEPTH) {
		add_awaiters(k, object, first, depth + 1);
	}
}

/* Adds the tasks that await a future. Where a future awaits it, those that await that one. */
static void add_awaiters(struct tasks_walk *k, uint64_t future, size_t first, int depth)
{
	const struct asyncio_layout *a = k->asyncio;
	uint64_t by = word_at(k, future + a->awaited_by), table, mask, entry[2];
	uint8_t is_set = 0;

	if (!by || !read_at(k, future + a->awaited_by_is_set, &is_set, 1))
		return;
	if (is_set != 1) {
		add_awaiter(k, by, first, depth);
		return;
	}
	table = word_at(k, by + a->set_table);
	mask = word_at(k, by + a->set_mask);
	for (uint64_t i = 0; i <= mask && i < 4 * MAX_AWAITERS; i++) {
		if (monotonic_ns() > k->deadline_ns ||
		    !read_at(k, table + i * sizeof(entry), entry, sizeof(entry)))
			return;
		if (entry[0] && entry[1] != UINT64_MAX) /* not a removed entry */
			add_awaiter(k, entry[0], first, depth);
	}
}

/* A task without a name of its own has a number, an int. */
static char *read_name(struct tasks_walk *k, uint64_t object)
{
	struct buffer b = { 0 };
	uint64_t tag, nr = 0;
	uint32_t digits[2] = { 0 };
	struct code_string text;
	char *name;

	if (kind_of(k, object) == KIND_INT) {
		tag = word_at(k, object + k->asyncio->int_tag);
		if (read_at(k, object + k->asyncio->int_digits, digits, sizeof(digits)))
			nr = digits[0] | (tag >> 3 > 1 ? (uint64_t)digits[1] << 30 : 0);
		return xasprintf("Task-%llu", (unsigned long long)nr);
	}
	python_reader_string(k->reader, object, &text);
	code_string_add_text(&b, &text);
	name = xstrdup(buffer_cstring(&b));
	buffer_fini(&b);
	return name;
}

static enum python_task_state task_state(const struct tasks_walk *k, uint64_t task,
					 uint64_t coroutine)
{
	int8_t state;

	if (task == k->running)
		return PYTHON_TASK_RUNNING;
	if (!read_state(k, coroutine, &state) || state > k->asyncio->executing)
		return PYTHON_TASK_ENDED;
	if (state == k->asyncio->executing)
		return PYTHON_TASK_RUNNING;
	return state == k->asyncio->created ? PYTHON_TASK_CREATED : PYTHON_TASK_SUSPENDED;
}

static void add_task(struct tasks_walk *k, pid_t tid, uint64_t address)
{
	const struct asyncio_layout *a = k->asyncio;
	struct python_tasks *to = k->to;
	uint64_t coroutine = object_at(k, address + a->task_coroutine);
	struct python_task t = { .address = address, .tid = tid };

	t.first_frame = to->nr_frames;
	t.first_awaiter = to->nr_awaiters;
	t.state = task_state(k, address, coroutine);
	t.name = read_name(k, object_at(k, address + a->task_name));
	add_chain(k, coroutine);
	t.nr_frames = to->nr_frames - t.first_frame;
	reverse(to->frames + t.first_frame, t.nr_frames);
	add_awaiters(k, address, t.first_awaiter, 0);
	t.nr_awaiters = to->nr_awaiters - t.first_awaiter;
	to->tasks = xgrow(to->tasks, &to->capacity, to->nr + 1, sizeof(*to->tasks));
	to->tasks[to->nr++] = t;
}

static void add_tasks(struct tasks_walk *k, uint64_t thread_state, pid_t tid)
{
	uint64_t head = thread_state + k->asyncio->tasks, node[2], at = head; /* next, previous */
	uint64_t count_until_ns = k->deadline_ns + COUNT_NS;

	if (!thread_state || !read_at(k, head, node, sizeof(node)))
		return;
	k->running = word_at(k, thread_state + k->asyncio->running_task);
	for (unsigned int i = 0; i < MAX_TASKS && node[0] && node[0] != head; i++) {
		uint64_t previous = at, now_ns = monotonic_ns();

		at = node[0];
		if ((at & 7) || !read_at(k, at, node, sizeof(node)) || node[1] != previous ||
		    now_ns > count_until_ns)
			return; /* at the first three: the thread is changing the list */
		if (now_ns < k->deadline_ns)
			add_task(k, tid, at - k->asyncio->task_node);
		else
			k->to->nr_unread++;
	}
}

void python_tasks_init(struct python_tasks *tasks)
{
	size_t size = PYTHON_BLOCKS * sizeof(*tasks->blocks);

	*tasks = (struct python_tasks){ .blocks = xmalloc(size) };
	memset(tasks->blocks, 0xff, size); /* page faults happen now, not during a stop */
}

void python_tasks_add(struct python_tasks *tasks, const struct asyncio_layout *layout,
		      struct python_reader *reader, uint64_t thread_state, pid_t tid,
		      uint64_t deadline_ns)
{
	struct tasks_walk k = {
		.to = tasks,
		.asyncio = layout,
		.reader = reader,
		.deadline_ns = deadline_ns - COUNT_NS,
	};

	for (unsigned int i = 0; i < PYTHON_BLOCKS; i++)
		tasks->blocks[i].size = 0;
	reader->blocks = tasks->blocks;
	add_tasks(&k, thread_state, tid);
	reader->blocks = NULL;
}

void python_tasks_drop(struct python_tasks *tasks, pid_t tid)
{
	while (tasks->nr && tasks->tasks[tasks->nr - 1].tid == tid) {
		const struct python_task *t = &tasks->tasks[--tasks->nr];

		tasks->nr_frames = t->first_frame;
		tasks->nr_awaiters = t->first_awaiter;
		free(t->name);
	}
}

struct place {
	uint64_t address;
	size_t index;
};

static int compare_places(const void *a, const void *b)
{
	const struct place *p = a, *q = b;

	return ORDER(p->address, q->address);
}

void python_tasks_link(struct python_tasks *tasks)
{
	struct place *places = xcalloc(tasks->nr + 1, sizeof(*places));

	for (size_t i = 0; i < tasks->nr; i++)
		places[i] = (struct place){ tasks->tasks[i].address, i };
	if (tasks->nr)
		qsort(places, tasks->nr, sizeof(*places), compare_places);
	for (size_t i = 0; i < tasks->nr; i++) {
		struct python_task *t = &tasks->tasks[i];
		size_t nr = 0;

		for (size_t j = 0; j < t->nr_awaiters; j++) {
			const struct place wanted = { tasks->awaiters[t->first_awaiter + j], 0 };
			const struct place *found = bsearch(&wanted, places, tasks->nr,
							    sizeof(*places), compare_places);

			if (found)
				tasks->awaiters[t->first_awaiter + nr++] = found->index;
		}
		t->nr_awaiters = nr;
	}
	free(places);
}

void python_tasks_fini(struct python_tasks *tasks)
{
	for (size_t i = 0; i < tasks->nr; i++)
		free(tasks->tasks[i].name);
	free(tasks->tasks);
	free(tasks->frames);
	free(tasks->awaiters);
	free(tasks->blocks);
	*tasks = (struct python_tasks){ 0 };
}
