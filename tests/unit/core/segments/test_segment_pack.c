/* core/segments/segment_pack.c: a segment becomes smaller and stays the same. */
#include "tests/unit/recording.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "core/segments/segment_pack.h"

#define NAME "sprof-20231114T221320.000Z.data"

enum { CHUNKS = 40, SAMPLES = 7 };

static void write_segment(bool finished)
{
	int fd = open(NAME, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	struct recfile *w;

	assert_true(fd >= 0);
	assert_int_equal(recfile_create_in(fd, &test_meta, &w), 0);
	for (uint32_t i = 0; i < CHUNKS; i++) {
		record_samples(recfile_sink(w), i * SAMPLES, SAMPLES);
		recfile_set_stats(w, &(struct profile_stats){ .nr_lost = i });
		assert_int_equal(recfile_flush(w), 0);
	}
	if (finished)
		assert_int_equal(recfile_finish(w, NULL, 9000000000), 0);
	recfile_free(w);
}

static int pack(void)
{
	int folder = open(".", O_RDONLY | O_DIRECTORY), err;

	err = segment_pack(folder, NAME);
	close(folder);
	assert_int_equal(access("." NAME, F_OK), -1); /* nothing is left over */
	return err;
}

static off_t size_of(const char *path)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return st.st_size;
}

static void expect_all_samples(const char *path)
{
	char *note;
	struct profile *p = read_recording(path, &note);

	assert_string_equal(note, "");
	assert_false(p->meta.unfinished);
	assert_int_equal(p->meta.end_ns, 9000000000);
	assert_int_equal(p->nr_samples, CHUNKS * SAMPLES);
	assert_int_equal(p->stats.nr_samples, CHUNKS * SAMPLES);
	assert_int_equal(p->stats.nr_lost, CHUNKS - 1);
	assert_string_equal(profile_str(p, p->meta.hostname), "host");
	free(note);
	profile_free(p);
}

static void a_packed_segment_is_smaller_and_says_the_same(void **state)
{
	struct profile *before, *after;
	off_t size;

	(void)state;
	write_segment(true);
	size = size_of(NAME);
	before = read_recording(NAME, NULL);
	assert_int_equal(pack(), 0);
	assert_true(size_of(NAME) < size / 2);
	expect_all_samples(NAME);
	after = read_recording(NAME, NULL);
	assert_int_equal(after->nr_stacks, before->nr_stacks);
	assert_int_equal(after->nr_frames, before->nr_frames);
	assert_int_equal(after->nr_strings, before->nr_strings);
	for (size_t i = 0; i < before->nr_samples; i++) {
		assert_int_equal(after->samples[i].time_ns, before->samples[i].time_ns);
		assert_int_equal(after->samples[i].stack, before->samples[i].stack);
		assert_int_equal(after->samples[i].thread, before->samples[i].thread);
	}
	profile_free(before);
	profile_free(after);
	assert_int_equal(pack(), 0); /* again: nothing happens to it */
	expect_all_samples(NAME);
}

static void a_second_link_keeps_the_whole_segment(void **state)
{
	(void)state;
	write_segment(true);
	unlink("kept");
	assert_int_equal(link(NAME, "kept"), 0);
	assert_int_equal(pack(), 0);
	expect_all_samples(NAME);
	expect_all_samples("kept");
}

static void what_is_no_whole_segment_stays_as_it_is(void **state)
{
	struct file_bytes before, after;
	int fd;

	(void)state;
	write_segment(false);
	before = read_file(NAME);
	assert_int_equal(pack(), -EBADMSG);
	after = read_file(NAME);
	assert_int_equal(after.size, before.size);
	assert_memory_equal(after.data, before.data, before.size);
	free(before.data);
	free(after.data);
	write_segment(true);
	fd = open(NAME, O_WRONLY);
	assert_int_equal(pwrite(fd, "xxxx", 4, size_of(NAME) / 2), 4);
	close(fd);
	assert_int_equal(pack(), -EBADMSG);
	unlink(NAME);
	assert_int_equal(pack(), -ENOENT);
	assert_int_equal(access(NAME, F_OK), -1);
	assert_int_equal(symlink("kept", NAME), 0);
	assert_int_equal(pack(), -ELOOP);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_packed_segment_is_smaller_and_says_the_same),
		cmocka_unit_test(a_second_link_keeps_the_whole_segment),
		cmocka_unit_test(what_is_no_whole_segment_stays_as_it_is),
	};

	return cmocka_run_group_tests(tests, enter_new_directory, remove_directory);
}
