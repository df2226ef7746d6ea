/*
 * A libcupti.so of CUDA 11, 12 or 13 (FAKE_VERSION) over the fake libcuda.so.1, with the record
 * sizes and offsets of that version. The environment makes it fail as real ones do:
 *
 *	FAKE_SUBSCRIBE_ERROR=n	   cuptiSubscribe fails with n
 *	FAKE_SUBSCRIBE_MS=n	   only in the first n ms
 *	FAKE_HOLDER=name	   the current subscriber, for cuptiSubscribe_v2
 *	FAKE_DROP=n		   every nth record is dropped, and counted
 *	FAKE_ZERO_AFTER=n	   records after the nth have no times
 *	FAKE_KIND_ERROR=kind:n	   cuptiActivityEnable(kind) fails with n
 *	FAKE_TIMESTAMP_ERROR=n	   the clock callback is refused
 *	FAKE_BUFFER_LATE=1	   full buffers are completed by a thread of CUPTI's own
 *	FAKE_LOG=file		   a line per call of an exported function: pid, function
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/gpu/fake_cupti.h"
#include "tests/gpu/fake_gpu.h"

#define API __attribute__((visibility("default")))
#define NR_KINDS 64
#define NR_CBIDS 800

struct callback_data {
	uint32_t site, pad;
	const char *function;
	const void *params;
	void *result;
	const char *symbol;
	void *context;
	uint32_t context_uid, pad2;
	uint64_t *data;
	uint32_t correlation;
};

typedef void (*callback_fn)(void *, uint32_t, uint32_t, const struct callback_data *);
typedef void (*requested_fn)(uint8_t **, size_t *, size_t *);
typedef void (*completed_fn)(void *, uint32_t, uint8_t *, size_t, size_t);

static callback_fn callback;
static void *callback_user;
static bool enabled_kinds[NR_KINDS], enabled_cbids[NR_CBIDS];
static requested_fn requested;
static completed_fn completed;
static uint64_t (*timestamp)(void);
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* for the subscriber and what is enabled */
static pthread_mutex_t state_lock = PTHREAD_MUTEX_INITIALIZER;
static uint8_t *buffer;
static size_t buffer_size, buffer_used;
static uint64_t nr_ops;
static size_t nr_dropped;
static size_t attributes[] = { 3200000, 8388608, 250, 65536, 250, 0, 3, 3, 0 };
#define NR_ATTRIBUTES (sizeof(attributes) / sizeof(attributes[0]))

static long number(const char *variable)
{
	const char *text = getenv(variable);

	return text ? atol(text) : 0;
}

static uint64_t realtime_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void note(const char *function)
{
	const char *path = getenv("FAKE_LOG");
	char line[128];
	int fd, n;

	if (!path)
		return;
	fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	n = snprintf(line, sizeof(line), "%d %s\n", (int)getpid(), function);
	if (fd < 0 || write(fd, line, (size_t)n) != n)
		abort();
	close(fd);
}

static void on_api(uint32_t site, uint32_t cbid, const char *name, uint32_t correlation,
		   uint64_t *data, int *result)
{
	const struct callback_data d = { .site = site,
					 .function = name,
					 .result = result,
					 .data = data,
					 .correlation = correlation };

	callback_fn f = __atomic_load_n(&callback, __ATOMIC_ACQUIRE);

	if (f && __atomic_load_n(&enabled_cbids[cbid], __ATOMIC_RELAXED))
		f(__atomic_load_n(&callback_user, __ATOMIC_RELAXED), 1, cbid, &d);
}

struct done {
	uint8_t *buffer;
	size_t size, used;
	completed_fn to;
};

static void *complete_later(void *arg)
{
	struct done d = *(struct done *)arg;

	free(arg);
	usleep(3000);
	d.to(NULL, 0, d.buffer, d.size, d.used);
	return NULL;
}

/*
 * Hands the buffer over. Called with the lock, which is released meanwhile: completed() may block.
 */
static void hand_over(void)
{
	struct done d = { buffer, buffer_size, buffer_used, completed };
	pthread_t thread;

	buffer = NULL;
	buffer_used = buffer_size = 0;
	pthread_mutex_unlock(&lock);
	if (d.buffer && number("FAKE_BUFFER_LATE")) {
		struct done *copy = malloc(sizeof(*copy));

		*copy = d;
		if (!pthread_create(&thread, NULL, complete_later, copy))
			pthread_detach(thread);
	} else if (d.buffer) {
		d.to(NULL, 0, d.buffer, d.size, d.used);
	}
	pthread_mutex_lock(&lock);
}

static void on_op(const struct fake_op *op)
{
	struct fake_op seen = *op;
	uint64_t n;

	if (op->kind >= NR_KINDS || !enabled_kinds[op->kind])
		return;
	pthread_mutex_lock(&lock);
	if (!requested) { /* another thread has finalized meanwhile */
		pthread_mutex_unlock(&lock);
		return;
	}
	n = ++nr_ops;
	if (number("FAKE_DROP") && !(n % (uint64_t)number("FAKE_DROP"))) {
		nr_dropped++;
		pthread_mutex_unlock(&lock);
		return;
	}
	if (number("FAKE_ZERO_AFTER") && n > (uint64_t)number("FAKE_ZERO_AFTER"))
		seen.start = seen.end = 0;
	if (buffer && buffer_used + fake_record_size(op->kind) > buffer_size)
		hand_over();
	if (!requested) { /* the lock was released in between */
		pthread_mutex_unlock(&lock);
		return;
	}
	if (!buffer) {
		size_t max = 0;

		requested(&buffer, &buffer_size, &max);
		buffer_used = 0;
		if (!attributes[5]) /* zeroed buffers were not promised */
			memset(buffer, 0, buffer_size);
	}
	buffer_used += fake_record_write(buffer + buffer_used, &seen);
	pthread_mutex_unlock(&lock);
}

static uint64_t tool_now(void)
{
	/* NULL after finalizing */
	uint64_t (*f)(void) = __atomic_load_n(&timestamp, __ATOMIC_ACQUIRE);

	return f ? f() : realtime_ns();
}

static const struct fake_tool tool = { on_api, on_op, tool_now };

static bool hook(const struct fake_tool *t)
{
	void *cuda = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
	void (*set)(const struct fake_tool *) =
		cuda ? (void (*)(const struct fake_tool *))dlsym(cuda, "fake_cuda_set_tool") : NULL;

	if (set)
		set(t);
	return set;
}

/* The driver serves one copy of libcupti at a time. */
static bool another_has_the_driver(void)
{
	void *cuda = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
	const struct fake_tool *(*get)(void) =
		cuda ? (const struct fake_tool *(*)(void))dlsym(cuda, "fake_cuda_tool") : NULL;

	return get && get() && get() != &tool;
}

static bool is_held(void)
{
	static uint64_t first;
	long ms = number("FAKE_SUBSCRIBE_MS");

	if (!number("FAKE_SUBSCRIBE_ERROR"))
		return false;
	if (!first)
		first = realtime_ns();
	return !ms || realtime_ns() - first < (uint64_t)ms * 1000000u;
}

API int cuptiSubscribe(void **subscriber, callback_fn f, void *user)
{
	int err = 0;

	note("cuptiSubscribe");
	if (is_held())
		return (int)number("FAKE_SUBSCRIBE_ERROR");
	pthread_mutex_lock(&state_lock);
	if (callback || another_has_the_driver()) {
		err = 39;
	} else if (!hook(&tool)) {
		err = 999;
	} else {
		__atomic_store_n(&callback_user, user, __ATOMIC_RELAXED);
		__atomic_store_n(&callback, f, __ATOMIC_RELEASE);
		*subscriber = &callback;
	}
	pthread_mutex_unlock(&state_lock);
	return err;
}

#if FAKE_VERSION >= 13
struct subscriber_params {
	size_t size;
	const char *name;
	char *old_name;
	size_t old_name_size;
};

API int cuptiSubscribe_v2(void **subscriber, callback_fn f, void *user, struct subscriber_params *p)
{
	const char *holder = getenv("FAKE_HOLDER");

	note("cuptiSubscribe_v2");
	if (!is_held())
		return cuptiSubscribe(subscriber, f, user);
	if (holder && p->old_name)
		snprintf(p->old_name, p->old_name_size, "CUPTI for %s", holder);
	return (int)number("FAKE_SUBSCRIBE_ERROR");
}
#endif

API int cuptiUnsubscribe(void *subscriber)
{
	note("cuptiUnsubscribe");
	pthread_mutex_lock(&state_lock);
	if (subscriber != &callback || !callback) {
		pthread_mutex_unlock(&state_lock);
		return 1;
	}
	__atomic_store_n(&callback, NULL, __ATOMIC_RELEASE);
	if (!memchr(enabled_kinds, true, sizeof(enabled_kinds)))
		hook(NULL);
	pthread_mutex_unlock(&state_lock);
	return 0;
}

API int cuptiFinalize(void)
{
	note("cuptiFinalize");
	__atomic_store_n(&callback, NULL, __ATOMIC_RELEASE);
	pthread_mutex_lock(&state_lock);
	memset(enabled_kinds, 0, sizeof(enabled_kinds));
	pthread_mutex_unlock(&state_lock);
	pthread_mutex_lock(&lock);
	requested = NULL;
	for (int i = 0; i < NR_CBIDS; i++)
		__atomic_store_n(&enabled_cbids[i], false, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&lock);
	hook(NULL);
	return 0;
}

API int cuptiEnableCallback(uint32_t enable, void *subscriber, uint32_t domain, uint32_t cbid)
{
	if (subscriber != &callback || cbid >= NR_CBIDS)
		return 1;
	if (domain == 1)
		__atomic_store_n(&enabled_cbids[cbid], enable, __ATOMIC_RELAXED);
	return 0;
}

API int cuptiGetCallbackName(uint32_t domain, uint32_t cbid, const char **name)
{
	if (!cbid || cbid >= NR_CBIDS || domain > 2)
		return 1;
	*name = domain == 1 ? fake_driver_name(cbid) : "cudaOther";
	return 0;
}

API int cuptiActivityEnable(uint32_t kind)
{
	const char *error = getenv("FAKE_KIND_ERROR");
	const char *colon = error ? strchr(error, ':') : NULL;

	note("cuptiActivityEnable");
	if (colon && (uint32_t)atol(error) == kind)
		return atoi(colon + 1);
	if (kind >= NR_KINDS || !fake_record_size(kind))
		return 21;
	pthread_mutex_lock(&state_lock);
	enabled_kinds[kind] = true;
	hook(&tool); /* records need no subscriber */
	pthread_mutex_unlock(&state_lock);
	return 0;
}

API int cuptiActivityEnableAndDump(uint32_t kind)
{
	const struct fake_op device = { .kind = 8 };
	int err = cuptiActivityEnable(kind);

	if (!err && kind == 8)
		on_op(&device);
	return err;
}

API int cuptiActivityDisable(uint32_t kind)
{
	note("cuptiActivityDisable");
	pthread_mutex_lock(&state_lock);
	if (kind < NR_KINDS)
		enabled_kinds[kind] = false;
	pthread_mutex_unlock(&state_lock);
	return 0;
}

API int cuptiActivityRegisterCallbacks(requested_fn r, completed_fn c)
{
	note("cuptiActivityRegisterCallbacks");
	pthread_mutex_lock(&lock);
	requested = r;
	completed = c;
	pthread_mutex_unlock(&lock);
	return 0;
}

API int cuptiActivityRegisterTimestampCallback(uint64_t (*f)(void))
{
	note("cuptiActivityRegisterTimestampCallback");
	if (!f)
		return 1;
	if (number("FAKE_TIMESTAMP_ERROR"))
		return (int)number("FAKE_TIMESTAMP_ERROR");
	__atomic_store_n(&timestamp, f, __ATOMIC_RELEASE);
	return 0;
}

/* True if the attribute exists and the size is what CUPTI expects. */
static bool is_attribute(uint32_t attribute, const size_t *size, const void *value)
{
	return attribute < NR_ATTRIBUTES && value && size &&
	       *size == (attribute == 5 ? 1 : sizeof(size_t));
}

API int cuptiActivityGetAttribute(uint32_t attribute, size_t *size, void *value)
{
	if (!is_attribute(attribute, size, value))
		return 1;
	pthread_mutex_lock(&lock);
	memcpy(value, &attributes[attribute], *size);
	pthread_mutex_unlock(&lock);
	return 0;
}

API int cuptiActivitySetAttribute(uint32_t attribute, size_t *size, void *value)
{
	char line[64];
	size_t set = 0;

	if (!is_attribute(attribute, size, value))
		return 1;
	memcpy(&set, value, *size);
	pthread_mutex_lock(&lock);
	attributes[attribute] = set;
	pthread_mutex_unlock(&lock);
	snprintf(line, sizeof(line), "attribute %u = %zu", attribute, set);
	note(line);
	return 0;
}

#ifndef FAKE_WITHOUT_FLUSH
API int cuptiActivityFlushAll(uint32_t flag)
{
	(void)flag;
	note("cuptiActivityFlushAll");
	pthread_mutex_lock(&lock);
	if (buffer)
		hand_over();
	pthread_mutex_unlock(&lock);
	return 0;
}
#endif

API int cuptiActivityGetNextRecord(uint8_t *bytes, size_t valid, uint8_t **record)
{
	uint8_t *next = bytes;
	uint32_t kind;
	size_t size;

	if (*record) {
		memcpy(&kind, *record, 4);
		next = *record + fake_record_size(kind);
	}
	if (next + 4 > bytes + valid)
		return 12;
	memcpy(&kind, next, 4);
	size = fake_record_size(kind);
	if (!size)
		return 21;
	if (next + size > bytes + valid)
		return 12;
	*record = next;
	return 0;
}

API int cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *nr)
{
	(void)context;
	(void)stream;
	*nr = __atomic_exchange_n(&nr_dropped, 0, __ATOMIC_ACQ_REL);
	return 0;
}

API int cuptiGetVersion(uint32_t *version)
{
#ifdef FAKE_API_VERSION
	*version = FAKE_API_VERSION;
#else
	*version = FAKE_VERSION == 11 ? 14 : FAKE_VERSION == 12 ? 26 : 130000;
#endif
	return 0;
}

API int cuptiGetTimestamp(uint64_t *ns)
{
	*ns = tool_now();
	return 0;
}

API int cuptiGetResultString(int result, const char **text)
{
	static const struct {
		int result;
		const char *text;
	} texts[] = {
		{ 15, "CUPTI_ERROR_NOT_INITIALIZED" },
		{ 21, "CUPTI_ERROR_INVALID_KIND" },
		{ 35, "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES" },
		{ 39, "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED" },
		{ 999, "CUPTI_ERROR_UNKNOWN" },
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (texts[i].result == result) {
			*text = texts[i].text;
			return 0;
		}
	return 1;
}
