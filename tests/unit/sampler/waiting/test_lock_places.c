/* Where locks lie is found in the mappings, and reading these takes a share of the time only. */
#include "tests/unit/unit.h"

#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sampler/waiting/lock_places.h"

#define NR_PROCESSES 65 /* one more than are kept in mind */
#define NR_MAPPINGS 20000
#define NR_ROUNDS 10
#define PAGE 4096

static pthread_barrier_t begun, ended;
static pid_t tids[NR_PROCESSES];

static void *stay(void *tid)
{
	*(pid_t *)tid = (pid_t)syscall(SYS_gettid);
	pthread_barrier_wait(&begun);
	pthread_barrier_wait(&ended);
	return NULL;
}

/* As many mappings: every second page has other rights. */
static char *map_pages(void)
{
	char *at = mmap(NULL, (size_t)NR_MAPPINGS * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS,
			-1, 0);

	assert_ptr_not_equal(at, MAP_FAILED);
	for (size_t i = 0; i < NR_MAPPINGS; i += 2)
		assert_int_equal(mprotect(at + i * PAGE, PAGE, PROT_READ | PROT_WRITE), 0);
	return at;
}

/* Threads stand for processes: /proc has the mappings under each of their numbers. */
static void many_processes_of_many_mappings_cost_little(void **state)
{
	struct lock_places *places = lock_places_new(NULL);
	pthread_t threads[NR_PROCESSES];
	char *at = map_pages(), text[256];
	int nr_found = 0;

	(void)state;
	pthread_barrier_init(&begun, NULL, NR_PROCESSES + 1);
	pthread_barrier_init(&ended, NULL, NR_PROCESSES + 1);
	for (int i = 0; i < NR_PROCESSES; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, stay, &tids[i]), 0);
	pthread_barrier_wait(&begun);
	for (int i = 0; i < NR_ROUNDS * NR_PROCESSES; i++) {
		lock_place_text(lock_places_find(places, tids[i % NR_PROCESSES], (uintptr_t)at),
				text, sizeof(text));
		assert_true(!*text || strstr(text, "anonymous"));
		nr_found += *text != '\0';
		assert_true(i || *text);
	}
	print_message("%d of %d found\n", nr_found, NR_ROUNDS * NR_PROCESSES);
	assert_true(nr_found < NR_ROUNDS * NR_PROCESSES / 2);
	pthread_barrier_wait(&ended);
	for (int i = 0; i < NR_PROCESSES; i++)
		pthread_join(threads[i], NULL);
	munmap(at, (size_t)NR_MAPPINGS * PAGE);
	lock_places_free(places);
}

static pthread_mutex_t locks_with_value[3] = { [0] = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP };
static pthread_mutex_t lock_of_zeros;

static void expect(struct lock_places *places, const void *lock, const char *begin)
{
	const struct lock_place *place = lock_places_find(places, getpid(), (uintptr_t)lock);
	char text[256];

	lock_place_text(place, text, sizeof(text));
	print_message("%s, %s\n", place->symbol, text);
	assert_memory_equal(text, begin, strlen(begin));
}

static void a_lock_has_the_name_of_its_variable(void **state)
{
	struct lock_places *places = lock_places_new(NULL);
	pthread_mutex_t on_stack;

	(void)state;
	expect(places, &locks_with_value[0], "locks_with_value (test_lock_places+0x");
	expect(places, &locks_with_value[1], "locks_with_value+0x28 (test_lock_places+0x");
	expect(places, &lock_of_zeros, "lock_of_zeros (test_lock_places+0x");
	expect(places, &on_stack, "[stack]+0x");
	lock_places_free(places);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_lock_has_the_name_of_its_variable),
		cmocka_unit_test(many_processes_of_many_mappings_cost_little),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
