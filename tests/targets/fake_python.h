/*
 * Objects of CPython 3.11 as a profiler reads them, for programs that only claim to be Python.
 * Offsets are those of sampler/runtimes/python/layout_table.c. A program that includes this, once,
 * exports what an interpreter is recognised by and is linked with -rdynamic.
 */
#ifndef FAKE_PYTHON_H
#define FAKE_PYTHON_H

#include <pthread.h>
#include <stdint.h>

#define RUNTIME_KEY 592
#define THREAD_ID 152
#define THREAD_CFRAME 56

struct cframe {
	uint64_t unused, frame, previous;
};

struct frame {
	uint64_t unused[4], code, unused1, previous, instruction;
	uint8_t unused2[4], is_entry, owner, unused3[2];
};

struct string {
	uint64_t unused[2], length, hash, state, unused1;
	char text[64];
};

struct bytes {
	uint64_t unused[2], size, unused1;
	uint8_t data[64];
};

struct code_object {
	uint64_t unused, type, unused1[7];
	uint32_t first_line, unused2;
	uint64_t unused3[4], file, unused4, name, linetable, unused5[8];
};

void *PyGILState_GetThisThreadState(void);

const uint64_t Py_Version = 0x030b02f0;
uint64_t _PyRuntime[512] = { 1 }, PyCode_Type[64] = { 1 };

static uint64_t thread_state[64];
static pthread_key_t key;

void *PyGILState_GetThisThreadState(void)
{
	return pthread_getspecific(key);
}

static uint64_t at(const void *pointer)
{
	return (uint64_t)(uintptr_t)pointer;
}

/* Makes the calling thread one that has a PyThreadState, once pthread_setspecific() sets it. */
static void make_runtime(void)
{
	pthread_key_create(&key, NULL);
	_PyRuntime[RUNTIME_KEY / 8] = 1 | (uint64_t)key << 32;
	thread_state[THREAD_ID / 8] = (uint64_t)pthread_self();
}

#endif
