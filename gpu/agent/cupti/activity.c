/*
 * Buffers come from a fixed pool with a bit mask, so a request never waits. A completed buffer
 * goes on a list, which one thread at a time works off: a thread that completes a buffer while
 * another one reads leaves it on the list and returns.
 */
#include "gpu/agent/cupti/activity.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "gpu/agent/base/clock.h"
#include "gpu/agent/base/cost.h"
#include "gpu/agent/base/estimate.h"
#include "gpu/agent/base/report.h"
#include "gpu/agent/base/state.h"
#include "gpu/agent/cupti/activity_keep.h"
#include "gpu/agent/cupti/activity_record.h"
#include "gpu/agent/cupti/cupti.h"

#define NR_BUFFERS 64u /* the lowest free one is taken: what no burst needs stays untouched */
#define BUFFER_BYTES (512u << 10)
#define LAST_TRIES 500 /* 0.2 ms apart */

struct buffer {
	uint8_t *bytes;
	struct buffer *next;
	void *context;
	size_t valid_size;
	uint32_t stream;
};

static struct buffer buffers[NR_BUFFERS];
static uint8_t *discard; /* given out when none is free: CUPTI before 12.9 crashes on NULL */
static uint64_t taken;	 /* atomic: a bit per buffer */
static struct buffer *completed; /* atomic: newest first */
static uint32_t reading;	 /* atomic: a thread is working the list off */
static uint32_t is_wanted;	 /* atomic: what is in them is read */

int activity_init(void)
{
	uint8_t *at;

	if (discard)
		return 0;
	at = agent_map((NR_BUFFERS + 1) * (size_t)BUFFER_BYTES);
	if (!at)
		return -ENOMEM;
	for (uint32_t i = 0; i < NR_BUFFERS; i++)
		buffers[i].bytes = at + (size_t)i * BUFFER_BYTES;
	discard = at + (size_t)NR_BUFFERS * BUFFER_BYTES;
	return 0;
}

void activity_read(bool wanted)
{
	__atomic_store_n(&is_wanted, wanted, __ATOMIC_RELEASE);
}

void activity_request(uint8_t **buffer, size_t *size, size_t *max_records)
{
	*size = BUFFER_BYTES;
	*max_records = 0;
	*buffer = discard;
	if (!*agent.alive)
		return;
	for (uint32_t i = 0; i < NR_BUFFERS; i++) {
		uint64_t bit = 1ull << i;

		if (!(__atomic_fetch_or(&taken, bit, __ATOMIC_ACQUIRE) & bit)) {
			*buffer = buffers[i].bytes;
			return;
		}
	}
	agent_count(GPU_COUNT_NO_BUFFER, 1);
}

static void read_records(uint8_t *bytes, size_t valid_size, void (*use)(const void *, size_t))
{
	uint8_t *at = NULL, *next = NULL;
	int err;

	for (err = cupti.next_record(bytes, valid_size, &at); !err; at = next) {
		size_t size;

		next = at;
		err = cupti.next_record(bytes, valid_size, &next);
		/* a record is as long as the distance to the next one: cupti_abi.h */
		size = (size_t)((err ? bytes + valid_size : next) - at);
		if (at < bytes || at + size > bytes + valid_size) {
			agent_count(GPU_COUNT_BAD_RECORD, 1);
			return;
		}
		use(at, size);
	}
	if (err != CUPTI_ERROR_MAX_LIMIT_REACHED)
		agent_count(GPU_COUNT_BAD_RECORD, 1);
}

static void count_discarded(const void *record, size_t size)
{
	(void)record;
	(void)size;
	agent_count(GPU_COUNT_DISCARDED, 1);
}

static void count_dropped(void *context, uint32_t stream)
{
	size_t nr = 0;

	if (!cupti.nr_dropped || cupti.nr_dropped(context, stream, &nr) || !nr)
		return;
	activity_record_drops(nr, stream);
	report_words(GPU_FAIL_DROPPED, 0,
		     "CUPTI dropped activity records: GPU times are incomplete");
}

static void read_buffer(struct buffer *b)
{
	uint64_t bit = 1ull << (b - buffers);

	uint64_t begun = clock_ticks();

	if (__atomic_load_n(&is_wanted, __ATOMIC_ACQUIRE)) {
		activity_reading(clock_now_ns());
		/* makes room for work whose call, perhaps of this thread, has not returned yet */
		activity_settle_waiting(false);
		read_records(b->bytes, b->valid_size, activity_record);
		count_dropped(b->context, b->stream);
		agent_count(GPU_COUNT_BUFFERS, 1);
	}
	memset(b->bytes, 0, b->valid_size); /* CUPTI was told that buffers are zeroed */
	__atomic_fetch_and(&taken, ~bit, __ATOMIC_RELEASE);
	governor_pay_for_buffer(clock_ticks() - begun);
}

static struct buffer *take_list(void)
{
	struct buffer *newest = __atomic_exchange_n(&completed, NULL, __ATOMIC_ACQ_REL);
	struct buffer *oldest = NULL;

	while (newest) {
		struct buffer *next = newest->next;

		newest->next = oldest;
		oldest = newest;
		newest = next;
	}
	return oldest;
}

/*
 * The loop looks again for buffers that were put on the list while we still seemed to be reading.
 * It ends after NR_BUFFERS, or a thread could read for ever; the rest is left to the next call.
 */
static void read_completed(void)
{
	uint32_t nr = 0;

	while (nr < NR_BUFFERS && __atomic_load_n(&completed, __ATOMIC_ACQUIRE) &&
	       !__atomic_exchange_n(&reading, 1, __ATOMIC_ACQUIRE)) {
		for (struct buffer *b = take_list(), *next; b; b = next) {
			next = b->next;
			read_buffer(b);
			nr++;
		}
		__atomic_store_n(&reading, 0, __ATOMIC_RELEASE);
	}
}

void activity_complete(void *context, uint32_t stream, uint8_t *bytes, size_t size,
		       size_t valid_size)
{
	size_t i = (size_t)(bytes - buffers[0].bytes) / BUFFER_BYTES;
	struct buffer *b;

	if (!*agent.alive)
		return;
	if (valid_size > size || size > BUFFER_BYTES || i >= NR_BUFFERS) {
		if (bytes == discard && valid_size <= BUFFER_BYTES)
			read_records(bytes, valid_size, count_discarded);
		return;
	}
	b = &buffers[i];
	b->context = context;
	b->stream = stream;
	b->valid_size = valid_size;
	b->next = __atomic_load_n(&completed, __ATOMIC_RELAXED);
	while (!__atomic_compare_exchange_n(&completed, &b->next, b, true, __ATOMIC_RELEASE,
					    __ATOMIC_RELAXED))
		;
	read_completed();
}

/*
 * Waits for a reader only the last time, and at most 100 ms: we may be what keeps it from going on.
 */
static bool begin_settling(bool last)
{
	const struct timespec pause = { 0, 200000 };

	for (int i = 0; __atomic_exchange_n(&reading, 1, __ATOMIC_ACQUIRE); i++) {
		if (!last || i == LAST_TRIES)
			return false;
		nanosleep(&pause, NULL);
	}
	return true;
}

void activity_settle(bool last)
{
	if (!begin_settling(last))
		return; /* another thread is reading: the next call does it */
	activity_settle_waiting(last);
	if (last)
		estimate_settle();
	__atomic_store_n(&reading, 0, __ATOMIC_RELEASE);
	read_completed();
}
