/*
 * The recorder is fed random schedules of GPU work (gpu_schedule.h), and what it has recorded is
 * compared with a simple model of them (gpu_model.h), to the nanosecond. SPROF_GPU_SEED=N runs the
 * one schedule of that seed; a failure prints its seed.
 */
#include "tests/unit/gpu_model.h"
#include "tests/unit/gpu_setup.h"

#include <inttypes.h>

#include "core/base/log.h"

enum { QUICK = 1000, FULL = 10000, STRESS = 50000, FIRST_PID = 4242424 };

static uint64_t seed;

static void expect(const char *what, uint64_t got, uint64_t want)
{
	if (got != want)
		fail_msg("SPROF_GPU_SEED=%" PRIu64 ": %s: %" PRIu64 ", the model has %" PRIu64,
			 seed, what, got, want);
}

static void expect_at_most(const char *what, uint64_t got, uint64_t most)
{
	if (got > most)
		expect(what, got, most);
}

/* ---- the process: writes what happened into its region, in the order of its threads */
enum { OF_CALL, OF_RUN, OF_WORK };

struct event {
	uint64_t time_ns;
	uint32_t index;
	uint8_t of;
};

struct fed {
	struct process *p;
	struct test_region region;
	struct gpu_collect *c;
	uint32_t stacks[NR_STACKS], names[2];
	struct event events[MAX_CALLS + MAX_RUNS + MAX_WORKS];
	int nr, at, lookups;
	bool finished;
};

static int compare_events(const void *a, const void *b)
{
	const struct event *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	if (x->of != y->of)
		return x->of - y->of;
	return x->index < y->index ? -1 : 1;
}

static void list_events(struct fed *f)
{
	const struct process *p = f->p;

	for (int i = 0; i < p->nr_calls; i++)
		f->events[f->nr++] = (struct event){ p->calls[i].end_ns, (uint32_t)i, OF_CALL };
	for (int i = 0; i < p->nr_runs; i++)
		f->events[f->nr++] = (struct event){ p->runs[i].end_ns, (uint32_t)i, OF_RUN };
	for (int i = 0; i < p->nr_works; i++)
		f->events[f->nr++] = (struct event){ p->works[i].written_ns, (uint32_t)i, OF_WORK };
	qsort(f->events, (size_t)f->nr, sizeof(*f->events), compare_events);
}

static void write_call(struct fed *f, const struct call *call)
{
	const struct gpu_rec_api record = {
		.head = { GPU_RECORD_API, sizeof(record), call->tid },
		.start_ns = call->start_ns,
		.end_ns = call->end_ns,
		.correlation = call->correlation,
		.stack = f->stacks[call->stack],
		.range = call->range,
		.api_class = call->class,
		.result = call->failed ? 2 : 0,
	};

	assert_true(test_emit(&f->region, call->tid - 77, &record));
}

static void write_run(struct fed *f, const struct run_of_range *run)
{
	const struct gpu_rec_range record = {
		.head = { GPU_RECORD_RANGE, sizeof(record), run->tid },
		.start_ns = run->start_ns,
		.end_ns = run->end_ns,
		.range = run->range,
		.kind = GPU_RANGE_PUSH_POP,
	};

	assert_true(test_emit(&f->region, run->tid - 77, &record));
}

/* As the agent does: into the sums first, whatever becomes of the record. */
static void write_work(struct fed *f, uint32_t index)
{
	const struct work *w = &f->p->works[index];
	const struct gpu_rec_untimed untimed = { { GPU_RECORD_UNTIMED, sizeof(untimed), 0 },
						 w->correlation,
						 0 };
	static const uint16_t sizes[] = {
		[GPU_RECORD_KERNEL] = sizeof(struct gpu_rec_kernel),
		[GPU_RECORD_MEMCPY] = sizeof(struct gpu_rec_memcpy),
		[GPU_RECORD_MEMSET] = sizeof(struct gpu_rec_memset),
		[GPU_RECORD_GRAPH] = sizeof(struct gpu_rec_graph),
	};
	struct gpu_rec_kernel record = {
		.work = { .head = { w->type, sizes[w->type], w->tid },
			  .start_ns = w->start_ns,
			  .end_ns = w->future ? w->end_ns + 3600 * SECOND : w->end_ns,
			  .correlation = w->correlation,
			  .stack = f->stacks[w->stack],
			  .range = w->range,
			  .device = w->device,
			  .context = index,
			  .stream = w->stream,
			  .graph = w->graph },
	};
	const struct gpu_fold key = {
		.kind = fold_kind_of(w),
		.device = (uint16_t)w->device,
		.stack = f->stacks[w->stack],
		.range = w->range,
		.name = w->type == GPU_RECORD_KERNEL ? f->names[w->name] : 0,
	};

	if (w->untimed) {
		f->region.header->counters[GPU_COUNT_UNTIMED]++;
		assert_true(test_emit(&f->region, TEST_LANES - 1, &untimed));
		return;
	}
	if (w->type == GPU_RECORD_KERNEL)
		record.name = f->names[w->name];
	if (!w->future)
		test_fold_add(&f->region, &key, w->end_ns - w->start_ns, 0);
	if (!w->dropped)
		assert_true(test_emit(&f->region, TEST_LANES - 1, &record));
}

/* Writes all that has happened by then. */
static void live_until(struct fed *f, uint64_t now_ns)
{
	struct gpu_region *h = f->region.header;
	const struct process *p = f->p;

	if (now_ns >= p->active_ns) {
		h->active_ns = p->active_ns;
		h->state = GPU_STATE_ACTIVE;
	}
	for (uint32_t i = 0; i < p->nr_windows && p->windows[i].start_ns <= now_ns; i++) {
		struct gpu_window *w = &h->windows[gpu_window_place(i)];

		w->start_ns = p->windows[i].start_ns;
		w->end_ns = p->windows[i].end_ns <= now_ns ? p->windows[i].end_ns : 0;
		h->nr_windows = i + 1;
	}
	for (; f->at < f->nr && f->events[f->at].time_ns <= now_ns; f->at++) {
		const struct event *e = &f->events[f->at];

		if (e->of == OF_CALL)
			write_call(f, &p->calls[e->index]);
		else if (e->of == OF_RUN)
			write_run(f, &p->runs[e->index]);
		else
			write_work(f, e->index);
	}
	h->folds.used = f->region.nr_folds;
}

static void begin(struct fed *f, struct process *p, int number, struct sink *sink,
		  uint64_t *activity_room, uint64_t *run_room)
{
	static struct gpu_region *memory[NR_PROCESSES];
	static uint64_t first_ring;
	const struct gpu_collect_opts opts = {
		.pid = FIRST_PID + number, /* no such process */
		.context = &f->lookups,
		.frame = program_frame,
		.activity_room = activity_room,
		.run_room = run_room,
	};
	uint32_t range = 0;

	*f = (struct fed){ .p = p };
	if (!memory[number])
		memory[number] = xcalloc(1, TEST_REGION_BYTES);
	/* The rings, behind the tables, are zero: all of them were read. */
	if (first_ring)
		memset(memory[number], 0, first_ring);
	test_region_lay_out(&f->region, memory[number]);
	first_ring = ((struct gpu_lane *)test_area(&f->region, &memory[number]->lanes))->offset;
	f->region.header->config.want = GPU_WANT_DEFAULT;
	f->region.header->config.capture =
		p->nr_windows ? GPU_CAPTURE_PROFILER_API : GPU_CAPTURE_ALL;
	for (uint32_t i = 0; i < NR_STACKS; i++)
		f->stacks[i] = one_frame(&f->region, 0x2000 + i);
	f->names[0] = test_string(&f->region, "gemm");
	f->names[1] = test_string(&f->region, "ncclDevKernel_AllReduce");
	for (uint32_t i = 1; i < NR_RANGES; i++)
		range = test_range(&f->region, range, "range", "");
	test_region_open(&f->region);
	f->c = gpu_collect_new(f->region.shared, &opts, sink);
	list_events(f);
}

static void end(struct fed *f)
{
	live_until(f, f->p->end_ns);
	f->region.header->stopped_ns = f->p->stopped_ns;
	if (!f->p->ends_at_once)
		f->region.header->state = GPU_STATE_EXITED;
	gpu_collect_finish(f->c, f->p->end_ns);
	f->finished = true;
}

static void run_schedule(struct schedule *s, struct fed *fed)
{
	for (int i = 0; i < s->nr_drains; i++)
		for (int k = 0; k < s->nr_processes; k++) {
			struct fed *f = &fed[k];

			if (!f->finished && s->drains[i] >= f->p->end_ns)
				end(f);
			if (f->finished)
				continue;
			live_until(f, s->drains[i]);
			if (one_in(s, 4))
				gpu_collect_cpu_sample(f->c, 77, s->drains[i], 0);
			gpu_collect_drain(f->c, s->drains[i]);
		}
	for (int k = 0; k < s->nr_processes; k++)
		if (!fed[k].finished)
			end(&fed[k]);
}

static const struct fact_gpu_device *device_row(const struct profile *p, uint64_t pid,
						uint32_t device)
{
	const struct fact_gpu_device *rows;
	size_t nr;

	rows = facts_rows(p, FACT_GPU_DEVICE, &nr);
	for (size_t i = 0; i < nr; i++)
		if (rows[i].pid == pid && rows[i].device == device)
			return &rows[i];
	return NULL;
}

static uint64_t counter_row(const struct profile *p, uint64_t pid, const char *name)
{
	const struct fact_gpu_counter *rows;
	size_t nr;

	rows = facts_rows(p, FACT_GPU_COUNTER, &nr);
	for (size_t i = 0; i < nr; i++)
		if (rows[i].pid == pid && !strcmp(profile_str(p, (uint32_t)rows[i].name), name))
			return rows[i].value;
	return 0;
}

/* Idle time of a device, whatever it is blamed on. */
static uint64_t blamed(const struct profile *p, uint64_t pid, uint32_t device)
{
	char prefix[32];
	uint64_t ns = 0;

	snprintf(prefix, sizeof(prefix), "GPU %u idle: ", device);
	for (size_t i = 0; i < p->nr_samples; i++) {
		const struct profile_sample *s = &p->samples[i];
		const struct profile_thread *t = &p->threads[s->thread];

		if (s->column == COLUMN_GPU_IDLE && t->pid == pid &&
		    !strncmp(profile_str(p, t->comm), prefix, strlen(prefix)))
			ns += s->weight;
	}
	return ns;
}

static void compare_device(const struct schedule *s, const struct process *p,
			   const struct profile *profile, uint64_t pid, uint32_t device)
{
	const struct device_times t = model_device(p, device);
	const struct fact_gpu_device *d = device_row(profile, pid, device);

	expect("device is known", d != NULL, t.used);
	if (!d)
		return;
	expect("busy + idle", d->busy_ns + d->idle_ns, d->end_ns - d->start_ns);
	expect("idle by reason", blamed(profile, pid, device), d->idle_ns);
	expect_at_most("busy", d->busy_ns, t.busy);
	if (s->loose)
		return;
	expect("start", d->start_ns, t.start_ns);
	expect("end", d->end_ns, t.end_ns);
	expect("busy", d->busy_ns, t.busy);
	expect("kernels", d->kernel_ns, t.kernel);
	expect("copies", d->copy_ns, t.copy);
	expect("overlap", d->overlap_ns, t.overlap);
	expect("exposed communication", d->exposed_ns, t.exposed);
}

/* The table, the GPU column and the flame graph have every work that has a time, once. */
static void compare_sums(const struct schedule *s, const struct profile *profile)
{
	uint64_t table = 0, calls = 0, want = 0, want_calls = 0, of_stack[NR_STACKS] = { 0 };
	const struct fact_gpu_work *rows;
	size_t nr;

	rows = facts_rows(profile, FACT_GPU_WORK, &nr);
	for (size_t i = 0; i < nr; i++) {
		table += rows[i].total_ns;
		calls += rows[i].calls;
	}
	for (int k = 0; k < s->nr_processes; k++)
		for (int i = 0; i < s->processes[k].nr_works; i++) {
			const struct work *w = &s->processes[k].works[i];

			if (w->untimed || w->future)
				continue;
			want += w->end_ns - w->start_ns;
			of_stack[w->stack] += w->end_ns - w->start_ns;
			want_calls++;
		}
	expect("table", table, want);
	expect("calls of the table", calls, want_calls);
	expect("GPU column", sum_of(profile, COLUMN_GPU), want);
	expect("launches column", sum_of(profile, COLUMN_GPU_LAUNCHES), want_calls);
	for (size_t i = 0; i < profile->nr_samples; i++) {
		const struct profile_sample *sample = &profile->samples[i];
		const struct profile_stack *stack = &profile->stacks[sample->stack];

		if (sample->column == COLUMN_GPU)
			of_stack[profile->frames[profile->stack_frames[stack->first_frame]]
					 .address -
				 0x2000] -= sample->weight;
	}
	for (int i = 0; i < NR_STACKS; i++)
		expect("flame graph of a stack, less the model's", of_stack[i], 0);
}

static void compare_activities(const struct process *p, const struct profile *profile, uint64_t pid)
{
	const struct fact_gpu_activity *rows;
	uint32_t seen[MAX_WORKS] = { 0 };
	size_t nr;

	rows = facts_rows(profile, FACT_GPU_ACTIVITY, &nr);
	for (size_t i = 0; i < nr; i++) {
		const struct work *w = &p->works[rows[i].context];

		if (rows[i].pid != pid)
			continue;
		assert_true(rows[i].context < (uint64_t)p->nr_works);
		seen[rows[i].context]++;
		expect("device of an activity", rows[i].device, w->device);
		expect("start of an activity", rows[i].start_ns, w->start_ns);
		expect("duration of an activity", rows[i].duration_ns, w->end_ns - w->start_ns);
	}
	for (int i = 0; i < p->nr_works; i++)
		expect("times that work was placed", seen[i], is_placed(&p->works[i]));
}

static void compare_counters(const struct schedule *s, const struct process *p,
			     const struct profile *profile, uint64_t pid)
{
	uint64_t open = 0, without_call = 0, untimed = 0, future = 0;
	uint64_t late = counter_row(profile, pid, "activities too late for their place");

	for (int i = 0; i < p->nr_calls; i++)
		open += p->calls[i].class == GPU_API_LAUNCH && !p->calls[i].failed &&
			p->calls[i].end_ns <= p->end_ns;
	for (int i = 0; i < p->nr_works; i++) {
		const struct work *w = &p->works[i];
		bool known = knows_call(s, p, w);

		untimed += w->untimed;
		future += w->future;
		without_call += is_placed(w) && !known;
		open -= known && !w->dropped && p->calls[w->call].class == GPU_API_LAUNCH;
	}
	expect("untimed", counter_row(profile, pid, "activities without a time"), untimed);
	expect("in the future", counter_row(profile, pid, "activities in the future"), future);
	expect("without a call",
	       counter_row(profile, pid, "activities whose call was not recorded"), without_call);
	expect("launches without a record", counter_row(profile, pid, COUNTER_WITHOUT_RECORD),
	       p->ends_at_once ? open : 0);
	expect("runs left out", counter_row(profile, pid, COUNTER_RUNS_LEFT_OUT), 0);
	expect_at_most("too late", late, s->loose ? (uint64_t)p->nr_works : 0);
}

static void compare_run(const struct schedule *s, const struct process *p,
			const struct fact_range_run *row, const struct run_of_range *run)
{
	uint64_t ns = 0, launches = 0, first = 0, last = 0;

	for (int i = 0; i < p->nr_works; i++) {
		const struct work *w = &p->works[i];
		const struct call *c = w->call >= 0 ? &p->calls[w->call] : NULL;

		if (!c || !is_placed(w) || !knows_call(s, p, w) || c->tid != run->tid ||
		    c->range < run->range || c->start_ns < run->start_ns ||
		    c->start_ns > run->end_ns)
			continue;
		ns += w->end_ns - w->start_ns;
		launches++;
		first = !first || w->start_ns < first ? w->start_ns : first;
		last = w->end_ns > last ? w->end_ns : last;
	}
	expect("GPU time of a run", row->gpu_ns, ns);
	expect("launches of a run", row->launches, launches);
	expect("GPU start of a run", row->gpu_start_ns, first);
	expect("GPU span of a run", row->gpu_duration_ns, last - first);
}

static void compare_runs(const struct schedule *s, const struct process *p,
			 const struct profile *profile, uint64_t pid)
{
	const struct fact_range_run *rows;
	uint64_t matched = 0, want = 0;
	size_t nr;

	rows = facts_rows(profile, FACT_RANGE_RUN, &nr);
	for (int k = 0; k < p->nr_runs; k++) {
		const struct run_of_range *run = &p->runs[k];

		want += run->end_ns <= p->end_ns;
		for (size_t i = 0; i < nr; i++) {
			if (rows[i].pid != pid || rows[i].range != run->range ||
			    rows[i].start_ns != run->start_ns ||
			    profile->threads[rows[i].thread].tid != run->tid)
				continue;
			matched++;
			compare_run(s, p, &rows[i], run);
		}
	}
	expect("runs", matched, want);
}

static void check_schedule(struct schedule *s)
{
	static struct fed fed[NR_PROCESSES];
	uint64_t activity_room = 1000, run_room = 1000;
	struct profile *profile = profile_new();
	struct sink *sink = profile_sink_new(profile);

	sink->stack(sink, NULL, 0); /* of CPU samples */
	for (int k = 0; k < s->nr_processes; k++)
		begin(&fed[k], &s->processes[k], k, sink, &activity_room, &run_room);
	run_schedule(s, fed);
	for (int k = 0; k < s->nr_processes; k++) {
		const struct process *p = &s->processes[k];
		uint64_t pid = (uint64_t)FIRST_PID + (uint64_t)k;

		for (int i = 0; i < NR_DEVICES; i++)
			compare_device(s, p, profile, pid, schedule_devices[i]);
		compare_activities(p, profile, pid);
		compare_counters(s, p, profile, pid);
		if (!s->loose)
			compare_runs(s, p, profile, pid);
	}
	compare_sums(s, profile);
	for (int k = 0; k < s->nr_processes; k++)
		gpu_collect_free(fed[k].c);
	profile_sink_free(sink);
	profile_free(profile);
}

static void random_schedules_are_as_the_model_has_them(void **state)
{
	static struct schedule s;
	const char *only = getenv("SPROF_GPU_SEED");
	uint64_t nr = !getenv("SPROF_TEST_FULL") ? QUICK : getenv("STRESS") ? STRESS : FULL;

	(void)state;
	log_set_level(LOG_QUIET);
	nr = only ? 1 : nr;
	for (uint64_t i = 0; i < nr; i++) {
		seed = only ? strtoull(only, NULL, 10) : i + 1;
		make_schedule(&s, seed);
		check_schedule(&s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_schedules_are_as_the_model_has_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
