/*
 * Another profiler that a program loads while sprof records it, and that uses CUPTI as Kineto does:
 * through the import table of a library of its own. gpu_work calls it.
 *
 *	COMPETITOR_DLSYM=1	it asks dlsym() for cuptiSubscribe
 *	COMPETITOR_SILENT=1	it does not subscribe at all
 *	COMPETITOR_CLOCK=1	it registers its clock before its buffers, and leaves it
 *	COMPETITOR_HOLD=S	it stays for that many seconds
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef void (*callback_fn)(void *, uint32_t, uint32_t, const void *);
typedef int (*subscribe_fn)(void **, callback_fn, void *);

int cuptiSubscribe(void **subscriber, callback_fn callback, void *user);
int cuptiUnsubscribe(void *subscriber);
int cuptiActivityRegisterCallbacks(void (*requested)(uint8_t **, size_t *, size_t *),
				   void (*completed)(void *, uint32_t, uint8_t *, size_t, size_t));
int cuptiActivityEnable(uint32_t kind);
int cuptiActivityDisable(uint32_t kind);
int cuptiActivityFlushAll(uint32_t flags);
int cuptiActivityRegisterTimestampCallback(uint64_t (*clock)(void));
int cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, uint8_t **record);
int cuptiActivityGetAttribute(uint32_t attribute, size_t *size, void *value);

#define BUFFER_BYTES 65536

static _Atomic long nr_kernels, nr_strange; /* the last buffers may come after the end */
static uint64_t begun;

static uint64_t realtime_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* As Kineto's counter: it has nothing to do with the time of day. */
static uint64_t own_clock(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec + 77000000000000;
}

static uint64_t now_ns(void)
{
	return getenv("COMPETITOR_CLOCK") ? own_clock() : realtime_ns();
}

static void request(uint8_t **buffer, size_t *size, size_t *max)
{
	*buffer = malloc(BUFFER_BYTES);
	memset(*buffer, 0xa5, BUFFER_BYTES); /* dirty: CUPTI must zero it */
	*size = BUFFER_BYTES;
	*max = 0;
}

static void complete(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
	uint8_t *record = NULL;
	uint64_t start;

	(void)context;
	(void)stream;
	(void)size;
	while (!cuptiActivityGetNextRecord(buffer, valid, &record)) {
		memcpy(&start, record + 16, sizeof(start));
		nr_kernels++;
		nr_strange += start < begun || start > now_ns() + 10000000000;
	}
	free(buffer);
}

static void ignore(void *user, uint32_t domain, uint32_t id, const void *data)
{
	(void)user;
	(void)domain;
	(void)id;
	(void)data;
}

/* Records the kernels of launches(n). */
__attribute__((visibility("default"))) void competitor_record(void (*launches)(long), long n)
{
	subscribe_fn found = (subscribe_fn)dlsym(RTLD_DEFAULT, "cuptiSubscribe");
	void *subscriber = NULL;
	uint8_t zeroed = 7;
	size_t size = 1;
	int err = 0;

	begun = now_ns();
	if (!getenv("COMPETITOR_SILENT"))
		err = getenv("COMPETITOR_DLSYM") ? found(&subscriber, ignore, NULL)
						 : cuptiSubscribe(&subscriber, ignore, NULL);
	if (getenv("COMPETITOR_CLOCK"))
		err |= cuptiActivityRegisterTimestampCallback(own_clock);
	if (!err) {
		err = cuptiActivityRegisterCallbacks(request, complete);
		cuptiActivityGetAttribute(5, &size, &zeroed);
		cuptiActivityEnable(10);
	}
	launches(n);
	if (getenv("COMPETITOR_HOLD"))
		sleep((unsigned int)atoi(getenv("COMPETITOR_HOLD")));
	if (!err) {
		cuptiActivityDisable(10);
		cuptiActivityFlushAll(1);
	}
	if (subscriber)
		cuptiUnsubscribe(subscriber);
	printf("competitor error %d kernels %ld strange %ld zeroed %d\n", err, (long)nr_kernels,
	       (long)nr_strange, zeroed);
	fflush(stdout);
}
