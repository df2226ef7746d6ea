/*
 * The side band tells the ebpf source of an exec before the kernel side does. Stacks of the old
 * program that wait for an unwind table are unwound then, because its mappings go. Code objects of
 * the new program may have come before either is handled.
 */
// BUILD: -Wl,--wrap=ebpf_process -Wl,--wrap=ebpf_find_process -Wl,--wrap=ebpf_saw_image
// BUILD: -Wl,--wrap=ebpf_publish_first -Wl,--wrap=ebpf_files_await -Wl,--wrap=ebpf_unwind_snapshot
// BUILD: -Wl,--wrap=snapshot_table_is_coming -Wl,--wrap=ebpf_on_exec -Wl,--wrap=ebpf_on_sideband
// BUILD: -Wl,--wrap=ebpf_on_exit -Wl,--wrap=python_codes_end
#include "tests/unit/unit.h"

#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/profile/profile.h"
#include "core/profile/source.h"
#include "sampler/bpf/events.h"
#include "sampler/ebpf/ebpf_drain.h"
#include "sampler/ebpf/ebpf_files.h"
#include "sampler/ebpf/ebpf_process.h"
#include "sampler/ebpf/ebpf_snapshot.h"
#include "sampler/ebpf/ebpf_targets.h"
#include "sampler/ebpf/kernel_side.h"
#include "sampler/sink/sample_sink.h"
#include "sampler/target/sideband.h"
#include "sampler/walk/snapshot_lookup.h"

#define MODULE 5 /* whose table is being built */
#define STACK_BYTES 64
#define ROUND_NS (10ull * NS_PER_S)

static struct ebpf_process own;
static unsigned int nr_execs, nr_code_ends;
static unsigned int nr_whole; /* unwound with the mappings of their program */

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

bool __wrap_snapshot_table_is_coming(void)
{
	return true;
}

void __wrap_ebpf_on_exec(void)
{
	nr_execs++;
}

void __wrap_ebpf_on_exit(void)
{
}

void __wrap_python_codes_end(void)
{
	nr_code_ends++;
}

void __wrap_ebpf_on_sideband(struct ebpf_targets *t, const struct sideband_record *r)
{
	(void)t;
	if (r->type == SIDEBAND_EXEC && r->pid == own.process.pid)
		process_new_epoch(&own.process);
}

uint64_t __wrap_ebpf_unwind_snapshot(struct ebpf_snapshots *s, const struct process *p,
				     const struct snapshot_event *e, enum snapshot_depth depth,
				     uint64_t *frames, size_t max, struct walked *w)
{
	const struct snapshot_result r = { .nr = 1, .marker = MARKER_SNAPSHOT_END };

	(void)s, (void)max;
	if (depth == SNAPSHOT_MAY_WAIT)
		return MODULE;
	nr_whole += p && depth == SNAPSHOT_WHOLE;
	frames[0] = e->pc;
	snapshot_result_put(&r, w);
	return 0;
}

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

static void handle_queued(struct fixture *f)
{
	ebpf_drain_begin(f->drain, f->sink, monotonic_ns() + ROUND_NS);
	ebpf_drain_handle(f->drain, UINT64_MAX);
	ebpf_drain_end(f->drain);
}

/* A stack whose table is being built. */
static void queue_snapshot(struct fixture *f)
{
	const size_t size = sizeof(struct snapshot_event) + STACK_BYTES;
	struct snapshot_event *e = xcalloc(1, size);

	*e = (struct snapshot_event){
		.sample.header = { .type = EVENT_SNAPSHOT,
				   .tgid = (uint32_t)getpid(),
				   .time_ns = monotonic_ns() },
		.sample.weight_ns = 1,
		.sample.tid = (uint32_t)getpid(),
		.stack_size = STACK_BYTES,
		.pc = 0x1000,
	};
	ebpf_drain_queue_record(f->drain, e, size);
	free(e);
}

static int set_up(void **state)
{
	struct fixture *f = xcalloc(1, sizeof(*f));

	*state = f;
	nr_execs = nr_whole = nr_code_ends = 0;
	own = (struct ebpf_process){ .process = { .pid = getpid() } };
	process_new_epoch(&own.process);
	f->targets.kernel = &f->kernel;
	f->targets.files = &f->files;
	f->profile = profile_new();
	f->sink = profile_sink_new(f->profile);
	f->snapshots = ebpf_snapshots_new(&f->files, NULL, NULL);
	f->drain = ebpf_drain_new(&f->targets, f->snapshots, &f->stats, NULL, NULL);
	queue_snapshot(f);
	handle_queued(f);
	assert_int_equal(f->profile->nr_samples, 0);
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
	free(f);
	return 0;
}

static void queue_sideband(struct fixture *f, enum sideband_type type, pid_t pid)
{
	const struct sideband_record r = { .type = type, .pid = pid, .time_ns = monotonic_ns() };

	ebpf_drain_queue_sideband(f->drain, &r);
}

static void queue_exec(struct fixture *f)
{
	struct exec_event e = { .header = { .type = EVENT_EXEC, .tgid = (uint32_t)getpid() } };

	e.header.time_ns = monotonic_ns();
	ebpf_drain_queue_record(f->drain, &e, sizeof(e));
}

static void what_awaits_a_table_is_unwound_before_the_mappings_go(void **state)
{
	struct fixture *f = *state;

	queue_sideband(f, SIDEBAND_EXEC, getpid());
	queue_sideband(f, SIDEBAND_MMAP, getpid());
	queue_exec(f);
	handle_queued(f);
	assert_int_equal(nr_execs, 1);
	assert_int_equal(nr_whole, 1);
	assert_int_equal(f->profile->nr_samples, 1);
}

/* The kernel may have had no room for the side band's record. */
static void an_exec_that_the_kernel_side_alone_reports_suffices(void **state)
{
	struct fixture *f = *state;

	queue_exec(f);
	handle_queued(f);
	assert_int_equal(nr_execs, 1);
	assert_int_equal(nr_whole, 1);
	assert_int_equal(f->profile->nr_samples, 1);
}

static void new_mappings_and_execs_of_others_hurry_no_stack(void **state)
{
	struct fixture *f = *state;

	queue_sideband(f, SIDEBAND_MMAP, getpid());
	queue_sideband(f, SIDEBAND_EXEC, getppid());
	handle_queued(f);
	assert_int_equal(nr_whole, 0);
	assert_int_equal(f->profile->nr_samples, 0);
}

/* Records of code objects are not queued: those of the new program would be forgotten, too. */
static void code_objects_end_with_the_process_and_not_with_an_exec(void **state)
{
	struct exit_event e = { .header = { .type = EVENT_EXIT, .tgid = (uint32_t)getpid() } };
	struct fixture *f = *state;

	queue_sideband(f, SIDEBAND_EXEC, getpid());
	queue_exec(f);
	handle_queued(f);
	assert_int_equal(nr_execs, 1);
	assert_int_equal(nr_code_ends, 0);
	e.header.time_ns = monotonic_ns();
	ebpf_drain_queue_record(f->drain, &e, sizeof(e));
	handle_queued(f);
	assert_int_equal(nr_code_ends, 1);
}

#define WITH_STACK(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_STACK(what_awaits_a_table_is_unwound_before_the_mappings_go),
		WITH_STACK(an_exec_that_the_kernel_side_alone_reports_suffices),
		WITH_STACK(new_mappings_and_execs_of_others_hurry_no_stack),
		WITH_STACK(code_objects_end_with_the_process_and_not_with_an_exec),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
