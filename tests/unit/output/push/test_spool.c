/* A spool keeps its limits by dropping what is oldest, whatever is in its folder already. */
#include "tests/unit/recording.h"

#include <dirent.h>
#include <sys/stat.h>

#include "output/push/receiver.h"
#include "output/push/spool.h"

#define LARGE (1u << 30) /* bytes; more than any test keeps */

static struct spool *open_it(uint64_t bytes, size_t requests)
{
	const struct spool_limits limits = { .bytes = bytes, .requests = requests };
	struct spool *s;

	assert_int_equal(spool_open("d", &limits, &s), 0);
	return s;
}

/* Adds a request of two samples whose body is that number. */
static void add(struct spool *s, int number)
{
	struct push_request r = { .receiver = &receiver_parca, .nr_samples = 2 };

	buffer_printf(&r.body, "%d", number);
	assert_int_equal(spool_add(s, &r), 0);
	push_request_fini(&r);
}

/* Writes a request of two samples that is older than those of add(), as an earlier version did. */
static void write_old(int number)
{
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "d/%010d000000000-00000001.push", number);
	f = fopen(path, "w");
	assert_non_null(f);
	fprintf(f, "sprof push 1\nparca\n2\n1\n\n\n%d", number);
	assert_int_equal(fclose(f), 0);
}

/* Is the next request the one with that number? */
static void assert_next(struct spool *s, int number)
{
	struct push_request r;

	assert_true(spool_next(s, &r));
	assert_int_equal(atoi(buffer_cstring(&r.body)), number);
	push_request_fini(&r);
}

static void assert_end(struct spool *s)
{
	struct push_request r;

	assert_false(spool_next(s, &r));
}

static struct spool_stats stats_of(struct spool *s)
{
	struct spool_stats stats;

	spool_stats(s, &stats);
	return stats;
}

static void more_requests_than_the_limit_drop_the_oldest(void **state)
{
	struct spool *s = open_it(LARGE, 4);
	struct spool_stats stats;

	(void)state;
	for (int i = 1; i <= 7; i++)
		add(s, i);
	stats = stats_of(s);
	assert_int_equal(stats.nr_requests, 4);
	assert_int_equal(stats.nr_dropped, 3);
	assert_int_equal(stats.dropped_samples, 6);
	spool_rewind(s);
	for (int i = 4; i <= 7; i++)
		assert_next(s, i);
	assert_end(s);
	spool_close(s);
}

/* Bytes of the disk that all requests take. */
static uint64_t disk_bytes(void)
{
	DIR *d = opendir("d");
	uint64_t bytes = 0;
	struct dirent *e;
	struct stat st;

	assert_non_null(d);
	while ((e = readdir(d)))
		if (strstr(e->d_name, ".push")) {
			assert_int_equal(fstatat(dirfd(d), e->d_name, &st, 0), 0);
			bytes += (uint64_t)st.st_blocks * 512;
		}
	closedir(d);
	return bytes;
}

/* A request of a few bytes takes a whole block of the disk. */
static void small_requests_count_as_what_they_take_on_the_disk(void **state)
{
	struct spool *s = open_it(65536, 0);
	struct spool_stats stats;

	(void)state;
	for (int i = 1; i <= 100; i++)
		add(s, i);
	stats = stats_of(s);
	assert_in_range(disk_bytes(), 0, 65536);
	assert_true(stats.bytes >= disk_bytes());
	assert_true(stats.bytes <= 65536);
	assert_int_equal(stats.nr_requests + stats.nr_dropped, 100);
	spool_rewind(s);
	assert_next(s, (int)stats.nr_dropped + 1);
	spool_close(s);
}

static void a_request_as_large_as_the_spool_is_kept_alone(void **state)
{
	struct push_request r = { .receiver = &receiver_parca, .nr_samples = 2 };
	struct spool *s = open_it(65536, 0);

	(void)state;
	memset(buffer_reserve(&r.body, 65000), 'x', 65000);
	r.body.size = 65000;
	add(s, 1);
	add(s, 2);
	assert_int_equal(spool_add(s, &r), 0);
	assert_int_equal(stats_of(s).nr_requests, 1);
	assert_int_equal(stats_of(s).nr_dropped, 2);
	memset(buffer_reserve(&r.body, 1000), 'x', 1000);
	r.body.size += 1000;
	assert_int_not_equal(spool_add(s, &r), 0);
	assert_int_equal(stats_of(s).nr_requests, 1);
	assert_int_equal(stats_of(s).nr_dropped, 3);
	push_request_fini(&r);
	spool_close(s);
}

enum { NR_OLD = 50, NR_MOST = 4 };

/* An earlier version left more than are listed at once. */
static struct spool *open_overfull(void)
{
	struct spool *s = open_it(LARGE, NR_MOST);

	for (int i = 0; i < NR_OLD; i++)
		write_old(1 + i * 7 % NR_OLD); /* a folder may list files as they were made */
	assert_int_equal(stats_of(s).nr_requests, NR_OLD);
	return s;
}

static void an_overfull_spool_is_sent_from_its_oldest_request_on(void **state)
{
	struct spool *s = open_overfull();

	(void)state;
	for (int i = 1; i <= NR_OLD;) {
		struct push_request r;

		spool_rewind(s);
		assert_next(s, i++);
		spool_remove(s);
		while (spool_next(s, &r)) {
			assert_int_equal(atoi(buffer_cstring(&r.body)), i++);
			push_request_fini(&r);
			spool_remove(s);
		}
	}
	assert_int_equal(stats_of(s).nr_requests, 0);
	assert_int_equal(stats_of(s).nr_dropped, 0);
	spool_close(s);
}

static void an_overfull_spool_keeps_only_the_newest(void **state)
{
	struct spool *s = open_overfull();
	struct spool_stats stats;

	(void)state;
	add(s, NR_OLD + 1);
	stats = stats_of(s);
	assert_int_equal(stats.nr_requests, NR_MOST);
	assert_int_equal(stats.nr_dropped, NR_OLD + 1 - NR_MOST);
	assert_int_equal(stats.dropped_samples, 2 * (NR_OLD + 1 - NR_MOST));
	spool_rewind(s);
	for (int i = NR_OLD + 2 - NR_MOST; i <= NR_OLD + 1; i++)
		assert_next(s, i);
	assert_end(s);
	spool_close(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define IN_DIRECTORY(test)                                                                         \
	cmocka_unit_test_setup_teardown(test, enter_new_directory, remove_directory)
		IN_DIRECTORY(more_requests_than_the_limit_drop_the_oldest),
		IN_DIRECTORY(small_requests_count_as_what_they_take_on_the_disk),
		IN_DIRECTORY(a_request_as_large_as_the_spool_is_kept_alone),
		IN_DIRECTORY(an_overfull_spool_is_sent_from_its_oldest_request_on),
		IN_DIRECTORY(an_overfull_spool_keeps_only_the_newest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
