/*
 * The in-target code as it is injected: the flat payload is mapped beside its region, entered,
 * samples this process itself, and leaves nothing behind.
 */
#include "tests/unit/unit.h"

#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "sampler/agent/region.h"
#include "sampler/attach/payload.h"
#include "sampler/timer/targets/timer_region.h"

#define PERIOD_NS 4000000u

struct fixture {
	struct timer_region host;
	char *code;
	struct agent_region *region; /* as in the target */
	uint64_t nr, weight_ns, nr_snapshots, nr_elsewhere;
};

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static volatile uint64_t sum;

static __attribute__((noinline)) void burn(uint64_t ns)
{
	for (uint64_t end = cpu_ns() + ns; cpu_ns() < end;)
		for (int i = 0; i < 1000; i++)
			sum += (uint64_t)i;
}

/* A busy host may take away the CPU, and with it the ticks, for long. */
#define BURN_UNTIL(condition)                                                                      \
	do {                                                                                       \
		for (int i = 0; i < 100 && !(condition); i++)                                      \
			burn(20000000);                                                            \
		assert_true(condition);                                                            \
	} while (0)

static void setup_signal(struct fixture *f, int signal)
{
	const struct timer_region_config config = { .period_ns = PERIOD_NS, .signal = signal };
	size_t pages = REGION_CODE_SIZE;

	memset(f, 0, sizeof(*f));
	assert_int_equal(timer_region_new(&config, &f->host), 0);
	f->host.shared->heartbeat_limit_ns = 0;
	f->code = mmap(NULL, REGION_FILE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, f->host.fd, 0);
	assert_ptr_not_equal(f->code, MAP_FAILED);
	assert_true(payload_bin_size <= REGION_CODE_SIZE);
	memcpy(f->code, payload_bin, payload_bin_size);
	assert_int_equal(mprotect(f->code, pages, PROT_READ | PROT_EXEC), 0);
	assert_int_equal(
		mprotect(f->code + REGION_SPACE_OFFSET, sizeof(struct walk_space), PROT_READ), 0);
	f->region = (struct agent_region *)(f->code + REGION_CODE_SIZE);
}

static void teardown(struct fixture *f)
{
	munmap(f->code, REGION_FILE_SIZE);
	timer_region_free(&f->host);
}

static long enter(struct fixture *f, uint32_t commands)
{
	const struct agent_payload *head = (const struct agent_payload *)f->code;
	long (*fn)(struct agent_region *, __u32) = (void *)(f->code + head->enter);

	assert_int_equal(head->magic, AGENT_PAYLOAD_MAGIC);
	assert_int_equal(head->size, payload_bin_size);
	assert_int_equal(head->version, REGION_VERSION);
	return fn(f->region, commands);
}

static void on_record(void *context, const struct agent_sample *sample, const uint64_t *words,
		      size_t nr_words)
{
	struct fixture *f = context;
	uint64_t pc = words[0] & ~FRAME_EXACT;

	(void)nr_words;
	f->nr++;
	f->weight_ns += sample->weight_ns;
	f->nr_snapshots += sample->type == AGENT_SNAPSHOT;
	if (sample->tid != (pid_t)syscall(SYS_gettid))
		f->nr_elsewhere++;
	if (!pc)
		f->nr_elsewhere++;
}

static int handler_of(int signal)
{
	struct sigaction action;

	assert_int_equal(sigaction(signal, NULL, &action), 0);
	return action.sa_handler == SIG_DFL	? 0
	       : action.sa_handler == SIG_IGN	? 1
	       : (action.sa_flags & SA_SIGINFO) ? 3
						: 2;
}

static int nr_timers(void)
{
	FILE *f = fopen("/proc/self/timers", "re");
	char line[256];
	int nr = 0;

	if (!f)
		return 0;
	while (fgets(line, sizeof(line), f))
		nr += !strncmp(line, "ID:", 3);
	fclose(f);
	return nr;
}

static void the_payload_samples_its_process_by_cpu_time(void **state)
{
	struct fixture f;
	uint64_t before;

	(void)state;
	setup_signal(&f, 0);
	assert_true(timer_region_want(&f.host, (pid_t)syscall(SYS_gettid)));
	assert_int_equal(enter(&f, AGENT_INSTALL | AGENT_ARM), 0);
	assert_int_equal(f.region->signal, 62);
	assert_int_equal(f.region->state, AGENT_ON);
	assert_int_equal(handler_of(62), 3);
	assert_int_equal(nr_timers(), 1);
	before = cpu_ns();
	burn(400000000);
	before = cpu_ns() - before;
	assert_int_equal(enter(&f, AGENT_DETACH), 0);
	timer_region_read(&f.host, on_record, &f);
	assert_true(f.nr > 0);
	assert_int_equal(f.nr_elsewhere, 0);
	/*
	 * One period may be missing at either end; on a busy machine the last timer of all may be
	 * late.
	 */
	assert_true(f.weight_ns + 15 * PERIOD_NS >= before);
	assert_true(f.weight_ns <= before + 2 * PERIOD_NS);
	assert_int_equal(timer_region_nr_dropped(&f.host), 0);
	/* without tables there are only snapshots, as many as the credit allows */
	assert_true(f.nr_snapshots > 0 && f.nr_snapshots <= 64);
	teardown(&f);
}

static void detaching_leaves_no_timer_and_no_handler(void **state)
{
	struct fixture f;

	(void)state;
	setup_signal(&f, 0);
	timer_region_want(&f.host, (pid_t)syscall(SYS_gettid));
	for (int i = 0; i < 3; i++) {
		assert_int_equal(enter(&f, AGENT_INSTALL | AGENT_ARM), 0);
		assert_int_equal(enter(&f, AGENT_INSTALL | AGENT_ARM), 0);
		assert_int_equal(enter(&f, AGENT_DETACH), 0);
		assert_int_equal(enter(&f, AGENT_DETACH), 0);
		assert_int_equal(f.region->installed, 0);
		assert_int_equal(f.region->busy, 0);
		assert_int_equal(handler_of(62), 0);
		assert_int_equal(nr_timers(), 0);
	}
	teardown(&f);
}

static volatile sig_atomic_t nr_own;

static void own_handler(int signal, siginfo_t *info, void *context)
{
	(void)context;
	nr_own += signal == 61 && info->si_code == SI_QUEUE && info->si_value.sival_int == 7;
}

static void a_handler_that_was_there_still_gets_its_signals(void **state)
{
	struct sigaction action = { .sa_sigaction = own_handler, .sa_flags = SA_SIGINFO };
	struct fixture f;

	(void)state;
	assert_int_equal(sigaction(61, &action, NULL), 0);
	setup_signal(&f, 61);
	timer_region_want(&f.host, (pid_t)syscall(SYS_gettid));
	assert_int_equal(enter(&f, AGENT_INSTALL | AGENT_ARM), 0);
	nr_own = 0;
	for (int i = 0; i < 5; i++)
		sigqueue(getpid(), 61, (union sigval){ .sival_int = 7 });
	BURN_UNTIL(f.region->nr_signals >= 1);
	assert_int_equal(nr_own, 5);
	assert_int_equal(f.region->nr_foreign, 5);
	assert_int_equal(enter(&f, AGENT_DETACH), 0);
	sigqueue(getpid(), 61, (union sigval){ .sival_int = 7 });
	assert_int_equal(nr_own, 6);
	signal(61, SIG_DFL);
	teardown(&f);
}

static void a_signal_that_the_program_uses_is_not_taken(void **state)
{
	struct fixture f;

	(void)state;
	signal(62, SIG_IGN);
	setup_signal(&f, 0);
	assert_int_equal(enter(&f, AGENT_INSTALL), 0);
	assert_int_equal(f.region->signal, 61);
	assert_int_equal(enter(&f, AGENT_DETACH), 0);
	signal(62, SIG_DFL);
	teardown(&f);
}

static void a_recorder_that_is_dead_turns_it_off(void **state)
{
	struct fixture f;

	(void)state;
	setup_signal(&f, 0);
	timer_region_want(&f.host, (pid_t)syscall(SYS_gettid));
	f.host.shared->heartbeat_limit_ns = 50000000;
	timer_region_beat(&f.host);
	assert_int_equal(enter(&f, AGENT_INSTALL | AGENT_ARM), 0);
	BURN_UNTIL(f.region->state == AGENT_ORPHANED);
	assert_int_equal(nr_timers(), 0);
	assert_int_equal(enter(&f, AGENT_DETACH), 0);
	teardown(&f);
}

static volatile int stop_thread;
static pid_t thread_tid;

static void *spin(void *argument)
{
	(void)argument;
	__atomic_store_n(&thread_tid, (pid_t)syscall(SYS_gettid), __ATOMIC_RELEASE);
	while (!__atomic_load_n(&stop_thread, __ATOMIC_ACQUIRE))
		sum++;
	return NULL;
}

static bool is_this_thread(void *context, pid_t tid)
{
	(void)context;
	return tid == (pid_t)syscall(SYS_gettid);
}

static void threads_come_and_go_through_the_mailbox(void **state)
{
	struct fixture f;
	pthread_t thread;

	(void)state;
	setup_signal(&f, 0);
	timer_region_want(&f.host, (pid_t)syscall(SYS_gettid));
	assert_int_equal(enter(&f, AGENT_INSTALL | AGENT_ARM), 0);
	stop_thread = 0;
	assert_int_equal(pthread_create(&thread, NULL, spin, NULL), 0);
	while (!__atomic_load_n(&thread_tid, __ATOMIC_ACQUIRE))
		;
	assert_true(timer_region_want(&f.host, thread_tid));
	BURN_UNTIL(nr_timers() == 2); /* the handler of our own timer makes the process timer */
	for (int i = 0; i < 100 && !f.nr_elsewhere; i++) {
		burn(10000000);
		timer_region_read(&f.host, on_record, &f);
	}
	__atomic_store_n(&stop_thread, 1, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
	assert_true(f.nr_elsewhere > 0);
	timer_region_sweep(&f.host, is_this_thread, NULL);
	BURN_UNTIL(nr_timers() == 1);
	assert_int_equal(enter(&f, AGENT_DETACH), 0);
	assert_int_equal(nr_timers(), 0);
	teardown(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_payload_samples_its_process_by_cpu_time),
		cmocka_unit_test(detaching_leaves_no_timer_and_no_handler),
		cmocka_unit_test(a_handler_that_was_there_still_gets_its_signals),
		cmocka_unit_test(a_signal_that_the_program_uses_is_not_taken),
		cmocka_unit_test(a_recorder_that_is_dead_turns_it_off),
		cmocka_unit_test(threads_come_and_go_through_the_mailbox),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
