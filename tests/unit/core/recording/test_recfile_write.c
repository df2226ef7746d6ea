// BUILD: -Wl,--wrap=pwrite64 -Wl,--wrap=pwrite
/*
 * core/recording/recfile_write.c: where a recording is written, and what is left when writing ends
 * early.
 */
#include "tests/unit/recording.h"

#include <errno.h>
#include <sys/stat.h>

/* Writes beyond this size fail with ENOSPC, after a part that still fits. */
static uint64_t disk_size = UINT64_MAX;
static bool interrupt_next_write;

ssize_t __real_pwrite64(int fd, const void *data, size_t size, off_t offset);

ssize_t __wrap_pwrite64(int fd, const void *data, size_t size, off_t offset)
{
	if (interrupt_next_write) {
		interrupt_next_write = false;
		errno = EINTR;
		return -1;
	}
	if ((uint64_t)offset >= disk_size) {
		errno = ENOSPC;
		return -1;
	}
	if (size > disk_size - (uint64_t)offset)
		size = disk_size - (uint64_t)offset;
	return __real_pwrite64(fd, data, size, offset);
}

ssize_t __wrap_pwrite(int fd, const void *data, size_t size, off_t offset)
{
	return __wrap_pwrite64(fd, data, size, offset);
}

static void finish(struct recfile *w)
{
	assert_int_equal(recfile_finish(w, NULL, 9000000000), 0);
	recfile_free(w);
}

static void recording_is_private(void **state)
{
	struct stat st;
	mode_t mask = umask(0);

	(void)state;
	finish(create_recording("x.data"));
	umask(mask);
	assert_int_equal(stat("x.data", &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
}

static void existing_recording_becomes_old(void **state)
{
	struct profile *p;

	(void)state;
	for (uint32_t i = 1; i <= 3; i++) {
		struct recfile *w = create_recording("x.data");

		record_samples(recfile_sink(w), 0, i);
		finish(w);
	}
	p = read_recording("x.data", NULL);
	assert_int_equal(p->nr_samples, 3);
	profile_free(p);
	p = read_recording("x.data.old", NULL);
	assert_int_equal(p->nr_samples, 2);
	profile_free(p);
}

static void what_is_no_regular_file_is_refused(void **state)
{
	struct recfile *w = NULL;
	struct stat st;

	(void)state;
	assert_int_equal(symlink("elsewhere", "link"), 0);
	assert_int_equal(recfile_create("link", &test_meta, &w), -ELOOP);
	assert_int_equal(stat("elsewhere", &st), -1);
	assert_int_equal(lstat("link", &st), 0);
	assert_int_equal(mkdir("directory", 0700), 0);
	assert_int_equal(recfile_create("directory", &test_meta, &w), -EISDIR);
	assert_int_equal(mkfifo("fifo", 0600), 0);
	assert_int_equal(recfile_create("fifo", &test_meta, &w), -EOPNOTSUPP);
	assert_int_equal(recfile_create("no/such/place", &test_meta, &w), -ENOENT);
	assert_null(w);
}

static void old_name_that_is_a_symlink_is_replaced_not_followed(void **state)
{
	struct stat st;

	(void)state;
	finish(create_recording("y.data"));
	assert_int_equal(symlink("victim", "y.data.old"), 0);
	finish(create_recording("y.data"));
	assert_int_equal(lstat("y.data.old", &st), 0);
	assert_true(S_ISREG(st.st_mode));
	assert_int_equal(stat("victim", &st), -1);
}

static void killed_recording_keeps_what_was_flushed(void **state)
{
	struct recfile *w = create_recording("x.data");
	struct profile *p;
	char *note;

	(void)state;
	record_samples(recfile_sink(w), 0, 20);
	recfile_set_stats(w, &(struct profile_stats){ .nr_lost = 7 });
	recfile_flush(w);
	record_samples(recfile_sink(w), 20, 5);
	p = read_recording("x.data", &note); /* what is in the file when the recorder dies */
	assert_string_equal(note, "the recorder was killed, or is still running");
	assert_true(p->meta.unfinished);
	assert_int_equal(p->nr_samples, 20);
	assert_int_equal(p->stats.nr_samples, 20);
	assert_int_equal(p->stats.nr_lost, 7);
	assert_int_equal(p->meta.end_ns, p->samples[19].time_ns);
	profile_free(p);
	free(note);
	recfile_free(w);
}

static void full_disk_leaves_a_readable_recording(void **state)
{
	(void)state;
	for (uint64_t room = 0; room < 3000; room += 37) {
		struct recfile *w = create_recording("x.data");
		uint64_t before = recfile_size_bytes(w);
		struct profile *p;
		struct stat st;
		int err = 0;

		disk_size = before + room;
		for (uint32_t i = 0; i < 20; i++) {
			record_samples(recfile_sink(w), 10 * i, 10);
			err = recfile_flush(w);
		}
		assert_int_equal(err, -ENOSPC);
		assert_int_equal(recfile_finish(w, NULL, 1), -ENOSPC);
		disk_size = UINT64_MAX;
		assert_int_equal(stat("x.data", &st), 0);
		assert_int_equal(st.st_size, recfile_size_bytes(w));
		p = read_recording("x.data", NULL);
		assert_true(p->meta.unfinished);
		assert_int_equal(p->stats.nr_lost, recfile_nr_lost(w));
		assert_int_equal(p->nr_samples + recfile_nr_lost(w), 200);
		for (uint32_t i = 0; i < p->nr_samples; i++)
			assert_sample(p, i, i);
		profile_free(p);
		recfile_free(w);
	}
}

static void recording_that_does_not_fit_at_all_is_not_left_behind(void **state)
{
	struct recfile *w = NULL;
	struct stat st;

	(void)state;
	disk_size = 100;
	assert_int_equal(recfile_create("x.data", &test_meta, &w), -ENOSPC);
	disk_size = UINT64_MAX;
	assert_null(w);
	assert_int_equal(stat("x.data", &st), -1);
}

static void idle_second_writes_nothing(void **state)
{
	struct recfile *w = create_recording("x.data");
	uint64_t size = recfile_size_bytes(w);

	(void)state;
	assert_int_equal(recfile_flush(w), 0);
	assert_int_equal(recfile_size_bytes(w), size);
	record_samples(recfile_sink(w), 0, 1);
	assert_int_equal(recfile_flush(w), 0);
	assert_in_range(recfile_size_bytes(w), size + 1, size + 1000);
	finish(w);
}

static void interrupted_write_is_repeated(void **state)
{
	struct recfile *w = create_recording("x.data");
	struct profile *p;

	(void)state;
	record_samples(recfile_sink(w), 0, 10);
	interrupt_next_write = true;
	assert_int_equal(recfile_flush(w), 0);
	assert_false(interrupt_next_write);
	finish(w);
	p = read_recording("x.data", NULL);
	assert_int_equal(p->nr_samples, 10);
	profile_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(recording_is_private),
		cmocka_unit_test(existing_recording_becomes_old),
		cmocka_unit_test(what_is_no_regular_file_is_refused),
		cmocka_unit_test(old_name_that_is_a_symlink_is_replaced_not_followed),
		cmocka_unit_test(killed_recording_keeps_what_was_flushed),
		cmocka_unit_test(full_disk_leaves_a_readable_recording),
		cmocka_unit_test(recording_that_does_not_fit_at_all_is_not_left_behind),
		cmocka_unit_test(idle_second_writes_nothing),
		cmocka_unit_test(interrupted_write_is_repeated),
	};

	return cmocka_run_group_tests(tests, enter_new_directory, remove_directory);
}
