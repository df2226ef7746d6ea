/*
 * PC sampling of the fake libcupti, with the layouts of cupti_pcsampling.h, written independently
 * of gpu/agent/cupti/pc_abi.h. A kernel of B blocks is sampled
 *
 *	at 0	 B times, selected
 *	at 16	 5 B times, waiting for memory; in 3 B of these cycles nothing is issued
 *	at 32	 2 B times, waiting for a fixed time; in B of these cycles nothing is issued
 *
 * As real ones do, it gives no record of an instruction without samples, not more than the buffer
 * takes, and the rest into the buffer that was configured, when sampling ends; what finds no room
 * there is gone. In the realistic model samples are decoded 100 ms after their kernel.
 *
 *	FAKE_PC_ERROR=n		cuptiPCSamplingEnable fails with n
 *	FAKE_PC_SETTING_ERROR=n	cuptiPCSamplingSetConfigurationAttribute fails with n
 *	FAKE_PC_BATCH=n		cuptiPCSamplingGetData gives at most n instructions
 *	FAKE_PC_DROP=n		of each kernel the hardware drops n samples more
 *	FAKE_PC_FOREIGN=n	n samples beside each kernel are of kernels of others
 *	FAKE_PC_FULL=n		after n kernels the hardware's buffer is full: their samples are
 *				lost, and no more come until sampling has been disabled and enabled
 *	FAKE_PC_HARDWARE=FILE	the GPU's counters, which one process at a time may have: while
 *				another one has locked the file, cuptiPCSamplingEnable fails with
 *				CUPTI_ERROR_HARDWARE_BUSY, 26
 */
#include "tests/gpu/fake_pc.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "tests/gpu/fake_clock.h"
#include "tests/gpu/fake_cupti.h"

#define API __attribute__((visibility("default")))
#define MAX_PENDING 65536
#define MAX_CONTEXTS 8
#define NR_STALLS 6
#define DECODE_NS 100000000u

struct stall {
	uint32_t reason, samples;
};

struct pc_data {
	size_t size;
	uint64_t crc, pc;
	uint32_t function_index, pad;
	char *function;
	size_t nr_stalls;
	struct stall *stalls;
#if FAKE_VERSION >= 12
	uint32_t correlation, pad2;
#endif
};

struct data {
	size_t size, max_pcs;
	uint64_t total, dropped;
	size_t nr, remaining;
	uint64_t range;
	struct pc_data *pcs;
	uint64_t foreign;
	uint8_t full;
};

struct setting {
	uint32_t attribute, status;
	union {
		uint64_t all[3];
		uint32_t number;
		size_t size;
		struct data *data;
		struct {
			size_t nr;
			uint32_t *reasons;
		} stalls;
	} u;
};

struct params {
	size_t size;
	void *priv, *context;
	size_t nr;
	union {
		struct setting *settings;
		uint32_t *reasons;
	} u;
	char **names;
};

struct get_params {
	size_t size;
	void *priv, *context;
	void *to;
};

struct pending {
	char *function;
	uint64_t crc, pc, ready_ns;
	uint32_t correlation;
	uint32_t counts[NR_STALLS];
};

struct context {
	void *context;
	struct data *last;
	bool is_configured, is_serialized, is_full;
	uint64_t kernels, total, dropped, foreign;
	struct pending *pending;
	size_t nr_pending;
};

/* Indices are not from 0 on, and not in order. */
static const struct {
	uint32_t index;
	const char *name;
} reasons[NR_STALLS] = {
	{ 9, "smsp__pcsamp_warps_issue_stalled_selected" },
	{ 4, "smsp__pcsamp_warps_issue_stalled_long_scoreboard" },
	{ 21, "smsp__pcsamp_warps_issue_stalled_long_scoreboard_not_issued" },
	{ 13, "smsp__pcsamp_warps_issue_stalled_wait" },
	{ 30, "smsp__pcsamp_warps_issue_stalled_wait_not_issued" },
	{ 2, "smsp__pcsamp_warps_issue_stalled_barrier" },
};

static struct context contexts[MAX_CONTEXTS];
static uint32_t nr_enabled; /* atomic */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct context *find(void *context)
{
	for (int i = 0; i < MAX_CONTEXTS; i++)
		if (context && contexts[i].context == context)
			return &contexts[i];
	return NULL;
}

static void add(struct context *c, const struct fake_op *op, uint64_t pc, const uint32_t *counts)
{
	uint32_t correlation = c->is_serialized ? op->correlation : 0;
	struct pending *p;
	size_t i = 0;

	while (i < c->nr_pending && (c->pending[i].pc != pc || c->pending[i].crc != op->cubin_crc ||
				     c->pending[i].correlation != correlation ||
				     strcmp(c->pending[i].function, op->name) != 0))
		i++;
	if (i == MAX_PENDING)
		abort();
	p = &c->pending[i];
	if (i == c->nr_pending) {
		*p = (struct pending){ .function = strdup(op->name),
				       .crc = op->cubin_crc,
				       .pc = pc };
		p->correlation = correlation;
		p->ready_ns = fake_monotonic_ns() + (fake_is_realistic() ? DECODE_NS : 0);
		c->nr_pending++;
	}
	for (int k = 0; k < NR_STALLS; k++)
		p->counts[k] += counts[k];
}

void fake_pc_kernel(const struct fake_op *op, void *context)
{
	uint32_t b = op->grid[0] * op->grid[1] * op->grid[2];
	const uint32_t counts[3][NR_STALLS] = { { b }, { 0, 5 * b, 3 * b }, { 0, 0, 0, 2 * b, b } };
	uint64_t limit = (uint64_t)fake_number("FAKE_PC_FULL");
	struct context *c;

	if (!__atomic_load_n(&nr_enabled, __ATOMIC_RELAXED))
		return;
	pthread_mutex_lock(&lock);
	c = find(context);
	if (c && c->is_configured && !c->is_full) {
		uint64_t dropped = (uint64_t)fake_number("FAKE_PC_DROP");
		uint64_t foreign = (uint64_t)fake_number("FAKE_PC_FOREIGN");

		c->kernels++;
		for (uint64_t i = 0; i < 3; i++)
			add(c, op, 16 * i, counts[i]);
		c->total += 8 * b + dropped + foreign;
		c->dropped += dropped;
		c->foreign += foreign;
		if (limit && c->kernels == limit) {
			c->is_full = true;
			c->nr_pending = 0;
			c->total = c->dropped = c->foreign = 0;
		}
	}
	pthread_mutex_unlock(&lock);
}

static void write_pc(struct pc_data *to, const struct pending *from)
{
	to->crc = from->crc;
	to->pc = from->pc;
	to->function_index = 3;
	to->function = from->function;
	to->nr_stalls = 0;
#if FAKE_VERSION >= 12
	to->correlation = from->correlation;
#endif
	for (int k = 0; k < NR_STALLS; k++)
		if (from->counts[k])
			to->stalls[to->nr_stalls++] =
				(struct stall){ reasons[k].index, from->counts[k] };
}

/* Moves what is ready into the buffer. */
static void move(struct context *c, struct data *to, size_t max, bool all)
{
	uint64_t now = fake_monotonic_ns();
	size_t left = 0;

	to->nr = to->remaining = 0;
	for (size_t i = 0; i < c->nr_pending; i++) {
		const struct pending *p = &c->pending[i];
		bool ready = all || p->ready_ns <= now;

		if (ready && to->nr < max && to->nr < to->max_pcs) {
			write_pc(&to->pcs[to->nr++], p);
			continue;
		}
		to->remaining += ready;
		c->pending[left++] = *p;
	}
	c->nr_pending = left;
	to->total = c->total;
	to->dropped = c->dropped;
	to->foreign = c->foreign;
	c->total = c->dropped = c->foreign = 0;
}

static int hardware = -1; /* the file, while this process has it */

static int take_hardware(void)
{
	const char *path = getenv("FAKE_PC_HARDWARE");

	if (!path || hardware >= 0)
		return 0;
	hardware = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (hardware >= 0 && !flock(hardware, LOCK_EX | LOCK_NB))
		return 0;
	close(hardware);
	hardware = -1;
	return 26;
}

API int cuptiPCSamplingEnable(struct params *p)
{
	int err = (int)fake_number("FAKE_PC_ERROR");

	fake_cupti_note("cuptiPCSamplingEnable");
	pthread_mutex_lock(&lock);
	err = err ? err : take_hardware();
	pthread_mutex_unlock(&lock);
	if (err || p->size != offsetof(struct params, nr) || !p->context)
		return err ? err : 1;
	pthread_mutex_lock(&lock);
	for (int i = 0; i <= MAX_CONTEXTS; i++) {
		if (i == MAX_CONTEXTS)
			abort();
		if (contexts[i].context == p->context)
			err = 7;
		if (contexts[i].context && !err)
			continue;
		if (!err) {
			memset(&contexts[i], 0, sizeof(contexts[i]));
			contexts[i].context = p->context;
			__atomic_fetch_add(&nr_enabled, 1, __ATOMIC_RELAXED);
			contexts[i].pending = calloc(MAX_PENDING, sizeof(struct pending));
		}
		break;
	}
	pthread_mutex_unlock(&lock);
	return err;
}

API int cuptiPCSamplingDisable(struct params *p)
{
	struct context *c;

	fake_cupti_note("cuptiPCSamplingDisable");
	pthread_mutex_lock(&lock);
	c = find(p->context);
	if (c && c->last)
		move(c, c->last, c->last->max_pcs, true);
	if (c) {
		free(c->pending);
		c->context = NULL;
		if (__atomic_sub_fetch(&nr_enabled, 1, __ATOMIC_RELAXED) == 0 && hardware >= 0) {
			close(hardware);
			hardware = -1;
		}
	}
	pthread_mutex_unlock(&lock);
	return c ? 0 : 7;
}

API int cuptiPCSamplingGetNumStallReasons(struct get_params *p)
{
	*(size_t *)p->to = NR_STALLS;
	return p->context ? 0 : 1;
}

API int cuptiPCSamplingGetStallReasons(struct params *p)
{
	if (!p->context || p->nr < NR_STALLS || p->size != sizeof(*p))
		return 1;
	for (int i = 0; i < NR_STALLS; i++) {
		p->u.reasons[i] = reasons[i].index;
		strcpy(p->names[i], reasons[i].name);
	}
	return 0;
}

static bool set(struct context *c, const struct setting *s)
{
	switch (s->attribute) {
	case 1: return s->u.number >= 5 && s->u.number <= 31;
	case 2: return s->u.stalls.nr == NR_STALLS;
	case 3: return s->u.size >= 1 << 20;
	case 5: c->is_serialized = s->u.number == 2; return s->u.number == 1 || s->u.number == 2;
	case 8: c->last = s->u.data; return c->last && c->last->pcs;
	default: return false;
	}
}

API int cuptiPCSamplingSetConfigurationAttribute(struct params *p)
{
	int err = (int)fake_number("FAKE_PC_SETTING_ERROR");
	struct context *c;

	fake_cupti_note("cuptiPCSamplingSetConfigurationAttribute");
	pthread_mutex_lock(&lock);
	c = find(p->context);
	if (!c)
		err = 7;
	for (size_t i = 0; !err && i < p->nr; i++) {
		if (set(c, &p->u.settings[i]))
			continue;
		p->u.settings[i].status = 7;
		err = 7;
	}
	if (!err)
		c->is_configured = true;
	pthread_mutex_unlock(&lock);
	return err;
}

API int cuptiPCSamplingGetData(struct get_params *p)
{
	long batch = fake_number("FAKE_PC_BATCH");
	struct context *c;
	int err = 7;

	pthread_mutex_lock(&lock);
	c = find(p->context);
	if (c && c->is_full) {
		((struct data *)p->to)->nr = 0;
		err = 8;
	} else if (c && c->is_configured) {
		move(c, p->to, batch ? (size_t)batch : MAX_PENDING, false);
		err = 0;
	}
	pthread_mutex_unlock(&lock);
	return err;
}

/* ---- code: "FAKE-CUBIN lines", or "FAKE-CUBIN plain" where it was built without */
struct crc_params {
	size_t size, bytes;
	const void *cubin;
	uint64_t crc;
};

API int cuptiGetCubinCrc(struct crc_params *p)
{
	if (!p->cubin || !p->bytes || p->size != sizeof(*p))
		return 1;
	p->crc = fake_cubin_crc(p->cubin, p->bytes);
	return 0;
}

struct line_params {
	size_t size;
	const char *cubin;
	const char *function;
	size_t bytes;
	uint32_t line;
	uint64_t pc;
	char *file, *folder;
};

API int cuptiGetSassToSourceCorrelation(struct line_params *p)
{
	if (!p->cubin || !p->function || !p->bytes || p->size != sizeof(*p))
		return 1;
	p->line = 0;
	p->file = p->folder = NULL;
	if (p->bytes < 16 || strncmp(p->cubin, "FAKE-CUBIN lines", 16) != 0)
		return 0; /* as libcupti 12.9 says it */
	p->line = 40 + (uint32_t)p->pc / 32;
	p->file = strdup("model.cu");
	p->folder = strdup("/src/train");
	return 0;
}
