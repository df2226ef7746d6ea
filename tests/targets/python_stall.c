// BUILD: -rdynamic -pthread -O1
/*
 * Claims to be CPython 3.11 and makes a profiler read as much as it can in one sample:
 *
 *	python_stall MS cycle [FRAMES]	one CFrame that follows itself, with a run of FRAMES frames
 *	python_stall MS tables [FRAMES]	each frame runs code that is new in every sample and has a
 *					line table of 32 KiB
 *	python_stall MS endless		a run that has no end
 *
 * All time is in main;stall. The true stack has no more than these two functions.
 */
#include "tests/targets/fake_python.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"

#define MAX_FRAMES 8000
#define TABLE_SIZE 32768

static struct frame frames[MAX_FRAMES];
static struct code_object codes[MAX_FRAMES];
static struct string name = { .length = 5, .hash = 77, .state = 0x64, .text = "stall" };
static struct string file = { .length = 8, .hash = 78, .state = 0x64, .text = "stall.py" };
static struct {
	struct bytes bytes;
	uint8_t more[TABLE_SIZE];
} linetable = { .bytes = { .size = TABLE_SIZE } };

static void make_frames(unsigned int nr, int one_code)
{
	for (unsigned int i = 0; i < nr; i++) {
		codes[i] = (struct code_object){ .type = at(PyCode_Type),
						 .first_line = 1,
						 .file = at(&file),
						 .name = at(&name),
						 .linetable = at(&linetable) };
		frames[i] = (struct frame){ .code = at(&codes[one_code ? 0 : i]),
					    .previous = at(&frames[i + 1]),
					    .instruction = at(&codes[i]) + 184 };
	}
	frames[nr - 1].previous = at(frames);
	frames[nr - 1].is_entry = 1;
}

/* The CFrame lies in this function's frame, as it does in CPython's eval loop. */
__attribute__((noinline)) void stall(uint64_t until_ns, int cycle, unsigned int nr_new)
{
	struct cframe last = { 0 }, top = { .frame = at(frames), .previous = at(&last) };

	if (cycle)
		top.previous = at(&top);
	thread_state[THREAD_CFRAME / 8] = at(&top);
	pthread_setspecific(key, thread_state);
	while (monotonic_ns() < until_ns)
		for (unsigned int i = 0; i < nr_new; i++)
			((volatile struct code_object *)codes)[i].first_line++;
	__asm__ volatile("" ::"r"(&top), "r"(&last) : "memory");
}

int main(int argc, char **argv)
{
	uint64_t ms = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000;
	const char *how = argc > 2 ? argv[2] : "cycle";
	unsigned int nr = argc > 3 ? (unsigned int)atoi(argv[3]) : MAX_FRAMES;
	int tables = !strcmp(how, "tables"), endless = !strcmp(how, "endless");

	if (nr < 1 || nr > MAX_FRAMES || (!tables && !endless && strcmp(how, "cycle")))
		return 2;
	make_runtime();
	make_frames(nr, !tables);
	if (endless)
		frames[nr - 1].is_entry = 0;
	memset(linetable.bytes.data, 0x80 | 10 << 3, TABLE_SIZE);
	stall(monotonic_ns() + ms * 1000000, !endless, tables ? nr : 0);
	puts("100 main;stall");
	return 0;
}
