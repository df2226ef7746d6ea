/* core/recording/decode.c on content made by hand: newer than the reader, or hostile. */
#include "tests/unit/recording.h"

#include <xxhash.h>
#include <zstd.h>

#include "core/base/buffer.h"
#include "core/recording/record.h"

/* Chunks of hand-made content behind a good header. */
static void craft_header(struct buffer *file, uint16_t major, uint16_t minor)
{
	struct record_file header = {
		.magic = RECORD_FILE_MAGIC,
		.version_major = major,
		.version_minor = minor,
		.header_size = sizeof(header),
	};

	header.check = XXH64(&header, offsetof(struct record_file, check), 0);
	buffer_add(file, &header, sizeof(header));
}

static void craft_chunk(struct buffer *file, struct record_chunk chunk,
			const struct buffer *content)
{
	size_t bound = ZSTD_compressBound(content->size);
	void *frame = xmalloc(bound);

	memcpy(chunk.magic, RECORD_CHUNK_MAGIC, sizeof(chunk.magic));
	if (!chunk.kind)
		chunk.kind = RECORD_CHUNK_RECORDS;
	if (!chunk.raw_size)
		chunk.raw_size = content->size;
	chunk.stored_size = ZSTD_compress(frame, bound, content->data, content->size, 1);
	chunk.check = XXH64(&chunk, offsetof(struct record_chunk, check), 0);
	buffer_add(file, &chunk, sizeof(chunk));
	buffer_add(file, frame, chunk.stored_size);
	free(frame);
}

static void craft_record(struct buffer *content, uint16_t type, const void *payload, size_t size)
{
	struct record_head head = { .type = type, .size = size };

	buffer_add(content, &head, sizeof(head));
	buffer_add(content, payload, size);
}

#define RECORD(content, type, ...)                                                                 \
	craft_record(content, type, (uint8_t[]){ __VA_ARGS__ }, sizeof((uint8_t[]){ __VA_ARGS__ }))

/* String 1, one file, one thread, two frames, two stacks; no samples. */
static void craft_tables(struct buffer *content)
{
	RECORD(content, RECORD_STRINGS, 2, '/', 'x');
	RECORD(content, RECORD_MODULES, 6, 1, 0, MODULE_ELF, 0, 0, 0);
	RECORD(content, RECORD_THREADS, 9, 9, 1);
	RECORD(content, RECORD_FRAMES, 0, 2, 0, 4);
	RECORD(content, RECORD_STACKS, 0, 1, 0, 1, 1, 1);
}

/* Reads a recording whose only chunk has this content. */
static struct profile *read_content(const struct buffer *content)
{
	struct record_chunk chunk = { .flags = RECORD_CHUNK_LAST, .first.string = 1 };
	struct buffer file = { 0 };
	struct profile *p = NULL;
	char *note;

	craft_header(&file, RECORD_VERSION_MAJOR, RECORD_VERSION_MINOR);
	craft_chunk(&file, chunk, content);
	assert_int_equal(read_bytes(file.data, file.size, &p, &note), 0);
	free(note);
	buffer_fini(&file);
	return p;
}

static void what_a_later_minor_version_adds_is_skipped(void **state)
{
	struct record_chunk chunk = { .first.string = 1 };
	struct buffer file = { 0 }, content = { 0 };
	struct profile *p = NULL;
	char *note = NULL;

	(void)state;
	craft_header(&file, RECORD_VERSION_MAJOR, RECORD_VERSION_MINOR + 1);
	RECORD(&content, 999, 1, 2, 3);
	chunk.kind = 77;
	craft_chunk(&file, chunk, &content);
	RECORD(&content, RECORD_META, 4, 'm', 'o', 'o', 'd', 2, 'o', 'k', 6, 's', 'o', 'u', 'r',
	       'c', 'e', 1, 'x');
	RECORD(&content, RECORD_STRINGS, 2, '/', 'x');
	/* A module with one more field, and one of an unknown kind. */
	RECORD(&content, RECORD_MODULES, 8, 1, 0, MODULE_ELF, 0, 0, 0, 42, 43, 6, 1, 0, 99, 0, 0,
	       0);
	RECORD(&content, RECORD_FRAMES, 0, 2, 1, 2);
	RECORD(&content, RECORD_STACKS, 0, 2, 0, 1);
	/*
	 * Two samples with a ninth column; the weight of the second one is in an unknown column.
	 */
	RECORD(&content, RECORD_SAMPLES, 2, 9, 2, 2, 2, 2, 2, 2, 2, 2, 3, /* sizes */
	       20, 2, 0, 0, 0, 0, 1, 1, 10, 2, 0, 99, 99, 0, 0, 0, 'n', 'e', 'w');
	RECORD(&content, RECORD_STATS, RECORD_STAT_LOST, 3, 63, 9, 100, 9);
	chunk = (struct record_chunk){ .flags = RECORD_CHUNK_LAST,
				       .sequence = 1,
				       .first.string = 1 };
	craft_chunk(&file, chunk, &content);
	assert_int_equal(read_bytes(file.data, file.size, &p, &note), 0);
	assert_string_equal(note, "");
	assert_string_equal(profile_str(p, p->meta.source), "x");
	assert_int_equal(p->nr_samples, 1);
	assert_int_equal(p->samples[0].weight, 5);
	assert_int_equal(p->samples[0].gil, GIL_UNKNOWN);
	assert_int_equal(p->stats.nr_lost, 3);
	assert_int_equal(p->nr_stack_frames, 3);
	assert_int_equal(p->modules[p->frames[p->stack_frames[1]].module].kind, MODULE_MARKER);
	assert_int_equal(p->stack_frames[2], PROFILE_NONE);
	profile_free(p);
	free(note);
	buffer_fini(&content);
	buffer_fini(&file);
}

static void numbers_out_of_range_end_the_chunk(void **state)
{
	static const struct {
		uint16_t type;
		uint8_t size, payload[24];
	} bad[] = {
		{ RECORD_STRINGS, 2, { 100, 'x' } },
		{ RECORD_STRINGS, 1, { 0x80 } },
		{ RECORD_STRINGS, 10, { 255, 255, 255, 255, 255, 255, 255, 255, 255, 1 } },
		{ RECORD_META, 3, { 1, 'a', 9 } },
		{ RECORD_MODULES, 2, { 5, 1 } },
		{ RECORD_MODULES, 7, { 6, 2, 0, MODULE_ELF, 0, 0, 0 } },  /* no string 2 */
		{ RECORD_MODULES, 7, { 6, 1, 0, MODULE_ELF, 0, 0, 33 } }, /* build-id: 33 bytes */
		{ RECORD_THREADS, 3, { 1, 1, 2 } },
		{ RECORD_THREADS, 7, { 128, 128, 128, 128, 16, 1, 0 } }, /* pid 1 << 32 */
		{ RECORD_FRAMES, 2, { 1, 0 } },				 /* no module 1 */
		{ RECORD_STACKS, 3, { 0, 1, 2 } },			 /* no frame 2 */
		/* shares frames with no entry */
		{ RECORD_STACKS, 2, { 1, 0 } },
		{ RECORD_STACKS, 5, { 0, 255, 255, 255, 1 } },
		{ RECORD_SAMPLES, 2, { 1, 6 } },
		{ RECORD_SAMPLES, 8, { 1, 6, 255, 1, 1, 1, 1, 1 } },
		{ RECORD_SAMPLES, 14, { 1, 6, 1, 1, 1, 1, 1, 1, 0, 0, 2, 0, 0, 0 } }, /* stack */
		{ RECORD_SAMPLES, 14, { 1, 6, 1, 1, 1, 1, 1, 1, 0, 2, 0, 0, 0, 0 } }, /* thread */
		{ RECORD_SAMPLES, 14, { 2, 6, 1, 1, 1, 1, 1, 1, 0, 0, 2, 0, 0, 0 } },
		{ RECORD_STATS, 1, { 1 } },
		{ RECORD_FUNCTIONS, 6, { 1, 1, 2, 0, 0, 0 } }, /* no module 1 */
		{ RECORD_LOCATIONS, 4, { 0, 1, 0, 0 } },       /* no function 0 */
		{ RECORD_LOCATIONS, 5, { 0, 255, 255, 255, 1 } },
		{ RECORD_LOCATIONS, 2, { 2, 0 } }, /* no frame 2 */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct buffer content = { 0 };
		struct profile *p;

		craft_tables(&content);
		p = read_content(&content);
		assert_false(p->meta.unfinished); /* otherwise the next check tests nothing */
		profile_free(p);
		craft_record(&content, bad[i].type, bad[i].payload, bad[i].size);
		p = read_content(&content);
		assert_true(p->meta.unfinished);
		assert_int_equal(p->nr_stacks, 2); /* what came before is kept */
		profile_free(p);
		buffer_fini(&content);
	}
}

static void chunk_without_content_is_no_damage(void **state)
{
	struct profile *p = read_content(&(struct buffer){ 0 });

	(void)state;
	assert_false(p->meta.unfinished);
	profile_free(p);
}

static void record_larger_than_its_chunk_ends_it(void **state)
{
	struct record_head head = { .type = RECORD_STRINGS, .size = 1000 };
	struct buffer content = { 0 };
	struct profile *p;

	(void)state;
	buffer_add(&content, &head, sizeof(head));
	p = read_content(&content);
	assert_true(p->meta.unfinished);
	profile_free(p);
	content.size--; /* half a head */
	p = read_content(&content);
	assert_true(p->meta.unfinished);
	profile_free(p);
	buffer_fini(&content);
}

static void huge_gap_in_the_numbers_is_refused(void **state)
{
	struct record_chunk chunk = { .flags = RECORD_CHUNK_LAST };
	struct buffer file = { 0 }, content = { 0 };
	struct profile *p;
	char *note;

	(void)state;
	memset(&chunk.first, 0xff, sizeof(chunk.first));
	chunk.first_sample = UINT64_MAX;
	craft_header(&file, RECORD_VERSION_MAJOR, RECORD_VERSION_MINOR);
	craft_tables(&content);
	craft_chunk(&file, chunk, &content);
	assert_int_equal(read_bytes(file.data, file.size, &p, &note), 0);
	assert_true(p->meta.unfinished);
	assert_int_equal(p->nr_stacks, 0);
	assert_true(p->stats.nr_lost == UINT64_MAX);
	profile_free(p);
	free(note);
	buffer_fini(&file);
	buffer_fini(&content);
}

static void wrong_content_size_is_damage(void **state)
{
	uint32_t sizes[] = { 1, 1000, RECORD_MAX_CHUNK, RECORD_MAX_CHUNK + 1, UINT32_MAX };

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		struct record_chunk chunk = { .flags = RECORD_CHUNK_LAST, .raw_size = sizes[i] };
		struct buffer file = { 0 }, content = { 0 };
		struct profile *p;
		char *note;

		chunk.first.string = 1;
		craft_header(&file, RECORD_VERSION_MAJOR, RECORD_VERSION_MINOR);
		craft_tables(&content);
		craft_chunk(&file, chunk, &content);
		assert_int_equal(read_bytes(file.data, file.size, &p, &note), 0);
		assert_string_equal(note, "damaged at its start; 0 chunks could be read");
		profile_free(p);
		free(note);
		buffer_fini(&file);
		buffer_fini(&content);
	}
}

/* Stacks and frames are read in batches; each stack here is one frame deeper than the last. */
static void stacks_share_frames_with_the_one_before_in_any_batch(void **state)
{
	enum { DEEP = 3 * PROFILE_BATCH + 1 };
	struct buffer content = { 0 }, stacks = { 0 };
	struct profile *p;

	(void)state;
	craft_tables(&content);
	for (uint8_t i = 0; i < DEEP; i++)
		buffer_add(&stacks, (uint8_t[]){ i, 1, i % 3 == 0 }, 3);
	craft_record(&content, RECORD_STACKS, stacks.data, stacks.size);
	p = read_content(&content);
	assert_false(p->meta.unfinished);
	assert_int_equal(p->stacks[p->nr_stacks - 1].nr_frames, DEEP);
	for (uint32_t i = 0; i < DEEP; i++) {
		uint32_t frame = p->stack_frames[p->stacks[p->nr_stacks - 1].first_frame + i];

		assert_int_equal(p->frames[frame].address, i % 3 == 0 ? 3 : 1);
	}
	profile_free(p);
	buffer_fini(&stacks);
	buffer_fini(&content);
}

static void what_comes_before_a_fault_in_a_batch_is_kept(void **state)
{
	struct buffer content = { 0 };
	struct profile *p;

	(void)state;
	RECORD(&content, RECORD_STRINGS, 2, '/', 'x');
	RECORD(&content, RECORD_MODULES, 6, 1, 0, MODULE_ELF, 0, 0, 0);
	RECORD(&content, RECORD_FRAMES, 0, 2, 0, 4);
	RECORD(&content, RECORD_STACKS, 0, 1, 0, 1, 1, 1, 2, 1, 0, 3, 2, 0, 9); /* no frame 9 */
	p = read_content(&content);
	assert_true(p->meta.unfinished);
	assert_int_equal(p->nr_stacks, 3);
	assert_int_equal(p->stacks[2].nr_frames, 3);
	profile_free(p);
	content.size = 0;
	RECORD(&content, RECORD_STRINGS, 2, '/', 'x');
	RECORD(&content, RECORD_MODULES, 6, 1, 0, MODULE_ELF, 0, 0, 0);
	RECORD(&content, RECORD_FRAMES, 0, 2, 0, 4, 9, 2); /* no module 9 */
	p = read_content(&content);
	assert_true(p->meta.unfinished);
	assert_int_equal(p->nr_frames, 2);
	profile_free(p);
	buffer_fini(&content);
}

static void endless_repetition_of_a_deep_stack_is_stopped(void **state)
{
	struct buffer content = { 0 }, stacks = { 0 };
	struct profile *p;

	(void)state;
	RECORD(&content, RECORD_MODULES, 6, 0, 0, MODULE_ELF, 0, 0, 0);
	RECORD(&content, RECORD_FRAMES, 0, 0);
	buffer_add_varint(&stacks, 0);
	buffer_add_varint(&stacks, RECORD_MAX_DEPTH);
	for (uint32_t i = 0; i < RECORD_MAX_DEPTH; i++)
		buffer_add_varint(&stacks, 0);
	for (uint32_t i = 0; i < 1000000; i++) { /* 4 bytes each make the reader search 256 KiB */
		buffer_add_varint(&stacks, RECORD_MAX_DEPTH);
		buffer_add_varint(&stacks, 0);
	}
	craft_record(&content, RECORD_STACKS, stacks.data, stacks.size);
	p = read_content(&content);
	assert_true(p->meta.unfinished);
	assert_int_equal(p->nr_stacks, 1);
	profile_free(p);
	buffer_fini(&stacks);
	buffer_fini(&content);
}

/* String 1, of a megabyte, and a module whose frames are named by it. */
static void craft_long_name(struct buffer *content, uint8_t module_kind)
{
	struct buffer text = { 0 };

	buffer_add_varint(&text, RECORD_MAX_STRING);
	memset(buffer_reserve(&text, RECORD_MAX_STRING), 'x', RECORD_MAX_STRING);
	text.size += RECORD_MAX_STRING;
	craft_record(content, RECORD_STRINGS, text.data, text.size);
	RECORD(content, RECORD_MODULES, 6, 0, module_kind == MODULE_PYTHON, module_kind, 0, 9, 0);
	buffer_fini(&text);
}

/* Frame 0 of string 1 or line 1, then as many frames, each so much further on. */
static void craft_frames(struct buffer *content, uint32_t nr, uint8_t delta)
{
	struct buffer frames = { 0 };

	buffer_add(&frames, (uint8_t[]){ 0, 2 }, 2);
	for (uint32_t i = 0; i < nr; i++)
		buffer_add(&frames, (uint8_t[]){ 0, delta }, 2);
	craft_record(content, RECORD_FRAMES, frames.data, frames.size);
	buffer_fini(&frames);
}

static const struct profile_function *function_of(const struct profile *p, uint32_t frame)
{
	return &p->functions[p->locations[p->frames[frame].first_location].function];
}

/* With a look at the name for each of them, the frames would take several minutes. */
static void a_long_name_in_millions_of_frames_is_looked_at_once(void **state)
{
	enum { NR = 4000000 };
	struct buffer content = { 0 };
	struct profile *p;

	(void)state;
	craft_long_name(&content, MODULE_NAMED);
	craft_frames(&content, NR, 0);
	RECORD(&content, RECORD_STACKS, 0, 2, 0, 99);
	p = read_content(&content);
	assert_false(p->meta.unfinished);
	assert_int_equal(p->nr_frames, 1);
	assert_int_equal(p->nr_functions, 1);
	assert_int_equal(strlen(profile_str(p, function_of(p, 0)->name)), RECORD_MAX_STRING);
	assert_int_equal(p->stacks[0].nr_frames, 2);
	assert_int_equal(p->stack_frames[1], 0);
	profile_free(p);
	buffer_fini(&content);
}

/* A name of a megabyte for each line would take several minutes. */
static void of_a_long_name_of_python_code_the_beginning_is_shown(void **state)
{
	enum { NR = 1000000 };
	const struct profile_function *function;
	struct buffer content = { 0 };
	struct profile *p;

	(void)state;
	craft_long_name(&content, MODULE_PYTHON);
	craft_frames(&content, NR, 2);
	p = read_content(&content);
	assert_false(p->meta.unfinished);
	assert_int_equal(p->nr_frames, NR + 1);
	assert_int_equal(p->nr_functions, 1);
	function = function_of(p, NR);
	assert_int_equal(strlen(profile_str(p, function->name)), 4096 + strlen(" (:9)"));
	assert_int_equal(strlen(profile_str(p, function->system_name)), RECORD_MAX_STRING);
	assert_int_equal(p->locations[p->frames[NR].first_location].line, NR + 1);
	profile_free(p);
	buffer_fini(&content);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_a_later_minor_version_adds_is_skipped),
		cmocka_unit_test(numbers_out_of_range_end_the_chunk),
		cmocka_unit_test(chunk_without_content_is_no_damage),
		cmocka_unit_test(record_larger_than_its_chunk_ends_it),
		cmocka_unit_test(huge_gap_in_the_numbers_is_refused),
		cmocka_unit_test(wrong_content_size_is_damage),
		cmocka_unit_test(stacks_share_frames_with_the_one_before_in_any_batch),
		cmocka_unit_test(what_comes_before_a_fault_in_a_batch_is_kept),
		cmocka_unit_test(endless_repetition_of_a_deep_stack_is_stopped),
		cmocka_unit_test(a_long_name_in_millions_of_frames_is_looked_at_once),
		cmocka_unit_test(of_a_long_name_of_python_code_the_beginning_is_shown),
	};

	return cmocka_run_group_tests(tests, enter_new_directory, remove_directory);
}
