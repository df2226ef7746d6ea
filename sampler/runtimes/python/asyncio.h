/*
 * Where asyncio keeps its tasks, from CPython 3.14 on: what its module says in the section
 * .AsyncioDebug and the interpreter in struct _Py_DebugOffsets. Both are data of the target: every
 * offset is checked.
 */
#ifndef SPROF_ASYNCIO_H
#define SPROF_ASYNCIO_H

#include <stdbool.h>
#include <stdint.h>

struct process;
struct py_layout;

struct asyncio_layout {
	/* Offsets in a task; those of the second line hold for a future too. */
	uint16_t task_name, task_coroutine, task_node;
	uint16_t awaited_by, is_task, awaited_by_is_set;
	uint16_t running_task, tasks; /* in a PyThreadState: pointer, head of a list of nodes */
	uint16_t object_type, type_name;
	uint16_t set_mask, set_table;
	uint16_t generator_frame, generator_state;
	uint16_t frame_stack; /* in a frame: pointer past its topmost value */
	uint16_t int_tag, int_digits;
	/* Values of generator_state. What is awaited lies awaited_depth values below the top. */
	int8_t created, suspended_from, suspended_until, awaits, executing;
	uint8_t awaited_depth;
};

/*
 * Finds asyncio in a process that runs the interpreter of `layout`. false: not there or not usable.
 */
bool python_asyncio_find(const struct process *process, const struct py_layout *layout,
			 struct asyncio_layout *ret);

#endif
