// BUILD: -Wl,--wrap=unlinkat
/* core/segments/folder.c: who may write into a folder, and what is deleted from it. */
#include "tests/unit/recording.h"

#include <errno.h>
#include <sys/stat.h>

#include "core/base/clock.h"
#include "core/segments/folder.h"

#define S 1000000000ll
#define T UINT64_C(1700000000000000000)

/* A file that cannot be deleted, as if it had the attribute "immutable". */
static const char *immutable;
static size_t nr_tries;

int __real_unlinkat(int dir, const char *name, int flags);
int __wrap_unlinkat(int dir, const char *name, int flags);

int __wrap_unlinkat(int dir, const char *name, int flags)
{
	if (!immutable || strcmp(name, immutable) != 0)
		return __real_unlinkat(dir, name, flags);
	nr_tries++;
	errno = EPERM;
	return -1;
}

static struct folder *open_it(uint64_t max_bytes)
{
	struct folder *f;
	pid_t owner;

	assert_int_equal(folder_open(&(struct folder_opts){ .path = "d", .max_bytes = max_bytes },
				     &f, &owner),
			 0);
	return f;
}

static void add_segment(struct folder *f, uint64_t realtime_ns, size_t size, int64_t now_ns)
{
	char name[SEGMENT_NAME_SIZE];
	int fd = folder_create_segment(f, realtime_ns, name);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)size), 0);
	close(fd);
	folder_end_segment(f, name, size, now_ns);
}

static bool is_there(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0;
}

static void a_second_recorder_is_refused(void **state)
{
	struct folder *f = open_it(0), *second;
	pid_t owner = 0;

	(void)state;
	assert_int_equal(folder_open(&(struct folder_opts){ .path = "d" }, &second, &owner),
			 -EWOULDBLOCK);
	assert_int_equal(owner, getpid());
	folder_free(f);
	folder_free(open_it(0)); /* the lock went with it */
}

/* Else others could plant a lock, names, or a million segments for the recorder to sort. */
static void a_folder_that_others_may_write_to_is_refused(void **state)
{
	struct folder *f;
	pid_t owner;

	(void)state;
	assert_int_equal(mkdir("d", 0700), 0);
	assert_int_equal(chmod("d", 0777), 0);
	assert_int_equal(folder_open(&(struct folder_opts){ .path = "d" }, &f, &owner), -EPERM);
	assert_int_equal(chmod("d", 0770), 0);
	assert_int_equal(folder_open(&(struct folder_opts){ .path = "d" }, &f, &owner), -EPERM);
	assert_false(is_there("d/lock"));
	assert_int_equal(chmod("d", 0755), 0);
	f = open_it(0);
	if (!geteuid()) {
		assert_int_equal(chown("d", 65534, 65534), 0);
		folder_free(f);
		assert_int_equal(folder_open(&(struct folder_opts){ .path = "d" }, &f, &owner),
				 -EPERM);
		assert_int_equal(chown("d", 0, 0), 0);
		f = open_it(0);
	}
	folder_free(f);
}

/* In place of a deleted folder somebody may put one of their own. */
static void a_folder_is_made_anew_where_no_one_else_has(void **state)
{
	char name[SEGMENT_NAME_SIZE];
	struct folder *f = open_it(0);

	(void)state;
	assert_int_equal(system("rm -rf d && mkdir -m 777 d"), 0);
	assert_int_equal(folder_create_segment(f, T, name), -EPERM);
	assert_false(is_there("d/lock"));
	assert_int_equal(rmdir("d"), 0);
	add_segment(f, T, 10, S);
	folder_free(f);
}

/* The time of day was set back: the name is taken already, and nothing is overwritten. */
static void a_name_that_is_taken_is_passed_over(void **state)
{
	struct folder *f = open_it(0);

	(void)state;
	add_segment(f, T, 10, S);
	add_segment(f, T, 20, 2 * S);
	assert_true(is_there("d/sprof-20231114T221320.000Z.data"));
	assert_true(is_there("d/sprof-20231114T221320.001Z.data"));
	folder_free(f);
}

static void only_segments_are_deleted(void **state)
{
	struct folder *f;

	(void)state;
	assert_int_equal(mkdir("d", 0700), 0);
	assert_int_equal(mkdir("d/sprof-20231114T220000.000Z.data", 0700), 0);
	assert_int_equal(symlink("../victim", "d/sprof-20231114T220001.000Z.data"), 0);
	assert_int_equal(system("echo x >victim; echo x >d/notes.txt"), 0);
	f = open_it(15);
	add_segment(f, T, 10, S);
	add_segment(f, T + S, 10, 2 * S);
	assert_int_equal(folder_prune(f, 3 * S, 0, false), 1);
	assert_false(is_there("d/sprof-20231114T221320.000Z.data"));
	assert_true(is_there("d/sprof-20231114T221321.000Z.data"));
	assert_int_equal(folder_prune(f, 3 * S, 100, false), 1);
	assert_int_equal(folder_prune(f, 3 * S, 100, true), 0); /* none is left */
	assert_true(is_there("d/notes.txt"));
	assert_true(is_there("victim"));
	assert_true(is_there("d/sprof-20231114T220000.000Z.data"));
	assert_true(is_there("d/sprof-20231114T220001.000Z.data"));
	folder_free(f);
}

static void a_segment_that_cannot_be_deleted_is_not_forgotten(void **state)
{
	struct folder *f = open_it(25);

	(void)state;
	for (int i = 0; i < 3; i++)
		add_segment(f, T + (uint64_t)i * S, 10, (i + 1) * S);
	immutable = "sprof-20231114T221320.000Z.data";
	assert_int_equal(folder_prune(f, 4 * S, 0, false), 0);
	assert_int_equal(nr_tries, 1);
	immutable = NULL;
	assert_int_equal(folder_prune(f, 4 * S, 0, false), 1);
	assert_false(is_there("d/sprof-20231114T221320.000Z.data"));
	assert_true(is_there("d/sprof-20231114T221321.000Z.data"));
	folder_free(f);
}

static void a_segment_that_cannot_be_deleted_does_not_keep_younger_ones(void **state)
{
	struct folder *f = open_it(25);

	(void)state;
	for (int i = 0; i < 4; i++)
		add_segment(f, T + (uint64_t)i * S, 10, (i + 1) * S);
	immutable = "sprof-20231114T221320.000Z.data";
	nr_tries = 0;
	assert_int_equal(folder_prune(f, 5 * S, 0, false), 1);
	assert_true(is_there("d/sprof-20231114T221320.000Z.data"));
	assert_false(is_there("d/sprof-20231114T221321.000Z.data"));
	/* On a full disk it is the next one that goes. */
	assert_int_equal(folder_prune(f, 5 * S, 0, true), 1);
	assert_false(is_there("d/sprof-20231114T221322.000Z.data"));
	assert_true(is_there("d/sprof-20231114T221323.000Z.data"));
	assert_int_equal(folder_prune(f, 5 * S, 0, true), 1);
	assert_int_equal(folder_prune(f, 5 * S, 0, true), 0);
	assert_int_equal(nr_tries, 4); /* once each time */
	immutable = NULL;
	folder_free(f);
}

/* By hand, or by a program that tidies up. */
static void a_segment_that_is_gone_is_forgotten(void **state)
{
	struct folder *f = open_it(15);

	(void)state;
	add_segment(f, T, 10, S);
	add_segment(f, T + S, 10, 2 * S);
	assert_int_equal(unlink("d/sprof-20231114T221320.000Z.data"), 0);
	assert_int_equal(folder_prune(f, 3 * S, 0, false), 1);
	assert_int_equal(folder_prune(f, 3 * S, 0, false), 0);
	assert_true(is_there("d/sprof-20231114T221321.000Z.data"));
	folder_free(f);
}

static void segments_of_an_earlier_recorder_count(void **state)
{
	struct folder *f = open_it(0);

	(void)state;
	add_segment(f, T, 100000, S);
	folder_free(f);
	assert_int_equal(system("head -c 100000 /dev/zero >d/sprof-20231114T221320.000Z.data"), 0);
	f = open_it(50000);
	assert_int_equal(folder_prune(f, 2 * S, 0, false), 1);
	assert_false(is_there("d/sprof-20231114T221320.000Z.data"));
	folder_free(f);
}

/* A recorder was killed while it packed one, or packed it since it ended. */
static void packed_segments_count_as_they_are(void **state)
{
	struct folder *f = open_it(50000);

	(void)state;
	add_segment(f, T, 100000, S);
	assert_int_equal(truncate("d/sprof-20231114T221320.000Z.data", 1000), 0);
	folder_measure_segment(f, "sprof-20231114T221320.000Z.data");
	folder_measure_segment(f, "sprof-20231114T221321.000Z.data"); /* there is none */
	assert_int_equal(folder_prune(f, 2 * S, 0, false), 0);
	folder_free(f);
	assert_int_equal(system("touch d/.sprof-20231114T221320.000Z.data d/.other"), 0);
	f = open_it(0);
	assert_false(is_there("d/.sprof-20231114T221320.000Z.data"));
	assert_true(is_there("d/.other"));
	assert_true(is_there("d/sprof-20231114T221320.000Z.data"));
	folder_free(f);
}

static void a_deleted_folder_is_made_anew(void **state)
{
	struct folder *f = open_it(0);

	(void)state;
	add_segment(f, T, 10, S);
	assert_true(folder_is_there(f));
	assert_int_equal(system("rm -rf d"), 0);
	assert_false(folder_is_there(f));
	add_segment(f, T + S, 10, S);
	assert_true(folder_is_there(f));
	assert_true(is_there("d/sprof-20231114T221321.000Z.data"));
	folder_free(f);
}

static void the_last_segments_can_be_kept(void **state)
{
	struct folder *f = open_it(1);
	bool full;

	(void)state;
	for (int i = 0; i < 4; i++)
		add_segment(f, T + (uint64_t)i * S, 10, (i + 1) * S);
	assert_int_equal(system("echo names >d/names/abcd"), 0);
	assert_int_equal(folder_keep(f, 3 * S, 0, &full), 2);
	assert_false(full);
	assert_int_equal(folder_keep(f, 3 * S, 0, &full), 0);
	assert_true(is_there("d/sprof-20231114T221323.000Z.data"));
	assert_int_equal(folder_prune(f, 5 * S, 0, false), 4);
	assert_false(is_there("d/sprof-20231114T221323.000Z.data"));
	assert_true(is_there("d/kept/sprof-20231114T221322.000Z.data"));
	assert_true(is_there("d/kept/sprof-20231114T221323.000Z.data"));
	assert_true(is_there("d/kept/names/abcd"));
	assert_int_equal(system("echo more >d/names/beef"), 0);
	assert_int_equal(folder_keep_names(f), 0);
	assert_true(is_there("d/kept/names/beef"));
	folder_free(f);
}

static void no_more_is_kept_than_the_limit_allows(void **state)
{
	struct folder *f = open_it(0);
	bool full;

	(void)state;
	for (int i = 0; i < 3; i++)
		add_segment(f, T + (uint64_t)i * S, 10, (i + 1) * S);
	assert_int_equal(folder_keep(f, 0, 25, &full), 2);
	assert_true(full);
	assert_false(is_there("d/kept/sprof-20231114T221320.000Z.data"));
	assert_true(is_there("d/kept/sprof-20231114T221321.000Z.data"));
	assert_true(is_there("d/kept/sprof-20231114T221322.000Z.data"));
	folder_free(f);
}

/* In a folder whose only segment ended so long ago, which names are kept? */
static void unused_names_stay_for_as_long(int64_t segment_s, const char *kept, const char *deleted)
{
	int64_t now_ns = boottime_ns();
	struct folder *f = open_it(0);
	char command[256];

	add_segment(f, T, 10, now_ns - segment_s * S);
	snprintf(command, sizeof(command),
		 "cd d/names && touch ab && touch -d '%s ago' cd && touch -d '%s ago' ef", kept,
		 deleted);
	assert_int_equal(system(command), 0);
	folder_tidy_names(f, now_ns);
	assert_true(is_there("d/names/ab"));
	assert_true(is_there("d/names/cd"));
	assert_false(is_there("d/names/ef"));
	folder_free(f);
	assert_int_equal(system("rm -r d"), 0);
}

static void names_that_no_segment_needs_are_deleted(void **state)
{
	(void)state;
	unused_names_stay_for_as_long(20, "30 seconds", "50 seconds");
	unused_names_stay_for_as_long(10800, "210 minutes", "270 minutes");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define IN_DIRECTORY(test)                                                                         \
	cmocka_unit_test_setup_teardown(test, enter_new_directory, remove_directory)
		IN_DIRECTORY(a_second_recorder_is_refused),
		IN_DIRECTORY(a_folder_that_others_may_write_to_is_refused),
		IN_DIRECTORY(a_folder_is_made_anew_where_no_one_else_has),
		IN_DIRECTORY(a_name_that_is_taken_is_passed_over),
		IN_DIRECTORY(only_segments_are_deleted),
		IN_DIRECTORY(a_segment_that_cannot_be_deleted_is_not_forgotten),
		IN_DIRECTORY(a_segment_that_cannot_be_deleted_does_not_keep_younger_ones),
		IN_DIRECTORY(a_segment_that_is_gone_is_forgotten),
		IN_DIRECTORY(segments_of_an_earlier_recorder_count),
		IN_DIRECTORY(packed_segments_count_as_they_are),
		IN_DIRECTORY(a_deleted_folder_is_made_anew),
		IN_DIRECTORY(the_last_segments_can_be_kept),
		IN_DIRECTORY(no_more_is_kept_than_the_limit_allows),
		IN_DIRECTORY(names_that_no_segment_needs_are_deleted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
