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
 *	FAKE_ATTRIBUTE_ERROR=a	   attribute a cannot be set
 *	FAKE_DEVICE_BUFFER=n	   bytes of a device buffer at first, of which a record takes 32
 *	FAKE_SWITCH_MS=n	   ending the records of kernels takes n ms
 *	FAKE_BUFFER_LATE=1	   full buffers are completed by a thread of CUPTI's own
 *	FAKE_WRONG_GRAPH_IDS=1	   what 13.0 does after the first session (below), always
 *	FAKE_RIVAL=1		   a tool that never leaves has registered its clock; 2: twice
 *	FAKE_LOG=file		   a line per call of an exported function: pid, function
 *
 * FAKE_REALISTIC=1 is the realistic model (fake_gpu.h). NVIDIA's headers say:
 *
 *	a record comes when the work is done and its buffer is full or flushed; a buffer with one
 *	incomplete record is withheld; a forced flush delivers it, and what has not ended has no
 *	end, for good
 *	GPU times are interpolated: some us wrong, so that work may start before its call
 *	CUDA 13 has one buffer per launching thread
 *
 * NVIDIA's release notes and the reports of tools say:
 *
 *	each kernel of a graph uses up its place in a device buffer; when the pool is used up,
 *	nothing has times any more
 *	a second registration of a clock leaves some records on the first one
 *	13.0: no records of cuCtxSynchronize()
 *	13.0 and 13.1: wrong correlation ids of graphs after the first session; here those of no
 *	call, of the call before, and of the graph that was launched first
 *	before 13.0 update 1: cuptiActivityDisable(CONCURRENT_KERNEL) deadlocks beside a launch, and
 *	cuptiActivityFlushAll crashes beside another one
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

#include "tests/gpu/fake_buffers.h"
#include "tests/gpu/fake_clock.h"
#include "tests/gpu/fake_cupti.h"
#include "tests/gpu/fake_gpu.h"
#include "tests/gpu/fake_pc.h"

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

typedef void (*callback_fn)(void *, uint32_t, uint32_t, const void *);
static callback_fn callback;
static void *callback_user;
static bool enabled_kinds[NR_KINDS], enabled_cbids[3][NR_CBIDS];
/* for the subscriber and what is enabled */
static pthread_mutex_t state_lock = PTHREAD_MUTEX_INITIALIZER;

static void *(*current_context)(void); /* of libcuda */

void fake_cupti_note(const char *function)
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

static void on_api(uint32_t domain, uint32_t site, uint32_t cbid, uint32_t correlation,
		   uint64_t *data, int *result)
{
	const struct callback_data d = {
		.site = site,
		.function = domain == 1 ? fake_driver_name(cbid) : fake_runtime_name(cbid),
		.result = result,
		.context = current_context ? current_context() : NULL,
		.data = data,
		.correlation = correlation,
	};
	callback_fn f = __atomic_load_n(&callback, __ATOMIC_ACQUIRE);

	if (f && __atomic_load_n(&enabled_cbids[domain - 1][cbid], __ATOMIC_RELAXED))
		f(__atomic_load_n(&callback_user, __ATOMIC_RELAXED), domain, cbid, &d);
}

static void on_op(const struct fake_op *op)
{
	bool whole = op->graph && enabled_kinds[51]; /* graph level: no records of the nodes */

	if (op->kind == 10 && current_context)
		fake_pc_kernel(op, current_context());
	if (op->kind < NR_KINDS && enabled_kinds[op->kind] && (!whole || op->kind == 51))
		fake_buffers_add(op);
}

struct graph_data {
	void *graph, *original_graph;
	const uint64_t *node, *original_node;
	uint32_t node_type, pad;
	void *dependency, *executable;
};

struct resource_data {
	void *context, *handle;
	const struct graph_data *graph;
};

static void on_node(uint32_t cbid, const uint64_t *node, const uint64_t *original)
{
	const struct graph_data g = { .node = node, .original_node = original };
	const struct resource_data d = { .graph = &g };
	callback_fn f = __atomic_load_n(&callback, __ATOMIC_ACQUIRE);

	if (f && __atomic_load_n(&enabled_cbids[2][cbid], __ATOMIC_RELAXED))
		f(__atomic_load_n(&callback_user, __ATOMIC_RELAXED), 3, cbid, &d);
}

API int cuptiGetGraphNodeId(const uint64_t *node, uint64_t *id)
{
	*id = node ? *node : 0;
	return node ? 0 : 1;
}

struct module_data {
	uint32_t id;
	size_t size;
	const void *cubin;
};

static void on_resource(uint32_t cbid, void *context, const void *cubin, size_t size)
{
	const struct module_data m = { .id = 1, .size = size, .cubin = cubin };
	const struct {
		void *context, *handle;
		const struct module_data *module;
	} d = { .context = context, .module = &m };
	callback_fn f = __atomic_load_n(&callback, __ATOMIC_ACQUIRE);

	if (f && __atomic_load_n(&enabled_cbids[2][cbid], __ATOMIC_RELAXED))
		f(__atomic_load_n(&callback_user, __ATOMIC_RELAXED), 3, cbid, &d);
}

static const struct fake_tool tool = { on_api, on_op, on_node, on_resource };

static void *driver_symbol(const char *name)
{
	void *cuda = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);

	return cuda ? dlsym(cuda, name) : NULL;
}

static bool hook(const struct fake_tool *t)
{
	void (*set)(const struct fake_tool *) =
		(void (*)(const struct fake_tool *))driver_symbol("fake_cuda_set_tool");

	current_context = (void *(*)(void))driver_symbol("fake_cuda_context");
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
	long ms = fake_number("FAKE_SUBSCRIBE_MS");

	if (!fake_number("FAKE_SUBSCRIBE_ERROR"))
		return false;
	if (!first)
		first = fake_monotonic_ns();
	return !ms || fake_monotonic_ns() - first < (uint64_t)ms * 1000000u;
}

API int cuptiSubscribe(void **subscriber, callback_fn f, void *user)
{
	int err = 0;

	fake_cupti_note("cuptiSubscribe");
	if (is_held())
		return (int)fake_number("FAKE_SUBSCRIBE_ERROR");
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

	fake_cupti_note("cuptiSubscribe_v2");
	if (!is_held())
		return cuptiSubscribe(subscriber, f, user);
	if (holder && p->old_name)
		snprintf(p->old_name, p->old_name_size, "CUPTI for %s", holder);
	return (int)fake_number("FAKE_SUBSCRIBE_ERROR");
}
#endif

API int cuptiUnsubscribe(void *subscriber)
{
	fake_cupti_note("cuptiUnsubscribe");
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
	fake_cupti_note("cuptiFinalize");
	__atomic_store_n(&callback, NULL, __ATOMIC_RELEASE);
	pthread_mutex_lock(&state_lock);
	memset(enabled_kinds, 0, sizeof(enabled_kinds));
	pthread_mutex_unlock(&state_lock);
	fake_buffers_register(NULL, NULL);
	for (int i = 0; i < 3 * NR_CBIDS; i++)
		__atomic_store_n(&enabled_cbids[i / NR_CBIDS][i % NR_CBIDS], false,
				 __ATOMIC_RELAXED);
	hook(NULL);
	return 0;
}

API int cuptiEnableCallback(uint32_t enable, void *subscriber, uint32_t domain, uint32_t cbid)
{
	if (subscriber != &callback || cbid >= NR_CBIDS)
		return 1;
	if (domain >= 1 && domain <= 3)
		__atomic_store_n(&enabled_cbids[domain - 1][cbid], enable, __ATOMIC_RELAXED);
	return 0;
}

API int cuptiGetCallbackName(uint32_t domain, uint32_t cbid, const char **name)
{
	if (!cbid || cbid >= NR_CBIDS || domain > 2)
		return 1;
	*name = domain == 1 ? fake_driver_name(cbid) : fake_runtime_name(cbid);
	return 0;
}

API int cuptiActivityEnable(uint32_t kind)
{
	const char *error = getenv("FAKE_KIND_ERROR");
	const char *colon = error ? strchr(error, ':') : NULL;

	fake_cupti_note("cuptiActivityEnable");
	if (colon && (uint32_t)atol(error) == kind)
		return atoi(colon + 1);
	if (kind >= NR_KINDS || !fake_record_size(kind))
		return 21;
	pthread_mutex_lock(&state_lock);
	if (!memchr(enabled_kinds, true, sizeof(enabled_kinds)))
		fake_buffers_begin_session();
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
	uint32_t (*in_flight)(void) = (uint32_t(*)(void))driver_symbol("fake_cuda_in_flight");

	fake_cupti_note("cuptiActivityDisable");
	while (fake_is_realistic() && kind == 10 && enabled_kinds[10] && in_flight && in_flight()) {
		fake_cupti_note(
			"deadlock: cuptiActivityDisable(CONCURRENT_KERNEL) beside a launch");
		for (;;)
			pause();
	}
	if (kind == 10)
		usleep((useconds_t)fake_number("FAKE_SWITCH_MS") * 1000);
	pthread_mutex_lock(&state_lock);
	if (kind < NR_KINDS)
		enabled_kinds[kind] = false;
	pthread_mutex_unlock(&state_lock);
	return 0;
}

API int cuptiActivityRegisterCallbacks(fake_requested_fn r, fake_completed_fn c)
{
	fake_cupti_note("cuptiActivityRegisterCallbacks");
	fake_buffers_register(r, c);
	return 0;
}

API int cuptiActivityRegisterTimestampCallback(uint64_t (*f)(void))
{
	fake_cupti_note("cuptiActivityRegisterTimestampCallback");
	if (!f)
		return 1;
	fake_clock_register(f);
	return 0;
}

API int cuptiActivityGetAttribute(uint32_t attribute, size_t *size, void *value)
{
	return !size || !value || !fake_attribute_get(attribute, *size, value);
}

API int cuptiActivitySetAttribute(uint32_t attribute, size_t *size, void *value)
{
	char line[64];
	size_t set = 0;

	if (attribute && attribute == (uint32_t)fake_number("FAKE_ATTRIBUTE_ERROR"))
		return 1;
	if (!size || !value || !fake_attribute_set(attribute, *size, value))
		return 1;
	memcpy(&set, value, *size);
	snprintf(line, sizeof(line), "attribute %u = %zu", attribute, set);
	fake_cupti_note(line);
	return 0;
}

#ifndef FAKE_WITHOUT_FLUSH
API int cuptiActivityFlushAll(uint32_t flag)
{
	static uint32_t flushing;

	fake_cupti_note("cuptiActivityFlushAll");
	if (__atomic_fetch_add(&flushing, 1, __ATOMIC_ACQ_REL) && fake_is_realistic()) {
		fake_cupti_note("crash: cuptiActivityFlushAll beside another one");
		abort();
	}
	fake_buffers_flush(flag & 1);
	__atomic_fetch_sub(&flushing, 1, __ATOMIC_ACQ_REL);
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
	*nr = fake_buffers_take_dropped();
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
	*ns = fake_clock_now();
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
		{ 27, "CUPTI_ERROR_NOT_SUPPORTED" },
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
