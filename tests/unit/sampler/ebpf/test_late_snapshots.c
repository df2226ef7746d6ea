/*
 * What a round of the ebpf source has no time to unwind waits for the next one. The child that
 * continues stacks takes longer for a few than the budget of a round: no stack is lost by that, and
 * no round lasts longer.
 */
// BUILD: -Wl,--wrap=sandbox_start -Wl,--wrap=libunwind_walk_turn -Wl,--wrap=ebpf_process
// BUILD: -Wl,--wrap=ebpf_find_process -Wl,--wrap=ebpf_saw_image -Wl,--wrap=ebpf_publish_first
// BUILD: -Wl,--wrap=ebpf_files_await -Wl,--wrap=ebpf_unwind_snapshot
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
static bool child_sleeps;
static unsigned int nr_unwound, nr_complete, nr_leaves;

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

void __wrap_ebpf_unwind_snapshot(struct ebpf_snapshots *s, const struct process *p,
				 const struct snapshot_event *e, bool leaf_only, uint64_t *frames,
				 size_t max, struct walked *w)
{
	struct snapshot_result r = { .nr = 1, .marker = MARKER_SNAPSHOT_END };

	(void)s;
	assert_int_equal(e->stack_size, 64);
	frames[0] = e->pc;
	if (!leaf_only) {
		assert_non_null(p);
		r = source_unwind(unwinder, &sample, frames, max);
	}
	nr_unwound += !leaf_only;
	nr_complete += r.marker == -1;
	nr_leaves += leaf_only;
	snapshot_result_put(&r, w);
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
	nr_unwound = nr_complete = nr_leaves = 0;
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

/* ---- the queue alone */

struct seen {
	size_t nr;
	uint64_t last_ns;
};

static void on_late(void *context, const struct event_header *e, uint32_t epoch, bool is_late)
{
	struct seen *seen = context;

	assert_true(e->time_ns >= seen->last_ns);
	assert_int_equal(epoch, e->type == EVENT_PYTHON ? 0 : 7);
	assert_false(is_late);
	seen->last_ns = e->time_ns;
	seen->nr++;
}

static void python_frames_stay_with_their_snapshot(void **state)
{
	struct late_snapshots *late = late_snapshots_new(1 << 20);
	struct event_header python = { .type = EVENT_PYTHON, .tgid = 5, .time_ns = monotonic_ns() };
	struct event_header snapshot = python, other = python;
	struct seen seen = { 0 };

	(void)state;
	snapshot.type = other.type = EVENT_SNAPSHOT;
	other.tgid = 6;
	late_snapshots_begin(late, UINT64_MAX);
	assert_false(late_snapshots_keep(late, &python, sizeof(python), 0));
	late_snapshots_begin(late, 0); /* the budget is spent between the two */
	assert_false(late_snapshots_keep(late, &snapshot, sizeof(snapshot), 7));
	assert_true(late_snapshots_keep(late, &other, sizeof(other), 7));
	python.time_ns = snapshot.time_ns += 1;
	assert_true(late_snapshots_keep(late, &python, sizeof(python), 0));
	assert_true(late_snapshots_keep(late, &snapshot, sizeof(snapshot), 7));
	late_snapshots_take(late, true, on_late, &seen);
	assert_int_equal(seen.nr, 3);
	late_snapshots_free(late);
}

static void only_so_much_waits(void **state)
{
	struct late_snapshots *late = late_snapshots_new(1000);
	struct event_header e = { .type = EVENT_SNAPSHOT, .tgid = 5, .time_ns = monotonic_ns() };
	struct seen seen = { 0 };
	size_t nr = 0;

	(void)state;
	while (late_snapshots_keep(late, &e, sizeof(e), 7))
		nr++;
	assert_in_range(nr, 20, 1000 / sizeof(e));
	late_snapshots_take(late, false, on_late, &seen);
	assert_int_equal(seen.nr, 0); /* there is no time */
	late_snapshots_begin(late, UINT64_MAX);
	late_snapshots_take(late, false, on_late, &seen);
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
		cmocka_unit_test(python_frames_stay_with_their_snapshot),
		cmocka_unit_test(only_so_much_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
