/* The asyncio tasks of a made-up interpreter: valid ones are read, and loops end. */
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/unit.h"

#include "core/base/clock.h"
#include "core/portable/pylayout.h"
#include "sampler/runtimes/python/asyncio.h"
#include "sampler/runtimes/python/code_objects.h"
#include "sampler/runtimes/python/stopped_thread.h"
#include "sampler/runtimes/python/tasks.h"

#define MAX_OBJECTS 64

struct type {
	uint64_t pad, name;
};

struct string {
	uint64_t count, type, length, hash, state;
	char text[24];
};

struct mapped_file {
	uint64_t count, type, line, name, file, table;
};

/* A coroutine that contains its frame; the value on top of its stack is what it awaits. */
struct coroutine {
	uint64_t count, type, wrapped, state;
	struct {
		uint64_t code, previous, instruction, owner, stack;
	} frame;
	uint64_t awaited, top;
};

struct node {
	struct node *next, *previous;
};

struct task {
	uint64_t count, type, name, coroutine, awaited_by, is_task, is_set;
	struct node node;
};

struct set {
	uint64_t mask, table;
};

static struct world {
	struct type coroutine_type, wrapper_type, code_type, string_type, integer_type, other_type;
	struct string name;
	struct mapped_file code;
	struct {
		uint64_t count, type, tag, digits;
	} number;
	struct {
		uint64_t running;
		struct node tasks;
	} thread;
	struct coroutine coroutines[MAX_OBJECTS];
	struct task tasks[MAX_OBJECTS];
	struct set set;
	uint64_t entries[8][2];
} world;

static const struct asyncio_layout asyncio = {
	.task_name = offsetof(struct task, name),
	.task_coroutine = offsetof(struct task, coroutine),
	.task_node = offsetof(struct task, node),
	.awaited_by = offsetof(struct task, awaited_by),
	.is_task = offsetof(struct task, is_task),
	.awaited_by_is_set = offsetof(struct task, is_set),
	.running_task = 0,
	.tasks = 8,
	.object_type = 8,
	.type_name = offsetof(struct type, name),
	.set_mask = offsetof(struct set, mask),
	.set_table = offsetof(struct set, table),
	.generator_frame = offsetof(struct coroutine, frame),
	.generator_state = offsetof(struct coroutine, state),
	.frame_stack = 32,
	.int_tag = 16,
	.int_digits = 24,
	.created = 0,
	.suspended_from = 1,
	.suspended_until = 3,
	.awaits = 2,
	.executing = 4,
	.awaited_depth = 1,
};

static const struct py_layout layout = {
	.chain = PY_CHAIN_SHIM,
	.position = PY_POSITION_POINTER,
	.frame_position = 16,
	.frame_owner = 24,
	.frame_size = 40,
	.code_type = (uint64_t)&world.code_type,
	.code_name = offsetof(struct mapped_file, name),
	.code_filename = offsetof(struct mapped_file, file),
	.code_linetable = offsetof(struct mapped_file, table),
	.code_firstline = offsetof(struct mapped_file, line),
	.code_size = sizeof(struct mapped_file),
	.object_type = 8,
	.string_header = offsetof(struct string, length),
	.string_ascii = offsetof(struct string, text),
	.string_kind_shift = 2,
};

static uint64_t at(const void *object)
{
	return (uint64_t)object;
}

static void make_coroutine(unsigned int i, unsigned int state, const void *awaited)
{
	struct coroutine *c = &world.coroutines[i];

	*c = (struct coroutine){ .type = at(&world.coroutine_type), .state = state };
	c->frame.code = at(&world.code);
	c->frame.stack = at(&c->top);
	c->awaited = at(awaited);
}

static void make_task(unsigned int i, const void *name, const void *coroutine)
{
	struct task *t = &world.tasks[i];
	struct node *head = &world.thread.tasks;

	*t = (struct task){ .name = at(name), .coroutine = at(coroutine), .is_task = 1 };
	t->node = (struct node){ head, head->previous };
	head->previous->next = &t->node;
	head->previous = &t->node;
}

static void make_world(void)
{
	world = (struct world){ 0 };
	world.coroutine_type.name = at("coroutine\0............................");
	world.wrapper_type.name = at("coroutine_wrapper\0....................");
	world.integer_type.name = at("int\0..................................");
	world.string_type.name = at("str\0..................................");
	world.other_type.name = at("other\0................................");
	world.name = (struct string){ .type = at(&world.string_type), .length = 4, .state = 0x44 };
	memcpy(world.name.text, "name", 4);
	world.code = (struct mapped_file){ .type = at(&world.code_type), .line = 7 };
	world.code.name = world.code.file = at(&world.name);
	world.number.type = at(&world.integer_type);
	world.number.tag = 1 << 3;
	world.number.digits = 12;
	world.thread.tasks = (struct node){ &world.thread.tasks, &world.thread.tasks };
}

static void read_world(struct python_tasks *tasks)
{
	struct python_codes *codes = python_codes_new(NULL);
	struct python_reader reader = { .pid = getpid(), .layout = &layout, .codes = codes };

	python_tasks_init(tasks);
	python_tasks_add(tasks, &asyncio, &reader, at(&world.thread), 5,
			 monotonic_ns() + 10000000000ull);
	python_codes_free(codes);
}

static void tasks_have_names_states_frames_and_awaiters(void **state)
{
	struct python_tasks tasks;

	(void)state;
	make_world();
	make_coroutine(0, 2, &world.coroutines[1]);
	make_coroutine(1, 2, &world.coroutines[2]);
	world.coroutines[2].type = at(&world.wrapper_type);
	world.coroutines[2].wrapped = at(&world.coroutines[3]);
	make_coroutine(3, 1, &world.coroutines[0]); /* has yielded, so it awaits nothing */
	make_coroutine(4, 0, NULL);
	make_coroutine(5, 4, NULL);
	make_task(0, &world.name, &world.coroutines[0]);
	make_task(1, &world.number, &world.coroutines[4]);
	make_task(2, &world.name, &world.coroutines[5]);
	world.tasks[0].awaited_by = at(&world.set);
	world.tasks[0].is_set = 1;
	world.set = (struct set){ 7, at(world.entries) };
	world.entries[2][0] = at(&world.tasks[2]);
	world.entries[4][0] = at(&world.tasks[1]);
	world.entries[4][1] = UINT64_MAX;	   /* removed */
	world.entries[6][0] = at(&world.tasks[9]); /* a future that task 1 awaits */
	world.tasks[9].awaited_by = at(&world.tasks[1]);
	world.tasks[1].awaited_by = at(&world.tasks[20]); /* which is not in the list */
	world.tasks[20].is_task = 1;
	read_world(&tasks);
	python_tasks_link(&tasks);
	assert_int_equal(tasks.nr, 3);
	assert_int_equal(tasks.nr_unread, 0);
	assert_string_equal(tasks.tasks[0].name, "name");
	assert_int_equal(tasks.tasks[0].state, PYTHON_TASK_SUSPENDED);
	assert_int_equal(tasks.tasks[0].nr_frames, 3);
	assert_int_equal(tasks.tasks[0].tid, 5);
	assert_int_equal(tasks.tasks[0].nr_awaiters, 2);
	assert_int_equal(tasks.awaiters[tasks.tasks[0].first_awaiter], 2);
	assert_int_equal(tasks.awaiters[tasks.tasks[0].first_awaiter + 1], 1);
	assert_string_equal(tasks.tasks[1].name, "Task-12");
	assert_int_equal(tasks.tasks[1].state, PYTHON_TASK_CREATED);
	assert_int_equal(tasks.tasks[1].nr_frames, 1);
	assert_int_equal(tasks.tasks[1].nr_awaiters, 0);
	assert_int_equal(tasks.tasks[2].state, PYTHON_TASK_RUNNING);
	assert_int_equal(tasks.tasks[2].nr_frames, 0);
	python_tasks_drop(&tasks, 5);
	assert_int_equal(tasks.nr + tasks.nr_frames + tasks.nr_awaiters, 0);
	python_tasks_fini(&tasks);
}

static void what_awaits_itself_comes_to_an_end(void **state)
{
	struct python_tasks tasks;

	(void)state;
	make_world();
	make_coroutine(0, 2, &world.coroutines[0]);
	world.coroutines[1].type = at(&world.wrapper_type);
	world.coroutines[1].wrapped = at(&world.coroutines[1]);
	make_task(0, &world.name, &world.coroutines[0]);
	make_task(1, &world.name, &world.coroutines[1]);
	world.tasks[0].awaited_by = at(&world.tasks[2]);
	world.tasks[2].awaited_by = at(&world.tasks[2]);
	world.tasks[1].awaited_by = at(&world.set);
	world.tasks[1].is_set = 1;
	world.set = (struct set){ UINT64_MAX, at(world.entries) };
	read_world(&tasks);
	assert_int_equal(tasks.nr, 2);
	assert_true(tasks.tasks[0].nr_frames > 100 && tasks.tasks[0].nr_frames < 5000);
	assert_int_equal(tasks.tasks[0].nr_awaiters, 0);
	python_tasks_fini(&tasks);
}

static void what_is_not_there_is_no_task(void **state)
{
	struct python_tasks tasks;

	(void)state;
	make_world();
	make_coroutine(0, 2, (const void *)8);
	make_task(0, (const void *)16, &world.coroutines[0]);
	make_task(1, NULL, NULL);
	make_task(2, &world.name, &world.coroutines[0]);
	world.tasks[0].awaited_by = 24;
	world.tasks[2].node.previous = &world.tasks[0].node; /* being changed */
	read_world(&tasks);
	assert_int_equal(tasks.nr, 2);
	assert_int_equal(tasks.tasks[0].nr_frames, 1);
	assert_string_equal(tasks.tasks[0].name, "[unknown]");
	assert_int_equal(tasks.tasks[1].state, PYTHON_TASK_ENDED);
	python_tasks_fini(&tasks);
	world.thread.tasks.next = (struct node *)32;
	read_world(&tasks);
	assert_int_equal(tasks.nr, 0);
	python_tasks_fini(&tasks);
	world.thread.tasks.next = NULL;
	read_world(&tasks);
	assert_int_equal(tasks.nr, 0);
	python_tasks_fini(&tasks);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tasks_have_names_states_frames_and_awaiters),
		cmocka_unit_test(what_awaits_itself_comes_to_an_end),
		cmocka_unit_test(what_is_not_there_is_no_task),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
