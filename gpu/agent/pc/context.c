/*
 * What is known of CUPTI beyond its header: a buffer of the hardware that is full
 * (CUPTI_ERROR_OUT_OF_MEMORY) never yields samples again, until sampling is disabled and enabled
 * anew; setting the size of that buffer, or any period, can end in no samples on some cards, so
 * both are left alone unless the user asks.
 */
#include "gpu/agent/pc/context.h"

#include <string.h>
#include <sys/mman.h>

#include "gpu/agent/base/arena.h"
#include "gpu/agent/base/report.h"
#include "gpu/agent/base/state.h"
#include "gpu/agent/cupti/cupti.h"
#include "gpu/agent/cupti/launch.h"
#include "gpu/agent/pc/rows.h"

#define MAX_PCS 2048u		  /* per buffer */
#define SCRATCH_BYTES (16u << 20) /* CUPTI's default of 1 MiB holds 5500 instructions */
#define MAX_READS 16u		  /* 2048 instructions each, at a time */
#define NOT_ISSUED "_not_issued"

static size_t record_bytes(void)
{
	return agent.region->cupti_version >= CUPTI_API_PC_CORRELATION ? sizeof(struct cupti_pc)
								       : CUPTI_PC_OLD_SIZE;
}

/* 11.8 knows a buffer without its last field; which minor version this is cannot be told there. */
static size_t data_bytes(void)
{
	return record_bytes() > CUPTI_PC_OLD_SIZE ? sizeof(struct cupti_pc_data)
						  : offsetof(struct cupti_pc_data, buffer_is_full);
}

static struct cupti_pc *record_of(const struct cupti_pc_data *d, size_t i)
{
	return (struct cupti_pc *)((char *)d->pcs + i * record_bytes());
}

static const char *cause_of(int error)
{
	static const struct {
		int error;
		const char *cause;
	} causes[] = {
		{ CUPTI_ERROR_NOT_SUPPORTED,
		  "the card or the driver cannot (it takes compute capability 7.0 or more)" },
		{ CUPTI_ERROR_INSUFFICIENT_PRIVILEGES,
		  "the driver lets only administrators read counters (hint: CAP_SYS_ADMIN, or "
		  "NVreg_RestrictProfilingToAdminUsers=0)" },
		{ CUPTI_ERROR_VIRTUAL_DEVICE_PRIVILEGES,
		  "the host of this virtual GPU does not allow it" },
		{ CUPTI_ERROR_VIRTUAL_DEVICE, "virtual GPUs cannot" },
		{ CUPTI_ERROR_HARDWARE_BUSY,
		  "another profiler uses the GPU's counters (Nsight, ncu, DCGM?)" },
		{ CUPTI_ERROR_OLD_PROFILER_API,
		  "another profiler in this process uses CUPTI's events or metrics" },
		{ CUPTI_ERROR_MULTIPLE_SUBSCRIBERS, "another profiler holds CUPTI" },
		{ CUPTI_ERROR_CONFIDENTIAL_COMPUTING, "confidential computing is on" },
		{ CUPTI_ERROR_MINING_DEVICE, "the card is made for mining" },
		{ CUPTI_ERROR_MIG_DEVICE, "the GPU is divided by MIG" },
		{ CUPTI_ERROR_WSL_DEVICE, "this is Windows Subsystem for Linux" },
	};

	for (size_t i = 0; i < sizeof(causes) / sizeof(causes[0]); i++)
		if (causes[i].error == error)
			return causes[i].cause;
	return "CUPTI says";
}

static void report_refusal(int error, const char *what)
{
	struct text text = { .length = 0 };

	text_add(&text, "no samples inside GPU kernels: ");
	text_add(&text, cause_of(error));
	text_add(&text, " (");
	text_add(&text, what);
	text_add(&text, ": ");
	cupti_add_error(&text, error);
	text_add(&text, ")");
	report(GPU_FAIL_PC_SAMPLING, (uint32_t)error, &text);
}

/* "x_not_issued" counts, of the samples of "x", those in cycles without any instruction. */
static void take_name(struct pc_context *c, uint32_t reason, const char *name)
{
	size_t length = strnlen(name, CUPTI_STALL_NAME_BYTES), end = sizeof(NOT_ISSUED) - 1;
	struct pc_stall *s;

	if (reason >= PC_MAX_STALLS)
		return;
	s = &c->stalls[reason];
	s->is_idle = length > end && !memcmp(name + length - end, NOT_ISSUED, end);
	s->name = arena_string(name, s->is_idle ? length - end : length);
	s->is_known = true;
}

static int take_names(struct pc_context *c)
{
	static char bytes[PC_MAX_STALLS][CUPTI_STALL_NAME_BYTES];
	static char *names[PC_MAX_STALLS];
	size_t nr = 0;
	struct cupti_pc_nr_stalls count = {
		.size = sizeof(count),
		.context = c->context,
		.ret_nr = &nr,
	};
	struct cupti_pc_stall_names params = {
		.size = sizeof(params),
		.context = c->context,
		.reasons = c->reasons,
		.names = names,
	};
	int err = cupti.pc.nr_stalls(&count);

	if (err || !nr || nr > PC_MAX_STALLS)
		return err ? err : CUPTI_ERROR_INVALID_OPERATION;
	for (size_t i = 0; i < nr; i++)
		names[i] = bytes[i];
	memset(bytes, 0, sizeof(bytes));
	memset(c->stalls, 0, sizeof(c->stalls));
	params.nr = nr;
	err = cupti.pc.stall_names(&params);
	c->nr_stalls = err ? 0 : (uint32_t)nr;
	for (size_t i = 0; i < c->nr_stalls; i++)
		take_name(c, c->reasons[i], names[i]);
	return err;
}

static size_t buffer_bytes(const struct pc_context *c)
{
	return MAX_PCS * (record_bytes() + c->nr_stalls * sizeof(struct cupti_pc_stall));
}

static void lay_out(const struct pc_context *c, struct cupti_pc_data *d, char *memory)
{
	char *stalls = memory + MAX_PCS * record_bytes();

	*d = (struct cupti_pc_data){ .size = data_bytes(), .max_pcs = MAX_PCS };
	d->pcs = (struct cupti_pc *)memory;
	for (size_t i = 0; i < MAX_PCS; i++) {
		struct cupti_pc *pc = record_of(d, i);

		pc->size = record_bytes();
		pc->stalls =
			(struct cupti_pc_stall *)(stalls +
						  i * c->nr_stalls * sizeof(struct cupti_pc_stall));
	}
}

static bool map_buffers(struct pc_context *c)
{
	c->memory_bytes = 2 * buffer_bytes(c);
	c->memory = agent_map(c->memory_bytes);
	if (!c->memory)
		return false;
	lay_out(c, &c->last, c->memory);
	lay_out(c, &c->data, (char *)c->memory + buffer_bytes(c));
	return true;
}

static void unmap_buffers(struct pc_context *c)
{
	if (c->memory)
		munmap(c->memory, c->memory_bytes);
	c->memory = NULL;
}

static void add_row(struct gpu_pc_row *key, const struct pc_stall *stall, uint64_t samples)
{
	struct gpu_pc_row *row;

	key->stall = stall->name;
	row = pc_rows_find(key);
	if (row)
		__atomic_store_n(stall->is_idle ? &row->idle_samples : &row->samples,
				 (stall->is_idle ? row->idle_samples : row->samples) + samples,
				 __ATOMIC_RELAXED);
	else if (!stall->is_idle)
		agent_count(GPU_COUNT_PC_NO_ROOM, samples);
}

static void take_pc(const struct pc_context *c, const struct cupti_pc *pc)
{
	struct gpu_pc_row key = { .cubin = pc->cubin_crc, .pc = pc->pc_offset };
	struct launch_info launch;

	key.function = arena_cstring(pc->function_name);
	if (agent_wants(GPU_WANT_PC_STACKS) && record_bytes() > CUPTI_PC_OLD_SIZE &&
	    launch_find(pc->correlation_id, &launch)) {
		key.stack = launch.stack;
		key.range = launch.range;
	}
	for (size_t i = 0; i < pc->nr_stalls && i < c->nr_stalls; i++) {
		const struct cupti_pc_stall *s = &pc->stalls[i];

		if (s->samples && s->reason < PC_MAX_STALLS && c->stalls[s->reason].is_known)
			add_row(&key, &c->stalls[s->reason], s->samples);
	}
}

static void take(const struct pc_context *c, const struct cupti_pc_data *d)
{
	agent_count(GPU_COUNT_PC_SAMPLES, d->total_samples);
	agent_count(GPU_COUNT_PC_DROPPED, d->dropped_samples);
	agent_count(GPU_COUNT_PC_FOREIGN, d->foreign_samples);
	for (size_t i = 0; i < d->nr_pcs && i < MAX_PCS; i++)
		take_pc(c, record_of(d, i));
}

static void empty(struct cupti_pc_data *d)
{
	d->total_samples = d->dropped_samples = d->foreign_samples = 0;
	d->nr_pcs = d->nr_remaining = 0;
	d->buffer_is_full = 0;
}

static int configure(struct pc_context *c)
{
	bool stacks = agent_wants(GPU_WANT_PC_STACKS);
	struct cupti_pc_setting settings[] = {
		{ .attribute = CUPTI_PC_ATTR_STALL_REASON, .stalls = { c->nr_stalls, c->reasons } },
		{ .attribute = CUPTI_PC_ATTR_COLLECTION_MODE,
		  .mode = stacks ? CUPTI_PC_MODE_SERIALIZED : CUPTI_PC_MODE_CONTINUOUS },
		{ .attribute = CUPTI_PC_ATTR_SCRATCH_BUFFER_SIZE, .bytes = SCRATCH_BYTES },
		{ .attribute = CUPTI_PC_ATTR_SAMPLING_DATA_BUFFER, .data = &c->last },
		{ .attribute = CUPTI_PC_ATTR_SAMPLING_PERIOD,
		  .period = agent.region->config.pc_period },
	};
	struct cupti_pc_settings params = {
		.size = sizeof(params),
		.context = c->context,
		.nr = sizeof(settings) / sizeof(settings[0]) - !agent.region->config.pc_period,
		.settings = settings,
	};

	return cupti.pc.configure(&params);
}

static void disable(struct pc_context *c)
{
	struct cupti_pc_context params = { .size = sizeof(params), .context = c->context };

	empty(&c->last);
	cupti.pc.disable(&params);
	c->is_on = false;
}

static int set_up(struct pc_context *c, const char **ret_what)
{
	int err;

	*ret_what = "names of reasons";
	err = take_names(c);
	if (err)
		return err;
	*ret_what = "memory for samples";
	if (!map_buffers(c))
		return CUPTI_ERROR_OUT_OF_MEMORY;
	*ret_what = "settings";
	return configure(c);
}

void pc_context_start(struct pc_context *c, void *context)
{
	struct cupti_pc_context params = { .size = sizeof(params), .context = context };
	int err = cupti.pc.enable(&params);
	const char *what = "enable";

	c->context = context;
	if (!err) {
		c->is_on = true;
		err = set_up(c, &what);
	}
	if (!err) {
		agent_count(GPU_COUNT_PC_CONTEXTS, 1);
		return;
	}
	report_refusal(err, what);
	if (c->is_on)
		disable(c);
	unmap_buffers(c);
}

/* Nothing else makes the hardware sample again once its buffer was full. */
static void begin_anew(struct pc_context *c)
{
	struct cupti_pc_context params = { .size = sizeof(params), .context = c->context };
	int err;

	agent_count(GPU_COUNT_PC_FULL, 1);
	report_words(GPU_FAIL_PC_FULL, 0,
		     "samples inside GPU kernels were lost, as the hardware's buffer was full "
		     "(hint: a greater --pc-sampling=PERIOD)");
	disable(c);
	take(c, &c->last);
	err = cupti.pc.enable(&params);
	if (!err) {
		c->is_on = true;
		err = configure(c);
	}
	if (!err)
		return;
	report_refusal(err, "after a full buffer");
	if (c->is_on)
		disable(c);
}

void pc_context_read(struct pc_context *c)
{
	struct cupti_pc_get_data params = {
		.size = sizeof(params),
		.context = c->context,
		.data = &c->data,
	};

	for (uint32_t i = 0; c->is_on && i < MAX_READS; i++) {
		int err;

		empty(&c->data);
		err = cupti.pc.get_data(&params);
		if (err == CUPTI_ERROR_OUT_OF_MEMORY) {
			begin_anew(c);
			return;
		}
		if (err) {
			report_refusal(err, "read samples");
			return;
		}
		take(c, &c->data);
		if (!c->data.nr_remaining)
			return;
	}
}

void pc_context_end(struct pc_context *c)
{
	pc_context_read(c);
	if (c->is_on) {
		disable(c);
		take(c, &c->last);
	}
	unmap_buffers(c);
}
