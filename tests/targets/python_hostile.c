/*
 * Claims to be CPython 3.11 and shows a profiler everything that can be wrong with a frame chain,
 * while it uses the CPU: memory that is missing, unreadable, cut short or unmapped meanwhile,
 * endless chains, impossible sizes. A valid frame comes in between. Prints the number of its
 * rounds. Argument: milliseconds.
 */
// BUILD: -rdynamic -pthread
#include "tests/targets/fake_python.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/base/clock.h"

static struct cframe bottom, top;
static struct frame frames[2];
static struct code_object codes[2];
static struct bytes linetable = { .size = 2, .data = { 0x80 | 10 << 3, 0 } };
static struct string name = { .length = 5, .hash = 77, .state = 0x64, .text = "sound" };
static struct string file = { .length = 8, .hash = 78, .state = 0x64, .text = "sound.py" };
static char *pages; /* one readable, one unreadable, one that is unmapped at times */
static char *short_file;
static volatile int stop;

static void make_sound(void)
{
	memset(codes, 0, sizeof(codes));
	memset(frames, 0, sizeof(frames));
	codes[0] = (struct code_object){ .type = at(PyCode_Type),
					 .first_line = 42,
					 .file = at(&file),
					 .name = at(&name),
					 .linetable = at(&linetable) };
	codes[1] = codes[0];
	frames[0] = (struct frame){ .code = at(&codes[0]),
				    .instruction = at(&codes[0]) + 184,
				    .is_entry = 1 };
	bottom = (struct cframe){ 0 };
	top = (struct cframe){ .frame = at(&frames[0]), .previous = at(&bottom) };
	thread_state[THREAD_CFRAME / 8] = at(&top);
	linetable.size = 2;
	pthread_setspecific(key, thread_state);
}

static void spoil(unsigned int how)
{
	char *last = pages + 4096 - 64, *none = pages + 4096, *comes = pages + 2 * 4096;

	codes[1].first_line = how + 1;
	switch (how) {
	case 1: pthread_setspecific(key, none); break;
	case 2: thread_state[THREAD_CFRAME / 8] = at(none); break;
	case 3: thread_state[THREAD_CFRAME / 8] = at(last + 48); break;
	case 4: top.frame = at(last); break;
	case 5: top.frame = 0xffffffff81000000ull; break;
	case 6: top.frame = 0x8000000000000000ull; break;
	case 7: top.frame = at(comes); break;
	case 8:
		frames[0].is_entry = 0;
		frames[0].previous = at(&frames[0]);
		break;
	case 9: frames[0].code = at(short_file); break;
	case 10: frames[0].code = at(last); break;
	case 11: frames[0].code = at(comes); break;
	case 12:
		frames[0].code = at(&codes[1]);
		codes[1].name = at(none);
		codes[1].file = 8;
		break;
	case 13:
		frames[0].code = at(&codes[1]);
		codes[1].linetable = at(none);
		break;
	case 14:
		frames[0].code = at(&codes[1]);
		linetable.size = ~0ull;
		break;
	case 15: top.previous = at(&top); break;
	case 16: top.previous = at(none); break;
	case 17: thread_state[THREAD_CFRAME / 8] = ~7ull; break;
	default: break;
	}
}

static void *come_and_go(void *argument)
{
	(void)argument;
	while (!stop) {
		char *page = pages + 2 * 4096;

		mmap(page, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
		     -1, 0);
		*(volatile char *)page = 0;
		mmap(page, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	uint64_t end = monotonic_ns() + (argc > 1 ? strtoull(argv[1], NULL, 10) : 1000) * 1000000;
	unsigned int rounds = 0;
	pthread_t thread;
	FILE *f = tmpfile();

	if (!f || ftruncate(fileno(f), 100))
		return 1;
	pages = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	short_file = (char *)mmap(NULL, 8192, PROT_READ, MAP_PRIVATE, fileno(f), 0) + 4096;
	mprotect(pages + 4096, 4096, PROT_NONE);
	make_runtime();
	pthread_create(&thread, NULL, come_and_go, NULL);
	while (monotonic_ns() < end || rounds < 2) {
		for (unsigned int how = 0; how < 36; how++) {
			make_sound();
			spoil(how % 2 ? how / 2 : 0);
			for (uint64_t until = monotonic_ns() + 5000000; monotonic_ns() < until;)
				;
		}
		make_sound();
		rounds++;
	}
	stop = 1;
	pthread_join(thread, NULL);
	printf("%u rounds\n", rounds);
	return 0;
}
