/*
 * Goes through the records in order of time: those of processes and mappings update the tables, and
 * samples become stacks of the profile. Only one event is read; samples of others are counted.
 */
#include "sampler/perf_data/perf_data.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "core/base/alloc.h"
#include "core/profile/event_name.h"
#include "core/profile/profile.h"
#include "core/profile/source.h"
#include "sampler/walk/snapshot_unwind.h"
#include "sampler/walk/snapshot_lookup.h"
#include "sampler/perf_data/sample_record.h"
#include "sampler/perf_data/perf_data_targets.h"
#include "sampler/sink/sample_sink.h"

struct reader {
	struct perf_data_file file;
	struct perf_data_tables tables;
	struct profile *p;
	struct profile_stats stats;
	struct sample_sink out;
	struct snapshot_unwinder *unwinder;
	const struct process *unwinding;
	const struct perf_data_event *event; /* the one whose samples are read */
	uint8_t column;			     /* of that event; a sample weighs its period or 1 */
	uint64_t nr_other_events, nr_damaged, nr_foreign_stacks;
};

bool perf_data_is(const void *data, size_t size)
{
	return perf_data_file_is(data, size);
}

static bool find_mapping(void *context, uint64_t address, struct snapshot_mapping *ret)
{
	const struct reader *r = context;

	return snapshot_find_mapping(r->unwinding, address, ret);
}

static bool open_module(void *context, uint64_t module, struct snapshot_file *ret)
{
	const struct reader *r = context;

	return perf_data_open_module(&r->tables, module, ret);
}

static bool find_rule(void *context, uint64_t module, uint64_t vaddr, struct walk_rule *ret)
{
	const struct reader *r = context;

	return perf_data_find_rule(&r->tables, module, vaddr, ret);
}

static struct snapshot_result unwind(struct reader *r, const struct process *p,
				     const struct perf_data_sample *s, uint64_t *frames)
{
	static const struct snapshot_ops ops = { .find_mapping = find_mapping,
						 .open_module = open_module,
						 .find_rule = find_rule };
	struct snapshot_sample sample = {
		.regs = {
			.pc = s->pc,
			.sp = s->gpr[WALK_REG_SP],
			.fp = s->gpr[WALK_REG_FP],
			.exact = !(s->in_kernel && s->gpr[WALK_REG_SYSCALL_PC] == s->pc),
			.leaf_regs = s->all_regs,
		},
		.stack = s->stack,
		.stack_start = s->gpr[WALK_REG_SP],
		.stack_size = s->stack_size,
		.guess = true,
	};

	memcpy(sample.regs.gpr, s->gpr, sizeof(sample.regs.gpr));
	if (p)
		sample.space = (uint64_t)p->pid << 32 | p->epoch;
	if (!r->unwinder)
		r->unwinder = snapshot_unwinder_new(&ops, r);
	r->unwinding = p;
	return snapshot_unwind(r->unwinder, &sample, frames, MAX_USER_FRAMES);
}

static void walk_user(struct reader *r, const struct process *p, struct perf_data_sample *s,
		      struct walked *w)
{
	struct snapshot_result result;

	w->user = s->user;
	w->nr_user = s->nr_user;
	w->gap = s->gap;
	if (s->has_foreign_stack) {
		r->nr_foreign_stacks++;
		w->marker = MARKER_NO_RULE;
		return;
	}
	if (!s->stack || s->abi == PERF_SAMPLE_REGS_ABI_NONE)
		return;
	if (s->abi == PERF_SAMPLE_REGS_ABI_32) {
		w->marker = MARKER_COMPAT_32BIT;
		return;
	}
	r->stats.nr_snapshots++;
	result = unwind(r, p, s, s->user);
	snapshot_result_put(&result, w);
}

static void on_sample(struct reader *r, const struct perf_data_record *record)
{
	struct profile_meta *meta = &r->p->meta;
	struct profile_sample sample = { .weight = 1, .column = COLUMN_COUNT };
	struct walked w = { .marker = -1 };
	const struct process *p = NULL;
	struct perf_data_sample s;
	struct known_stack stack;

	if (!perf_data_sample_parse(&r->file, record, &s)) {
		r->nr_damaged++;
		return;
	}
	if (s.event != r->event) {
		r->nr_other_events++;
		return;
	}
	w.kernel = s.kernel;
	w.nr_kernel = s.nr_kernel;
	w.in_kernel = s.in_kernel;
	if (s.has_thread)
		p = perf_data_process(&r->tables, s.pid);
	walk_user(r, p, &s, &w);
	if (r->column != COLUMN_COUNT)
		sample.weight = s.period;
	sample.column = r->column;
	sample.time_ns = s.time_ns;
	sample.cpu = (uint16_t)s.cpu;
	sample.thread = PROFILE_NONE;
	if (s.has_thread)
		sample.thread = sample_sink_thread(&r->out, s.pid, s.tid,
						   perf_data_comm(&r->tables, s.tid));
	stack = sample_sink_stack(&r->out, p, &w);
	sample.stack = stack.stack;
	sample_sink_sample(&r->out, &sample, stack);
	if (!meta->start_ns || s.time_ns < meta->start_ns)
		meta->start_ns = s.time_ns;
	if (s.time_ns > meta->end_ns)
		meta->end_ns = s.time_ns;
}

static void on_record(struct reader *r, const struct perf_data_record *record)
{
	uint64_t nr_lost;

	switch (record->header.type) {
	case PERF_RECORD_SAMPLE: on_sample(r, record); break;
	case PERF_RECORD_LOST: /* the id of the event, then the number */
		if (record->size >= 16) {
			memcpy(&nr_lost, record->body + 8, 8);
			r->stats.nr_lost += nr_lost;
		}
		break;
	case PERF_RECORD_LOST_SAMPLES:
		if (record->size >= 8) {
			memcpy(&nr_lost, record->body, 8);
			r->stats.nr_lost += nr_lost;
		}
		break;
	case PERF_RECORD_THROTTLE: r->stats.nr_throttled++; break;
	default: perf_data_tables_take(&r->tables, record);
	}
}

static bool is_dummy(const struct perf_event_attr *attr)
{
	return attr->type == PERF_TYPE_SOFTWARE && attr->config == PERF_COUNT_SW_DUMMY;
}

static const char *event_name(const struct perf_data_event *e)
{
	if (*e->name)
		return e->name;
	if (e->attr.type == PERF_TYPE_SOFTWARE && e->attr.config == PERF_COUNT_SW_CPU_CLOCK)
		return "cpu-clock";
	if (e->attr.type == PERF_TYPE_SOFTWARE && e->attr.config == PERF_COUNT_SW_TASK_CLOCK)
		return "task-clock";
	if (e->attr.type == PERF_TYPE_HARDWARE && e->attr.config == PERF_COUNT_HW_CPU_CYCLES)
		return "cycles";
	return "event";
}

/* Counts the samples of each event; the caller frees the result. */
static uint64_t *count_samples(const struct perf_data_file *f)
{
	uint64_t *counts = xcalloc(f->nr_events + 1, sizeof(*counts));

	for (size_t i = 0; i < f->nr_places; i++) {
		const struct perf_data_event *event;
		struct perf_data_record record;

		perf_data_file_record(f, i, &record);
		event = record.header.type == PERF_RECORD_SAMPLE
				? perf_data_sample_event(f, &record)
				: NULL;
		if (event)
			counts[event - f->events]++;
	}
	return counts;
}

/* The event to read: the one of that name, or, for NULL, the one with the most samples. */
static const struct perf_data_event *find_event(const struct perf_data_file *f, const char *want)
{
	const struct perf_data_event *found = NULL;
	uint64_t *counts = count_samples(f), most = 0;

	for (size_t i = 0; i < f->nr_events; i++) {
		const struct perf_data_event *e = &f->events[i];

		if (want ? !event_name_is(event_name(e), want) : is_dummy(&e->attr))
			continue;
		if (found && counts[i] <= most)
			continue;
		found = e;
		most = counts[i];
	}
	free(counts);
	return found ? found : want ? NULL : f->events;
}

static bool is_clock(const struct perf_event_attr *attr)
{
	return attr->type == PERF_TYPE_SOFTWARE && (attr->config == PERF_COUNT_SW_CPU_CLOCK ||
						    attr->config == PERF_COUNT_SW_TASK_CLOCK);
}

/* The longest period of an event's samples, as far as it is known before they are read. */
static uint64_t max_period(const struct perf_event_attr *attr)
{
	if (!attr->freq)
		return attr->sample_period;
	return attr->sample_type & PERF_SAMPLE_PERIOD ? UINT64_MAX : 0;
}

static int choose_event(struct reader *r, const char *want)
{
	struct profile_meta *meta = &r->p->meta;
	const struct perf_event_attr *attr;

	r->event = find_event(&r->file, want);
	if (!r->event)
		return -ENOENT;
	attr = &r->event->attr;
	meta->event = profile_cstring(r->p, event_name(r->event));
	r->column = (uint8_t)event_name_column(is_clock(attr) ? "cpu-clock" : event_name(r->event),
					       max_period(attr));
	if (attr->freq)
		meta->freq_hz = (uint32_t)attr->sample_freq;
	else if (is_clock(attr) && attr->sample_period)
		meta->freq_hz = (uint32_t)(1000000000 / attr->sample_period);
	for (size_t i = 0; i < r->file.nr_events; i++)
		r->tables.keep_files |=
			(r->file.events[i].attr.sample_type & PERF_SAMPLE_STACK_USER) != 0;
	return 0;
}

static void describe(struct reader *r)
{
	const struct perf_data_file *f = &r->file;
	struct profile_meta *meta = &r->p->meta;
	char *version = xasprintf("perf %s", f->version);
	struct utsname here;

	meta->hostname = profile_cstring(r->p, f->hostname);
	meta->kernel = profile_cstring(r->p, f->release);
	meta->command = profile_cstring(r->p, f->command);
	meta->version = profile_cstring(r->p, version);
	meta->source = profile_cstring(r->p, "perf record");
	meta->nr_cpus = f->nr_cpus;
	r->tables.same_kernel = !uname(&here) && !strcmp(here.release, f->release);
	free(version);
}

static void read_records(struct reader *r)
{
	struct sink *sink = profile_sink_new(r->p);

	sample_sink_init(&r->out, &r->stats);
	r->out.sink = sink;
	for (size_t i = 0; i < r->file.nr_places; i++) {
		struct perf_data_record record;

		perf_data_file_record(&r->file, i, &record);
		on_record(r, &record);
	}
	r->stats.nr_limits = r->tables.nr_limits;
	r->p->stats = r->stats;
	sample_sink_fini(&r->out);
	snapshot_unwinder_free(r->unwinder);
	profile_sink_free(sink);
}

int perf_data_read(const void *data, size_t size, const char *event,
		   struct perf_data_facts *ret_facts, struct profile **ret_profile)
{
	struct reader r = { 0 };
	int err = perf_data_file_open(&r.file, data, size);

	if (err)
		return err;
	r.p = profile_new();
	perf_data_tables_init(&r.tables, &r.file);
	describe(&r);
	err = choose_event(&r, event);
	if (!err)
		read_records(&r);
	*ret_facts = (struct perf_data_facts){
		.kernel_symbol = r.tables.kernel_symbol,
		.kernel_address = r.tables.kernel_address,
		.nr_other_events = r.nr_other_events,
		.nr_damaged = r.nr_damaged + r.file.nr_damaged,
		.nr_foreign_stacks = r.nr_foreign_stacks,
		.nr_trace_bytes = r.file.nr_trace_bytes,
		.cut_off = r.file.cut_off,
	};
	r.tables.kernel_symbol = NULL;
	perf_data_tables_fini(&r.tables);
	perf_data_file_close(&r.file);
	if (!err && !r.p->nr_samples)
		err = -ENODATA;
	if (err) {
		free(ret_facts->kernel_symbol);
		profile_free(r.p);
		return err;
	}
	*ret_profile = r.p;
	return 0;
}
