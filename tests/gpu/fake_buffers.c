/*
 * A buffer keeps operations; they become records when it is delivered. In the ideal model all
 * threads share a buffer, the thread that finds it full delivers it, and delivering waits until
 * the device has done what is in it. In the realistic model an operation is complete when the
 * device has passed its end, a buffer is withheld while one of its records is not, and a thread of
 * CUPTI's own delivers full ones.
 */
#include "tests/gpu/fake_buffers.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/gpu/fake_clock.h"
#include "tests/gpu/fake_cupti.h"
#include "tests/gpu/fake_gpu.h"

#define DEVICE_RECORD_BYTES 32 /* of a device buffer: 3.2 MB are 100 000 records */

enum attribute {
	DEVICE_BUFFER_SIZE = 0,
	DEVICE_BUFFER_POOL_LIMIT = 2,
	ZEROED_OUT = 5,
	PER_THREAD = 9,
};

struct buffer {
	struct buffer *next;
	uint8_t *bytes;
	size_t size, used;
	struct fake_op *ops;
	size_t nr, capacity;
	uint64_t end;	 /* of the operation that ends last */
	pthread_t owner; /* with PER_THREAD */
	bool full;
	fake_completed_fn to;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* for all below */
static fake_requested_fn requested;
static fake_completed_fn completed;
static struct buffer *buffers;
static uint64_t nr_ops, nr_in_graphs;
static size_t nr_dropped;
static uint32_t nr_sessions;
static size_t attributes[FAKE_NR_ATTRIBUTES] = {
	3200000, 8388608, 250, 65536, 250, 0, 3, 3, 0, FAKE_VERSION >= 13,
};

static bool is_flag(uint32_t attribute)
{
	return attribute == ZEROED_OUT || attribute == 8 || attribute == PER_THREAD;
}

static bool is_attribute(uint32_t attribute, size_t size)
{
	return attribute < (FAKE_VERSION >= 13 ? FAKE_NR_ATTRIBUTES : PER_THREAD) &&
	       size == (is_flag(attribute) ? 1 : sizeof(size_t));
}

/* FAKE_DEVICE_BUFFER is for tests that use the pool up. */
static __attribute__((constructor)) void set_first(void)
{
	if (fake_number("FAKE_DEVICE_BUFFER"))
		attributes[DEVICE_BUFFER_SIZE] = (size_t)fake_number("FAKE_DEVICE_BUFFER");
}

bool fake_attribute_get(uint32_t attribute, size_t size, void *value)
{
	if (!is_attribute(attribute, size))
		return false;
	pthread_mutex_lock(&lock);
	memcpy(value, &attributes[attribute], size);
	pthread_mutex_unlock(&lock);
	return true;
}

bool fake_attribute_set(uint32_t attribute, size_t size, const void *value)
{
	if (!is_attribute(attribute, size))
		return false;
	pthread_mutex_lock(&lock);
	attributes[attribute] = 0;
	memcpy(&attributes[attribute], value, size);
	pthread_mutex_unlock(&lock);
	return true;
}

static bool is_device_work(const struct fake_op *op)
{
	return op->kind == 1 || op->kind == 2 || op->kind == 10 || op->kind == 22 || op->kind == 51;
}

static bool is_complete(const struct buffer *b, uint64_t now)
{
	return !fake_is_realistic() || b->end <= now;
}

/* Puts the operation onto CUPTI's clock. What has not ended has no end, or not even a start. */
static void set_times(struct fake_op *op, uint64_t now)
{
	bool started = op->start <= now, ended = op->end <= now;
	int64_t error = 0;

	if (!op->start)
		return;
	if (fake_is_realistic() && is_device_work(op))
		error = fake_clock_error_ns(op->start);
	op->start += (uint64_t)error;
	op->end += (uint64_t)error;
	fake_clock_convert(&op->start, &op->end, op->correlation);
	op->start = started ? op->start : 0;
	op->end = ended ? op->end : 0;
}

struct done {
	uint8_t *bytes;
	size_t size, used;
	fake_completed_fn to;
};

static void *complete_later(void *arg)
{
	struct done d = *(struct done *)arg;

	free(arg);
	usleep(3000);
	d.to(NULL, 0, d.bytes, d.size, d.used);
	return NULL;
}

/*
 * Takes the buffer out of the list and hands it over. Called with the lock, which is released
 * meanwhile: the tool's function may block.
 */
static void deliver(struct buffer **at)
{
	struct buffer *b = *at;
	struct done *done = malloc(sizeof(*done));
	uint64_t now;
	pthread_t thread;

	*at = b->next;
	pthread_mutex_unlock(&lock);
	for (now = fake_monotonic_ns(); !fake_is_realistic() && now < b->end;
	     now = fake_monotonic_ns())
		usleep((useconds_t)((b->end - now) / 1000 + 1));
	*done = (struct done){ b->bytes, b->size, 0, b->to };
	for (size_t i = 0; i < b->nr; i++) {
		set_times(&b->ops[i], now);
		done->used += fake_record_write(b->bytes + done->used, &b->ops[i]);
	}
	free(b->ops);
	free(b);
	if (fake_number("FAKE_BUFFER_LATE")) {
		if (!pthread_create(&thread, NULL, complete_later, done))
			pthread_detach(thread);
	} else {
		done->to(NULL, 0, done->bytes, done->size, done->used);
		free(done);
	}
	pthread_mutex_lock(&lock);
}

/* Delivers all buffers that may go; after each, the list is another one. */
static void deliver_all(bool forced, bool only_full)
{
	struct buffer **at = &buffers;
	uint64_t now = fake_monotonic_ns();

	while (*at)
		if ((!only_full || (*at)->full) && (forced || is_complete(*at, now))) {
			deliver(at);
			at = &buffers;
		} else {
			at = &(*at)->next;
		}
}

static void *deliver_full_ones(void *unused)
{
	(void)unused;
	for (;;) {
		usleep(10000);
		pthread_mutex_lock(&lock);
		deliver_all(false, true);
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

static void start_worker(void)
{
	pthread_t thread;

	if (!pthread_create(&thread, NULL, deliver_full_ones, NULL))
		pthread_detach(thread);
}

void fake_buffers_register(fake_requested_fn r, fake_completed_fn c)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	if (fake_is_realistic())
		pthread_once(&once, start_worker);
	pthread_mutex_lock(&lock);
	requested = r;
	completed = c;
	while (!r && buffers) {
		struct buffer *b = buffers;

		buffers = b->next;
		free(b->ops);
		free(b);
	}
	pthread_mutex_unlock(&lock);
}

void fake_buffers_begin_session(void)
{
	pthread_mutex_lock(&lock);
	nr_sessions++;
	pthread_mutex_unlock(&lock);
}

static struct buffer *new_buffer(void)
{
	struct buffer *b = calloc(1, sizeof(*b));
	size_t max = 0;

	requested(&b->bytes, &b->size, &max);
	if (!b->bytes) {
		free(b);
		return NULL;
	}
	if (!attributes[ZEROED_OUT])
		memset(b->bytes, 0, b->size);
	b->owner = pthread_self();
	b->to = completed;
	b->next = buffers;
	buffers = b;
	return b;
}

/* The buffer for a record of that size of this thread, or NULL. The lock may be released. */
static struct buffer *buffer_for(size_t size)
{
	for (struct buffer **at = &buffers; *at; at = &(*at)->next) {
		struct buffer *b = *at;

		if (b->full || (attributes[PER_THREAD] && !pthread_equal(b->owner, pthread_self())))
			continue;
		if (b->used + size <= b->size)
			return b;
		b->full = true;
		if (!fake_is_realistic()) {
			deliver(at);
			return requested ? new_buffer()
					 : NULL; /* another thread may have finalized */
		}
	}
	return new_buffer();
}

/*
 * 13.0 and 13.1: ids of graph launches and their kernels are wrong after the first session. The
 * release notes do not say which ids those are. Here: of no call, of the call before, or of the
 * first launch of a graph.
 */
static void break_graph_id(struct fake_op *op)
{
	static const uint32_t no_call = 0x40000000;
	static uint32_t first;
	uint32_t id = op->correlation;

	if (!op->graph)
		return;
	first = first ? first : id;
	if ((FAKE_VERSION == 13 && nr_sessions > 1) || fake_number("FAKE_WRONG_GRAPH_IDS"))
		op->correlation = id % 3 == 0 ? id | no_call : id % 3 == 1 ? id - 1 : first;
}

/*
 * What the release notes and bug reports say of these versions. False: there is no record at all.
 */
static bool apply_bugs(struct fake_op *op)
{
	if (!fake_is_realistic())
		return true;
	/* before 13.0 update 1: no record for cuCtxSynchronize() */
	if (FAKE_VERSION == 13 && op->kind == 38 && op->type == 4)
		return false;
	break_graph_id(op);
	/* each record of a graph's node uses up its place in a device buffer for good */
	if (op->kind == 10 && op->graph)
		nr_in_graphs++;
	if (is_device_work(op) && op->kind != 51 &&
	    nr_in_graphs > attributes[DEVICE_BUFFER_POOL_LIMIT] *
				   (attributes[DEVICE_BUFFER_SIZE] / DEVICE_RECORD_BYTES))
		op->start = op->end = 0;
	return true;
}

static bool is_dropped(void)
{
	uint64_t every = (uint64_t)fake_number("FAKE_DROP");

	nr_ops++;
	if (!every || nr_ops % every)
		return false;
	nr_dropped++;
	return true;
}

static void add(const struct fake_op *op)
{
	struct fake_op seen = *op;
	uint64_t zero_after = (uint64_t)fake_number("FAKE_ZERO_AFTER");
	struct buffer *b;

	if (!requested || !apply_bugs(&seen) || is_dropped())
		return;
	if (zero_after && nr_ops > zero_after)
		seen.start = seen.end = 0;
	b = buffer_for(fake_record_size(op->kind));
	if (!b) {
		nr_dropped++;
		return;
	}
	if (b->nr == b->capacity) {
		b->capacity = b->capacity ? 2 * b->capacity : 64;
		b->ops = realloc(b->ops, b->capacity * sizeof(*b->ops));
	}
	b->ops[b->nr++] = seen;
	b->end = seen.end > b->end ? seen.end : b->end;
	b->used += fake_record_size(op->kind);
}

void fake_buffers_add(const struct fake_op *op)
{
	pthread_mutex_lock(&lock);
	add(op);
	pthread_mutex_unlock(&lock);
}

void fake_buffers_flush(bool forced)
{
	pthread_mutex_lock(&lock);
	deliver_all(forced, false);
	pthread_mutex_unlock(&lock);
}

size_t fake_buffers_take_dropped(void)
{
	size_t nr;

	pthread_mutex_lock(&lock);
	nr = nr_dropped;
	nr_dropped = 0;
	pthread_mutex_unlock(&lock);
	return nr;
}
