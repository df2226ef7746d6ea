/*
 * What a round of the ebpf source has no time to unwind waits for the next one, and what lacks an
 * unwind table for that table. The child that continues stacks takes longer for a few than the
 * budget of a round: no stack is lost by that, and no round lasts longer.
 */
// BUILD: -Wl,--wrap=sandbox_start -Wl,--wrap=libunwind_walk_turn -Wl,--wrap=ebpf_process
// BUILD: -Wl,--wrap=ebpf_find_process -Wl,--wrap=ebpf_saw_image -Wl,--wrap=ebpf_publish_first
// BUILD: -Wl,--wrap=ebpf_files_await -Wl,--wrap=ebpf_unwind_snapshot
// BUILD: -Wl,--wrap=snapshot_table_is_coming -Wl,--wrap=ebpf_on_exec
// BUILD: -Wl,--wrap=ebpf_files_await_next
#include "tests/unit/unit.h"
#include "tests/unit/stand_in.h"
#include "tests/unit/stopped_target.h"
#include "tests/unit/traced.h"

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/profile/source.h"
#include "core/sandbox/confined_headers.h"
#include "sampler/bpf/events.h"
#include "sampler/ebpf/ebpf_drain.h"
#include "sampler/ebpf/ebpf_files.h"
#include "sampler/ebpf/ebpf_process.h"
#include "sampler/ebpf/ebpf_snapshot.h"
#include "sampler/ebpf/ebpf_targets.h"
#include "sampler/ebpf/kernel_side.h"
#include "sampler/ebpf/late_snapshots.h"
#include "sampler/sink/sample_sink.h"
#include "sampler/walk/confined/source_unwinder.h"
#include "sampler/walk/libunwind_walk.h"
#include "sampler/walk/snapshot_lookup.h"

#define NR_SNAPSHOTS 20
#define SLEEP_MS 40 /* of the child, for each stack */
#define BUDGET_MS 100
#define MS 1000000ull

static struct traced traced;
static struct code_headers headers[TRACED_MAX_MODULES];
static struct snapshot_sample sample;
static struct sandbox *sandbox;
static struct source_unwinder *unwinder;
static struct ebpf_process own;
#define MODULE 5 /* whose table is being built while table_is_coming is set */

static bool child_sleeps, table_is_coming;
static unsigned int nr_unwound, nr_complete, nr_leaves, nr_tries;

void __real_libunwind_walk_turn(struct libunwind_walk *walk, const struct snapshot_sample *s,
				struct snapshot_turn *turn);

/* In the child, which libunwind runs in. */
void __wrap_libunwind_walk_turn(struct libunwind_walk *walk, const struct snapshot_sample *s,
				struct snapshot_turn *turn)
{
	if (child_sleeps)
		usleep(SLEEP_MS * 1000);
	__real_libunwind_walk_turn(walk, s, turn);
}

struct process *__wrap_ebpf_find_process(const struct ebpf_targets *t, pid_t pid)
{
	(void)t;
	return pid == own.process.pid ? &own.process : NULL;
}

int __wrap_ebpf_process(struct ebpf_targets *t, pid_t pid, uint32_t exec_id, struct process **ret)
{
	(void)exec_id;
	*ret = __wrap_ebpf_find_process(t, pid);
	return 0;
}

void __wrap_ebpf_saw_image(void)
{
}

void __wrap_ebpf_publish_first(void)
{
}

void __wrap_ebpf_files_await(void)
{
}

bool __wrap_snapshot_table_is_coming(const struct file_table *files, uint64_t module)
{
	(void)files;
	assert_int_equal(module, MODULE);
	return table_is_coming;
}

static bool comes_at_the_end;

bool __wrap_ebpf_files_await_next(void)
{
	bool comes = comes_at_the_end && table_is_coming;

	table_is_coming &= !comes;
	return comes;
}

void __wrap_ebpf_on_exec(void)
{
	process_new_epoch(&own.process);
}

uint64_t __wrap_ebpf_unwind_snapshot(struct ebpf_snapshots *s, const struct process *p,
				     const struct snapshot_event *e, enum snapshot_depth depth,
				     uint64_t *frames, size_t max, struct walked *w)
{
	struct snapshot_result r = { .nr = 1, .marker = MARKER_SNAPSHOT_END };

	(void)s;
	assert_int_equal(e->stack_size, 64);
	if (table_is_coming && depth == SNAPSHOT_MAY_WAIT) {
		nr_tries++;
		return MODULE;
	}
	frames[0] = e->pc;
	if (depth != SNAPSHOT_LEAF) {
		assert_non_null(p);
		r = source_unwind(unwinder, &sample, frames, max);
	}
	nr_unwound += depth != SNAPSHOT_LEAF;
	nr_complete += r.marker == -1;
	nr_leaves += depth == SNAPSHOT_LEAF;
	snapshot_result_put(&r, w);
	return 0;
}

/* No file has a table: the child continues each stack. */
static bool find_rule(void *context, uint64_t module, uint64_t vaddr, struct walk_rule *ret)
{
	(void)context;
	(void)module;
	(void)vaddr;
	(void)ret;
	return false;
}

static bool open_module(void *context, uint64_t module, struct snapshot_file *ret)
{
	struct code_headers *h = &headers[module - 1];

	if (!traced_open_module(context, module, ret))
		return false;
	if (!ret->memory && !h->segments)
		assert_int_equal(code_headers_read(NULL, 0, ret->fd, h), 0);
	ret->segments = h->segments;
	ret->nr_segments = h->nr_segments;
	return true;
}

static const struct snapshot_ops ops = { .find_mapping = traced_find_mapping,
					 .open_module = open_module,
					 .find_rule = find_rule };

/* A drain with a stopped target, a sink, and snapshots that are handed to it. */
struct fixture {
	struct kernel_side kernel;
	struct ebpf_files files;
	struct ebpf_targets targets;
	struct profile *profile;
	struct sink *sink;
	struct profile_stats stats;
	struct ebpf_snapshots *snapshots;
	struct ebpf_drain *drain;
};

/* The child that is started without a sandbox has what the test has set. */
static void works_here(int socket)
{
	stand_in.own(socket);
}

static int set_up(void **state)
{
	struct fixture *f = xcalloc(1, sizeof(*f));

	*state = f;
	f->profile = profile_new();
	assert_int_equal(sandbox_new(&sandbox), 0);
	stand_in.job = works_here;
	child_sleeps = true;
	table_is_coming = comes_at_the_end = false;
	nr_unwound = nr_complete = nr_leaves = nr_tries = 0;
	sample = stop_target(&traced, "deep32_nofp", NULL);
	unwinder = source_unwinder_new(&ops, &traced, sandbox);
	own = (struct ebpf_process){ .process = { .pid = traced.pid } };
	process_new_epoch(&own.process);
	f->targets.kernel = &f->kernel;
	f->targets.files = &f->files;
	f->sink = profile_sink_new(f->profile);
	f->snapshots = ebpf_snapshots_new(&f->files, NULL, NULL);
	f->drain = ebpf_drain_new(&f->targets, f->snapshots, &f->stats, NULL, NULL);
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	ebpf_drain_free(f->drain);
	ebpf_snapshots_free(f->snapshots);
	profile_sink_free(f->sink);
	profile_free(f->profile);
	process_fini(&own.process);
	source_unwinder_free(unwinder);
	sandbox_free(sandbox);
	traced_end(&traced);
	for (size_t i = 0; i < TRACED_MAX_MODULES; i++)
		free(headers[i].segments);
	memset(headers, 0, sizeof(headers));
	while (waitpid(-1, NULL, 0) > 0)
		;
	free(f);
	return 0;
}

/* Snapshots of the target, the youngest of which is `ago_ns` old. */
static void queue_snapshots(struct fixture *f, uint64_t ago_ns)
{
	const size_t size = sizeof(struct snapshot_event) + 64;
	struct snapshot_event *e = xcalloc(1, size);

	for (uint64_t i = 0; i < NR_SNAPSHOTS; i++) {
		*e = (struct snapshot_event){
			.sample.header = { .type = EVENT_SNAPSHOT,
					   .tgid = (uint32_t)traced.pid,
					   .time_ns = monotonic_ns() - ago_ns - NR_SNAPSHOTS + i },
			.sample.weight_ns = 1,
			.sample.tid = (uint32_t)traced.pid,
			.stack_size = 64,
			.pc = sample.regs.pc,
		};
		ebpf_drain_queue_record(f->drain, e, size);
	}
	free(e);
}

/* Returns how many stacks were unwound in the round. */
static unsigned int round_of(struct fixture *f, uint64_t budget_ns, bool last)
{
	unsigned int before = nr_unwound;

	ebpf_drain_begin(f->drain, f->sink, monotonic_ns() + budget_ns);
	ebpf_drain_handle(f->drain, UINT64_MAX);
	if (last)
		ebpf_drain_finish(f->drain);
	ebpf_drain_end(f->drain);
	return nr_unwound - before;
}

static void no_stack_is_lost_to_a_slow_child(void **state)
{
	unsigned int nr_rounds = 0;
	struct fixture *f = *state;

	queue_snapshots(f, 0);
	do {
		assert_in_range(round_of(f, BUDGET_MS * MS, false), 0, BUDGET_MS / SLEEP_MS + 1);
		assert_true(++nr_rounds < 10 * NR_SNAPSHOTS);
	} while (ebpf_drain_is_behind(f->drain));
	assert_int_equal(nr_complete, NR_SNAPSHOTS);
	assert_int_equal(f->profile->nr_samples, NR_SNAPSHOTS);
	assert_int_equal(f->stats.nr_incomplete[MARKER_SNAPSHOT_END], 0);
}

static void what_waits_at_the_end_keeps_its_leaf(void **state)
{
	struct fixture *f = *state;

	queue_snapshots(f, 0);
	assert_in_range(round_of(f, BUDGET_MS * MS, false), 0, NR_SNAPSHOTS - 1);
	assert_int_equal(round_of(f, 0, true), 0);
	assert_false(ebpf_drain_is_behind(f->drain));
	assert_int_equal(nr_complete + nr_leaves, NR_SNAPSHOTS);
	assert_int_equal(f->profile->nr_samples, NR_SNAPSHOTS);
}

static void a_stack_is_not_unwound_by_the_mappings_of_another_program(void **state)
{
	struct fixture *f = *state;

	queue_snapshots(f, 0);
	round_of(f, 0, false);
	assert_true(ebpf_drain_is_behind(f->drain));
	process_new_epoch(&own.process);
	round_of(f, 1000 * MS, false);
	assert_int_equal(nr_leaves, NR_SNAPSHOTS);
	assert_int_equal(f->profile->nr_samples, NR_SNAPSHOTS);
}

static void a_stack_that_waits_for_too_long_keeps_its_leaf(void **state)
{
	struct fixture *f = *state;

	queue_snapshots(f, LATE_SNAPSHOTS_NS);
	round_of(f, 0, false);
	round_of(f, 1000 * MS, false);
	assert_int_equal(nr_leaves, NR_SNAPSHOTS);
	assert_int_equal(f->profile->nr_samples, NR_SNAPSHOTS);
}

static void a_stack_waits_for_the_table_that_it_lacks(void **state)
{
	struct fixture *f = *state;

	child_sleeps = false;
	table_is_coming = true;
	queue_snapshots(f, 0);
	for (int i = 0; i < 3; i++)
		round_of(f, 10000 * MS, false);
	assert_int_equal(nr_tries, NR_SNAPSHOTS);
	assert_int_equal(f->profile->nr_samples, 0);
	assert_false(ebpf_drain_is_behind(f->drain)); /* it need not hurry */
	table_is_coming = false;
	round_of(f, 10000 * MS, false);
	assert_int_equal(nr_complete, NR_SNAPSHOTS);
	assert_int_equal(f->profile->nr_samples, NR_SNAPSHOTS);
	assert_int_equal(f->stats.nr_snapshots, NR_SNAPSHOTS);
}

static void what_awaits_a_table_is_unwound_without_it_at_the_end(void **state)
{
	struct fixture *f = *state;

	child_sleeps = false;
	table_is_coming = true;
	queue_snapshots(f, 0);
	round_of(f, 10000 * MS, true);
	assert_int_equal(nr_complete, NR_SNAPSHOTS);
	assert_int_equal(f->profile->nr_samples, NR_SNAPSHOTS);
}

static void the_end_waits_for_tables(void **state)
{
	struct fixture *f = *state;

	child_sleeps = false;
	table_is_coming = comes_at_the_end = true;
	queue_snapshots(f, 0);
	round_of(f, 10000 * MS, true);
	assert_int_equal(nr_tries, NR_SNAPSHOTS);
	assert_false(table_is_coming);
	assert_int_equal(nr_complete, NR_SNAPSHOTS);
}

static void no_table_is_awaited_for_too_long(void **state)
{
	struct fixture *f = *state;

	child_sleeps = false;
	table_is_coming = true;
	queue_snapshots(f, LATE_SNAPSHOTS_NS);
	round_of(f, 10000 * MS, false);
	assert_int_equal(nr_complete, NR_SNAPSHOTS);
	assert_int_equal(f->profile->nr_samples, NR_SNAPSHOTS);
}

static void what_awaits_a_table_is_unwound_before_the_program_is_replaced(void **state)
{
	struct exec_event e = { .header = { .type = EVENT_EXEC, .tgid = (uint32_t)traced.pid } };
	struct fixture *f = *state;

	child_sleeps = false;
	table_is_coming = true;
	queue_snapshots(f, 0);
	round_of(f, 10000 * MS, false);
	e.header.time_ns = monotonic_ns();
	ebpf_drain_queue_record(f->drain, &e, sizeof(e));
	round_of(f, 10000 * MS, false);
	assert_int_equal(nr_complete, NR_SNAPSHOTS);
	assert_int_equal(f->profile->nr_samples, NR_SNAPSHOTS);
}

/* ---- the queue alone */

struct seen {
	uint64_t last_ns, python_ns;
	size_t nr, nr_with_python;
};

static bool is_coming(void *context, uint64_t module)
{
	(void)context;
	return module == MODULE;
}

static void on_python(void *context, const struct stack_event *e)
{
	struct seen *seen = context;

	assert_int_equal(e->nr_user, 2);
	assert_int_equal(((const uint64_t *)(e + 1))[1], e->header.time_ns);
	seen->python_ns = e->header.time_ns;
}

static void on_late(void *context, const struct snapshot_event *e, uint32_t epoch, bool is_late)
{
	struct seen *seen = context;

	assert_true(e->sample.header.time_ns >= seen->last_ns);
	assert_int_equal(epoch, 7);
	assert_false(is_late);
	seen->last_ns = e->sample.header.time_ns;
	seen->nr_with_python += seen->python_ns == e->sample.header.time_ns;
	seen->nr++;
}

static const struct late_snapshots_ops late_ops = { is_coming, on_python, on_late };
static const struct process someones = { .epoch = 7, .user = 1000 };

static struct snapshot_event *snapshot_at(uint64_t time_ns)
{
	static struct snapshot_event e = { .sample.header = { .type = EVENT_SNAPSHOT, .tgid = 5 } };

	e.sample.header.time_ns = time_ns;
	return &e;
}

static const struct stack_event *python_at(uint64_t time_ns)
{
	static struct {
		struct stack_event e;
		uint64_t frames[2];
	} python;

	python.e = (struct stack_event){
		.header = { .type = EVENT_PYTHON, .tgid = 5, .time_ns = time_ns },
		.nr_user = 2,
	};
	python.frames[1] = time_ns;
	return &python.e;
}

static void python_frames_stay_with_their_snapshot(void **state)
{
	struct seen seen = { 0 };
	struct late_snapshots *late = late_snapshots_new(1 << 20, &late_ops, &seen);
	uint64_t now = monotonic_ns();

	(void)state;
	late_snapshots_python(late, python_at(now));
	assert_true(late_snapshots_keep(late, snapshot_at(now), &someones));
	assert_true(late_snapshots_keep(late, snapshot_at(now + 1), &someones));
	late_snapshots_python(late, python_at(now + 2));
	assert_true(late_snapshots_may_await(late, snapshot_at(now + 2), &someones));
	late_snapshots_await(late, snapshot_at(now + 2), &someones, MODULE);
	late_snapshots_python(late, python_at(now + 3));
	late_snapshots_take(late, true);
	assert_int_equal(seen.nr, 3);
	assert_int_equal(seen.nr_with_python, 2);
	late_snapshots_free(late);
}

static void only_so_much_waits(void **state)
{
	const size_t size = sizeof(struct snapshot_event);
	struct seen seen = { 0 };
	struct late_snapshots *late = late_snapshots_new(40 * size, &late_ops, &seen);
	uint64_t now = monotonic_ns();
	size_t nr = 0;

	(void)state;
	while (late_snapshots_keep(late, snapshot_at(now), &someones))
		nr++;
	assert_in_range(nr, 15, 20); /* half of it: nothing of others waits */
	assert_false(late_snapshots_may_await(late, snapshot_at(now), &someones));
	late_snapshots_take(late, false);
	assert_int_equal(seen.nr, 0); /* there is no time */
	late_snapshots_begin(late, UINT64_MAX);
	late_snapshots_take(late, false);
	assert_int_equal(seen.nr, nr);
	assert_false(late_snapshots_wait(late));
	late_snapshots_free(late);
}

#define WITH_TARGET(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_TARGET(no_stack_is_lost_to_a_slow_child),
		WITH_TARGET(what_waits_at_the_end_keeps_its_leaf),
		WITH_TARGET(a_stack_is_not_unwound_by_the_mappings_of_another_program),
		WITH_TARGET(a_stack_that_waits_for_too_long_keeps_its_leaf),
		WITH_TARGET(a_stack_waits_for_the_table_that_it_lacks),
		WITH_TARGET(what_awaits_a_table_is_unwound_without_it_at_the_end),
		WITH_TARGET(the_end_waits_for_tables),
		WITH_TARGET(no_table_is_awaited_for_too_long),
		WITH_TARGET(what_awaits_a_table_is_unwound_before_the_program_is_replaced),
		cmocka_unit_test(python_frames_stay_with_their_snapshot),
		cmocka_unit_test(only_so_much_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
