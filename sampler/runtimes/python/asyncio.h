/*
 * Where asyncio keeps its tasks, from CPython 3.14 on: as its module says of itself in the section
 * .AsyncioDebug, and the interpreter in struct _Py_DebugOffsets.
 */
#ifndef SPROF_ASYNCIO_H
#define SPROF_ASYNCIO_H

#include <stdbool.h>
#include <stdint.h>

struct process;
struct py_layout;

struct asyncio_layout {
	/* Offsets in a task; a future has the three of the second line too. */
	uint16_t task_name, task_coroutine, task_node;
	uint16_t awaited_by, is_task, awaited_by_is_set;
	uint16_t running_task, tasks; /* in a PyThreadState: pointer, head of a list of nodes */
	uint16_t object_type, type_name;
	uint16_t set_mask, set_table;
	uint16_t generator_frame, generator_state;
	uint16_t frame_stack; /* in a frame: pointer past its topmost value */
	uint16_t int_tag, int_digits;
	/* Values of the state; what is awaited lies so many values below the top. */
	int8_t created, suspended_from, suspended_until, awaits, executing;
	uint8_t awaited_depth;
};

/* Is asyncio in a process whose interpreter is given, and where are its tasks? Nothing is believed. */
bool python_asyncio_find(const struct process *process, const struct py_layout *layout,
			 struct asyncio_layout *ret);

#endif
