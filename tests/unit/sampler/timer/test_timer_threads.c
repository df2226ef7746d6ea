/* What the timer source knows of threads stays small, however many a target starts or invents. */
#include "tests/unit/unit.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/profile/profile.h"
#include "sampler/timer/targets/timer_process.h"

#define INVENTED (1 << 30) /* no thread has this number or a higher one */
#define NR_INVENTED (3 * TIMER_MAX_ENDED)

static pthread_barrier_t begun, ended;
static pid_t sleeper;

static void *sleep_named(void *context)
{
	pthread_setname_np(pthread_self(), "sleeper");
	sleeper = gettid();
	pthread_barrier_wait(&begun);
	pthread_barrier_wait(&ended);
	return context;
}

static int set_up(void **state)
{
	const struct timer_region_config config = { .period_ns = 1000000 };
	struct timer_process *p = xcalloc(1, sizeof(*p));

	*state = p;
	p->maps.pid = getpid();
	timer_threads_init(p, UINT64_MAX);
	return timer_region_new(&config, &p->region);
}

static int tear_down(void **state)
{
	struct timer_process *p = *state;

	timer_threads_fini(p);
	timer_region_free(&p->region);
	free(p);
	return 0;
}

static size_t most_entries(const struct timer_process *p)
{
	return p->threads.most_threads + TIMER_MAX_ENDED;
}

/* Samples of threads that do not exist; each has a stack of its own. */
static void invent_threads(struct timer_process *p)
{
	for (int i = 0; i < NR_INVENTED; i++) {
		timer_thread(p, INVENTED + i)->last_stack = (uint32_t)i;
		assert_in_range(HASH_COUNT(p->threads.table), 1, most_entries(p));
	}
}

static void invented_threads_do_not_fill_memory(void **state)
{
	struct timer_process *p = *state;

	timer_thread(p, getpid())->last_stack = 7;
	invent_threads(p);
	assert_int_equal(timer_thread(p, getpid())->last_stack, 7);
}

static void the_newest_of_ended_threads_are_remembered(void **state)
{
	struct timer_process *p = *state;

	invent_threads(p);
	for (int i = NR_INVENTED - TIMER_MAX_ENDED / 2; i < NR_INVENTED; i++)
		assert_int_equal(timer_thread(p, INVENTED + i)->last_stack, i);
	assert_int_equal(timer_thread(p, INVENTED)->last_stack, PROFILE_NONE);
}

static void living_threads_keep_their_name_and_last_stack(void **state)
{
	struct timer_process *p = *state;
	struct timer_thread *t;
	pthread_t thread;

	pthread_barrier_init(&begun, NULL, 2);
	pthread_barrier_init(&ended, NULL, 2);
	assert_int_equal(pthread_create(&thread, NULL, sleep_named, NULL), 0);
	pthread_barrier_wait(&begun);
	assert_int_equal(timer_threads_want(p), 0);
	assert_true(p->threads.most_threads >= 2);
	timer_thread(p, sleeper)->last_stack = 7;
	invent_threads(p);
	t = timer_thread(p, sleeper);
	assert_int_equal(t->last_stack, 7);
	assert_string_equal(t->comm, "sleeper");
	pthread_barrier_wait(&ended);
	pthread_join(thread, NULL);
	pthread_barrier_destroy(&begun);
	pthread_barrier_destroy(&ended);
}

#define WITH_PROCESS(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_PROCESS(invented_threads_do_not_fill_memory),
		WITH_PROCESS(the_newest_of_ended_threads_are_remembered),
		WITH_PROCESS(living_threads_keep_their_name_and_last_stack),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
