/* Which allocations are sampled, by the code that decides it: sums of weights have no bias. */
#include "tests/unit/unit.h"

#include <math.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* All threads have the same hash. */
#define alloc_thread alloc_thread_itself
#include "sampler/agent/alloc/x86_64/thread.h"
#undef alloc_thread
static inline __u64 alloc_thread(void)
{
	return 0x7f0012345000;
}

/* In-target code is not part of the host's library, so it is compiled into this test. */
#include "sampler/agent/alloc/countdown.c"
#include "sampler/alloc/alloc_samples.h"

#define SIGMAS 5.0 /* by chance in one run of a million */

/* Private memory lies behind the code, as in a target. */
#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)
#define HOME_SIZE 0x400000
__asm__(".pushsection .bss\n"
	".balign 4096\n"
	".globl agent_payload_start\n"
	".hidden agent_payload_start\n"
	"agent_payload_start: .skip " TEXT(HOME_SIZE) "\n"
						      ".popsection\n");

/* The program: sizes from 1 to 2 * mean - 1, some blocks far larger than the interval. */
struct program {
	uint64_t random, mean, large;
};

static uint64_t next_size(struct program *p)
{
	p->random = p->random * 6364136223846793005ull + 1442695040888963407ull;
	if (p->large && !(p->random >> 54))
		return p->large;
	return 1 + (p->random >> 33) % (2 * p->mean - 1);
}

struct sums {
	double bytes, truth, variance;
	double count, count_truth, count_variance;
};

static struct alloc_private *make(struct alloc_shared *s, uint64_t interval)
{
	struct alloc_private *a = alloc_home();

	_Static_assert(sizeof(*a) + ALLOC_CODE_SIZE <= HOME_SIZE, "HOME_SIZE");
	memset(a, 0, sizeof(*a));
	a->magic = ALLOC_MAGIC;
	a->shared = (uint64_t)(uintptr_t)s;
	a->clock_gettime = (uint64_t)(uintptr_t)clock_gettime;
	s->heartbeat_ns = alloc_now_ns();
	s->heartbeat_limit_ns = 3600ull * 1000000000;
	s->interval = interval;
	return a;
}

/* An allocation, as the stub and the slow path count it. */
static void allocate(struct alloc_private *a, uint64_t size, uint64_t number, struct sums *sums)
{
	struct alloc_counter *c = alloc_counter_of(a);
	uint64_t interval = 0;

	sums->truth += (double)size;
	sums->count_truth++;
	c->left -= (int64_t)size;
	if (c->left < 0)
		interval = alloc_crossed(a, size);
	assert_true(c->left >= 0);
	if (interval) {
		struct alloc_weight w = alloc_weight_of(size, interval, number);

		sums->bytes += (double)w.bytes;
		sums->count += (double)w.count;
	}
}

/* Of the sums if that allocation is sampled by the interval. */
static void add_variance(uint64_t size, uint64_t interval, struct sums *sums)
{
	double chance = -expm1(-(double)size / (double)interval), odds = (1 - chance) / chance;

	sums->variance += (double)size * (double)size * odds;
	sums->count_variance += odds;
}

static void is_unbiased(const struct sums *s)
{
	double bytes = s->bytes / s->truth - 1, error = sqrt(s->variance) / s->truth;
	double count = s->count / s->count_truth - 1;
	double count_error = sqrt(s->count_variance) / s->count_truth;

	print_message("bytes %+.4f %% +- %.4f %%, blocks %+.4f %% +- %.4f %%\n", 100 * bytes,
		      100 * error, 100 * count, 100 * count_error);
	assert_true(fabs(bytes) < SIGMAS * error);
	assert_true(fabs(count) < SIGMAS * count_error);
}

static void run(uint64_t interval, struct program p, size_t nr)
{
	struct alloc_shared *s = calloc(1, sizeof(*s));
	struct alloc_private *a = make(s, interval);
	struct sums sums = { 0 };

	for (size_t i = 0; i < nr; i++) {
		uint64_t size = next_size(&p);

		add_variance(size, interval, &sums);
		allocate(a, size, i, &sums);
	}
	is_unbiased(&sums);
	free(s);
}

static void sums_have_no_bias(void **state)
{
	(void)state;
	run(32768, (struct program){ 1, 500, 0 }, 20000000);
	run(32768, (struct program){ 2, 500, 400000 }, 20000000);
	run(2048, (struct program){ 3, 200, 0 }, 20000000);
}

/* A byte more or less in each distance is a large part of such an interval. */
static void nor_have_those_by_the_shortest_intervals(void **state)
{
	(void)state;
	run(64, (struct program){ 4, 24, 0 }, 10000000);
	run(16, (struct program){ 5, 3, 0 }, 10000000);
	run(1, (struct program){ 6, 1, 0 }, 3000000);
}

/* It changes while a distance is counted down, by what was sampled before. */
static void an_interval_may_change_at_any_time(void **state)
{
	struct alloc_shared *s = calloc(1, sizeof(*s));
	struct alloc_private *a = make(s, 4096);
	struct program p = { 7, 300, 100000 };
	struct sums sums = { 0 };
	double last = 0;

	(void)state;
	for (size_t i = 0; i < 20000000; i++) {
		uint64_t size = next_size(&p), interval = alloc_counter_of(a)->interval;

		add_variance(size, interval ? interval : s->interval, &sums);
		allocate(a, size, i, &sums);
		if (i % 50)
			continue;
		/* what was sampled makes it longer, what was not, shorter */
		if (sums.bytes > last && s->interval < 65536)
			s->interval *= 2;
		else if (sums.bytes <= last && s->interval > 512)
			s->interval /= 2;
		last = sums.bytes;
	}
	is_unbiased(&sums);
	free(s);
}

/* The first distance of a thread begins with its first allocation. */
static void short_lives_of_threads_leave_no_bias(void **state)
{
	struct alloc_shared *s = calloc(1, sizeof(*s));
	struct alloc_private *a = make(s, 4096);
	struct program p = { 8, 300, 100000 };
	struct sums sums = { 0 };

	(void)state;
	for (size_t i = 0; i < 5000000; i++) {
		uint64_t size = next_size(&p);

		if (i % 7 == 0) { /* another counter: its random state goes on */
			alloc_counter_of(a)->left = 0;
			alloc_counter_of(a)->interval = 0;
		}
		add_variance(size, 4096, &sums);
		allocate(a, size, i, &sums);
	}
	is_unbiased(&sums);
	free(s);
}

static void blocks_that_are_chosen_alone_have_no_bias(void **state)
{
	struct alloc_shared *s = calloc(1, sizeof(*s));
	struct alloc_private *a = make(s, 0);
	struct program p = { 9, 64, 2000 };
	struct sums sums = { 0 };

	(void)state;
	s->tensor_interval = 256;
	for (size_t i = 0; i < 5000000; i++) {
		uint64_t size = next_size(&p), interval = alloc_chosen_alone(a, size, 0);
		struct alloc_weight w = { 0, 0 };

		if (interval)
			w = alloc_weight_of(size, interval, i);
		sums.bytes += (double)w.bytes;
		sums.count += (double)w.count;
		sums.truth += (double)size;
		sums.count_truth++;
		add_variance(size, 256, &sums);
	}
	is_unbiased(&sums);
	free(s);
}

/* ---- what a hooked function counts is given to the counter before */

#define LEFT 7
#define SIZE 513

static __u64 asks_nobody(__u64 a, __u64 b, __u64 c)
{
	return a + b + c;
}

static __u64 asks_a_hooked_one(__u64 a, __u64 b, __u64 c)
{
	alloc_counter_of(alloc_home())->left -= SIZE;
	return a + b + c;
}

static int64_t left_after(original_fn *original)
{
	const __u64 arguments[3] = { 1, 2, 4 };
	struct alloc_private *a = alloc_home();

	assert_int_equal(alloc_uncounted(a, original, arguments, SIZE), 7);
	return alloc_counter_of(a)->left;
}

static void a_counter_is_as_before_whether_a_hook_has_counted_or_not(void **state)
{
	struct alloc_shared *s = calloc(1, sizeof(*s));
	struct alloc_private *a = make(s, 4096);

	(void)state;
	alloc_counter_of(a)->left = LEFT;
	assert_int_equal(left_after(asks_nobody), LEFT);
	assert_int_equal(left_after(asks_a_hooked_one), LEFT);
	free(s);
}

static sem_t second_has_begun, first_is_done;
static pthread_t second;

static __u64 counts_after_the_first(__u64 a, __u64 b, __u64 c)
{
	sem_post(&second_has_begun);
	sem_wait(&first_is_done);
	return asks_a_hooked_one(a, b, c);
}

static void *run_second(void *unused)
{
	const __u64 arguments[3] = { 0, 0, 0 };

	alloc_uncounted(alloc_home(), counts_after_the_first, arguments, SIZE);
	return unused;
}

static __u64 counts_after_the_second_has_begun(__u64 a, __u64 b, __u64 c)
{
	assert_int_equal(pthread_create(&second, NULL, run_second, NULL), 0);
	sem_wait(&second_has_begun);
	return asks_a_hooked_one(a, b, c);
}

static void so_it_is_with_two_threads_at_once(void **state)
{
	struct alloc_shared *s = calloc(1, sizeof(*s));
	struct alloc_private *a = make(s, 4096);

	(void)state;
	sem_init(&second_has_begun, 0, 0);
	sem_init(&first_is_done, 0, 0);
	alloc_counter_of(a)->left = LEFT;
	left_after(counts_after_the_second_has_begun);
	sem_post(&first_is_done);
	pthread_join(second, NULL);
	assert_int_equal(alloc_counter_of(a)->left, LEFT);
	free(s);
}

static __attribute__((noinline)) void count_one(__u64 *number)
{
	*number += 1;
}

/* The compiler knows where private memory lies, but not what is in it. */
static void private_memory_is_read_again_after_a_call(void **state)
{
	__u64 before = alloc_home()->nr_inside;

	(void)state;
	count_one(&alloc_home()->nr_inside);
	assert_int_equal(alloc_home()->nr_inside, before + 1);
}

int main(void)
{
	const struct CMUnitTest unit_tests[] = {
		cmocka_unit_test(sums_have_no_bias),
		cmocka_unit_test(nor_have_those_by_the_shortest_intervals),
		cmocka_unit_test(an_interval_may_change_at_any_time),
		cmocka_unit_test(short_lives_of_threads_leave_no_bias),
		cmocka_unit_test(blocks_that_are_chosen_alone_have_no_bias),
		cmocka_unit_test(a_counter_is_as_before_whether_a_hook_has_counted_or_not),
		cmocka_unit_test(so_it_is_with_two_threads_at_once),
		cmocka_unit_test(private_memory_is_read_again_after_a_call),
	};

	return cmocka_run_group_tests(unit_tests, NULL, NULL);
}
