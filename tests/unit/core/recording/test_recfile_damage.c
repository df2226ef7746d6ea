/* core/recording/recfile_read.c on files that are cut, damaged, or not recordings. */
#include "tests/unit/recording.h"

#include <errno.h>

#include "core/base/buffer.h"
#include "core/recording/record.h"

#define NR_CHUNKS 6 /* of whole_recording(): meta, four with samples, the last */
#define SAMPLES_PER_CHUNK 10

static struct file_bytes whole_recording(void)
{
	struct recfile *w = create_recording("x.data");
	struct file_bytes file;

	for (uint32_t i = 0; i < NR_CHUNKS - 2; i++) {
		record_samples(recfile_sink(w), i * SAMPLES_PER_CHUNK, SAMPLES_PER_CHUNK);
		recfile_flush(w);
	}
	assert_int_equal(recfile_finish(w, NULL, 1), 0);
	recfile_free(w);
	file = read_file("x.data");
	unlink("x.data");
	unlink("x.data.old");
	return file;
}

/* Where each chunk of an undamaged file starts; the last entry is the file's end. */
static void find_chunks(const struct file_bytes *file, size_t ends[NR_CHUNKS + 1])
{
	size_t at = sizeof(struct record_file), nr = 0;

	while (at < file->size) {
		struct record_chunk chunk;

		assert_in_range(nr, 0, NR_CHUNKS - 1);
		memcpy(&chunk, file->data + at, sizeof(chunk));
		ends[nr++] = at;
		at += sizeof(chunk) + chunk.stored_size;
	}
	assert_int_equal(nr, NR_CHUNKS);
	ends[nr] = file->size;
}

static void cut_at_every_byte_keeps_every_whole_chunk(void **state)
{
	struct file_bytes file = whole_recording();
	size_t starts[NR_CHUNKS + 1];

	(void)state;
	find_chunks(&file, starts);
	for (size_t size = 1; size < file.size; size++) {
		struct profile *p = NULL;
		char *note = NULL;
		uint32_t samples = 0;
		int err = read_bytes(file.data, size, &p, &note);

		if (size < sizeof(RECORD_FILE_MAGIC) - 1) {
			assert_int_equal(err, -EINVAL);
			continue;
		}
		assert_int_equal(err, 0);
		for (size_t i = 1; i < NR_CHUNKS - 1; i++) {
			if (starts[i + 1] <= size)
				samples += SAMPLES_PER_CHUNK;
		}
		assert_int_equal(p->nr_samples, samples);
		for (uint32_t i = 0; i < samples; i++)
			assert_sample(p, i, i);
		assert_true(p->meta.unfinished);
		assert_string_not_equal(note, "");
		profile_free(p);
		free(note);
	}
	free(file.data);
}

static void flipped_bit_at_every_byte_is_noticed_and_costs_one_chunk(void **state)
{
	struct file_bytes file = whole_recording();
	size_t starts[NR_CHUNKS + 1], complete = offsetof(struct record_file, complete);
	size_t nr_unnoticed = 0;

	(void)state;
	find_chunks(&file, starts);
	for (size_t i = 0; i < 8 * file.size; i++) {
		size_t at = i / 8, chunk = 0;
		struct profile *p = NULL;
		char *note = NULL;
		int err;

		file.data[at] ^= 1u << i % 8;
		err = read_bytes(file.data, file.size, &p, &note);
		file.data[at] ^= 1u << i % 8;
		if (at < sizeof(RECORD_FILE_MAGIC) - 1) {
			assert_int_equal(err, -EINVAL);
			continue;
		}
		assert_int_equal(err, 0);
		while (at >= starts[chunk + 1])
			chunk++; /* 0 for the file header too */
		/*
		 * Damage that goes unnoticed does no harm: the last chunk also says that the
		 * recording is complete, and zstd frames have some unused bits.
		 */
		if (!p->meta.unfinished) {
			assert_true((at >= complete && at < starts[0]) ||
				    at >= starts[chunk] + sizeof(struct record_chunk));
			nr_unnoticed++;
			chunk = 0;
		}
		if (!chunk || chunk == NR_CHUNKS - 1)
			assert_int_equal(p->nr_samples, SAMPLES_PER_CHUNK * (NR_CHUNKS - 2));
		else if (chunk > 1)
			assert_int_equal(p->nr_samples, SAMPLES_PER_CHUNK * (NR_CHUNKS - 3));
		assert_int_equal(p->nr_samples + p->stats.nr_lost,
				 SAMPLES_PER_CHUNK * (NR_CHUNKS - 2));
		profile_free(p);
		free(note);
	}
	assert_in_range(nr_unnoticed, 64, 64 + 8 * NR_CHUNKS);
	free(file.data);
}

static void samples_of_lost_stacks_are_counted_as_lost(void **state)
{
	struct file_bytes file = whole_recording();
	size_t starts[NR_CHUNKS + 1];
	struct profile *p;
	char *note;

	(void)state;
	find_chunks(&file, starts);
	file.data[starts[2] - 1] ^= 0xff; /* the chunk that holds every frame and stack */
	assert_int_equal(read_bytes(file.data, file.size, &p, &note), 0);
	assert_string_equal(note, "damaged after chunk 0; 5 chunks could be read");
	assert_int_equal(p->nr_samples, 0);
	assert_int_equal(p->stats.nr_lost, SAMPLES_PER_CHUNK * (NR_CHUNKS - 2));
	assert_string_equal(profile_str(p, p->meta.command), "make -j8");
	profile_free(p);
	free(note);
	free(file.data);
}

static void later_chunks_keep_their_meaning_when_one_is_lost(void **state)
{
	struct file_bytes file;
	struct recfile *w = create_recording("x.data");
	struct sink *sink = recfile_sink(w);
	uint64_t from, to;
	struct profile *p;
	char *note, buf[64];

	(void)state;
	record_samples(sink, 0, 5);
	recfile_flush(w);
	from = recfile_size_bytes(w);
	record_module(sink, "/lost"); /* and with it a frame, a thread name and a stack are lost */
	sink->frame(sink, 2, 0x10);
	sink->thread(sink, 7, 7, record_string(sink, "lost"));
	sink->stack(sink, (uint32_t[]){ 0, 3 }, 2);
	recfile_flush(w);
	to = recfile_size_bytes(w);
	record_module(sink, "/found");
	sink->frame(sink, 3, 0x20);
	sink->sample(sink,
		     &(struct profile_sample){
			     .thread = 2, .stack = sink->stack(sink, (uint32_t[]){ 3, 4 }, 2) });
	record_samples(sink, 5, 5);
	recfile_finish(w, NULL, 1);
	recfile_free(w);
	file = read_file("x.data");
	memset(file.data + from, 0, to - from);
	assert_int_equal(read_bytes(file.data, file.size, &p, &note), 0);
	assert_string_equal(note, "damaged after chunk 1; 3 chunks could be read");
	assert_int_equal(p->nr_samples, 11);
	for (uint32_t i = 0; i < 5; i++)
		assert_sample(p, i, i);
	for (uint32_t i = 5; i < 10; i++)
		assert_sample(p, i + 1, i);
	assert_int_equal(p->samples[5].thread, PROFILE_NONE);
	assert_int_equal(p->stacks[p->samples[5].stack].nr_frames, 2);
	for (uint32_t i = 0; i < 2; i++)
		assert_string_equal(
			profile_frame_fallback_name(
				p, p->stack_frames[p->stacks[p->samples[5].stack].first_frame + i],
				buf, sizeof(buf)),
			i ? "found+0x20" : "[unknown]");
	profile_free(p);
	free(note);
	free(file.data);
}

static void garbage_between_chunks_is_skipped(void **state)
{
	struct file_bytes file = whole_recording();
	size_t starts[NR_CHUNKS + 1];
	struct buffer mixed = { 0 };
	struct profile *p;
	char *note;

	(void)state;
	find_chunks(&file, starts);
	buffer_add(&mixed, file.data, starts[3]);
	for (uint32_t i = 0; i < 1000000; i++) /* with bytes that look like a chunk now and then */
		buffer_add(&mixed, i % 1000 ? "junk" : RECORD_CHUNK_MAGIC, 4);
	buffer_add(&mixed, file.data + starts[3], file.size - starts[3]);
	assert_int_equal(read_bytes(mixed.data, mixed.size, &p, &note), 0);
	assert_int_equal(p->nr_samples, SAMPLES_PER_CHUNK * (NR_CHUNKS - 2));
	assert_true(p->meta.unfinished);
	profile_free(p);
	free(note);
	buffer_fini(&mixed);
	free(file.data);
}

static void repeated_chunk_is_not_counted_twice(void **state)
{
	struct file_bytes file = whole_recording();
	size_t starts[NR_CHUNKS + 1];
	struct buffer twice = { 0 };
	struct profile *p;
	char *note;

	(void)state;
	find_chunks(&file, starts);
	buffer_add(&twice, file.data, starts[3]);
	buffer_add(&twice, file.data + starts[2], file.size - starts[2]);
	assert_int_equal(read_bytes(twice.data, twice.size, &p, &note), 0);
	assert_int_equal(p->nr_samples, SAMPLES_PER_CHUNK * (NR_CHUNKS - 2));
	assert_true(p->meta.unfinished);
	profile_free(p);
	free(note);
	buffer_fini(&twice);
	free(file.data);
}

static void what_is_no_recording_is_refused(void **state)
{
	struct profile *p = NULL;
	char *note = NULL;

	(void)state;
	assert_int_equal(read_bytes("main;work 3\n", 12, &p, &note), -EINVAL);
	assert_int_equal(read_bytes("\x93", 1, &p, &note), -EINVAL);
	assert_null(p);
	assert_true(recfile_is_recording(RECORD_FILE_MAGIC "more", 12));
	assert_true(recfile_is_recording(RECORD_FILE_MAGIC, 1));
	assert_false(recfile_is_recording("main;wor", 8));
	assert_false(recfile_is_recording("\x93SPROF\n\n", 8));
	assert_false(recfile_is_recording("", 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cut_at_every_byte_keeps_every_whole_chunk),
		cmocka_unit_test(flipped_bit_at_every_byte_is_noticed_and_costs_one_chunk),
		cmocka_unit_test(samples_of_lost_stacks_are_counted_as_lost),
		cmocka_unit_test(later_chunks_keep_their_meaning_when_one_is_lost),
		cmocka_unit_test(garbage_between_chunks_is_skipped),
		cmocka_unit_test(repeated_chunk_is_not_counted_twice),
		cmocka_unit_test(what_is_no_recording_is_refused),
	};

	return cmocka_run_group_tests(tests, enter_new_directory, remove_directory);
}
