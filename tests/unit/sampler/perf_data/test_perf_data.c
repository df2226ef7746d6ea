/*
 * perf.data files, built here byte by byte: what is read of them, in which order, and what is
 * refused.
 */
#include "tests/unit/symbol_fixture.h"

#include "core/base/buffer.h"
#include "tests/unit/perf_data_maker.h"
#include "core/portable/frames.h"
#include "sampler/perf_data/perf_data.h"

/*
 * "comm frame>frame weight" of each sample in turn; a frame is "file+offset", or its fallback name.
 */
static char *samples_of(const struct profile *p)
{
	struct buffer b = { 0 };
	char name[256], *text;

	for (size_t i = 0; i < p->nr_samples; i++) {
		const struct profile_sample *s = &p->samples[i];
		const struct profile_stack *stack = &p->stacks[s->stack];

		buffer_printf(&b, "%s ", profile_str(p, p->threads[s->thread].comm));
		for (uint32_t k = 0; k < stack->nr_frames; k++)
			buffer_printf(&b, "%s%s", k ? ">" : "",
				      profile_frame_fallback_name(
					      p, p->stack_frames[stack->first_frame + k], name,
					      sizeof(name)));
		buffer_printf(&b, " %llu%s\n", (unsigned long long)s->weight,
			      s->column == COLUMN_CPU ? "" : " count");
	}
	text = xstrdup(buffer_cstring(&b));
	buffer_fini(&b);
	return text;
}

static struct profile *read_file(const struct buffer *file, struct perf_data_facts *facts)
{
	struct profile *p;

	assert_true(perf_data_is(file->data, file->size));
	assert_int_equal(perf_data_read(file->data, file->size, NULL, facts, &p), 0);
	return p;
}

/* Two processes, the second a child of the first. Records of two CPUs, so not in order of time. */
static void put_story(struct buffer *b)
{
	static const uint64_t chain[] = { 0x401010, 0x401021, 0x401031 };
	static const uint64_t elsewhere[] = { 0x401010, 0x900000 };

	put_sample(b, 7, 21, 500, 1000, chain, 3); /* of the child, after its fork */
	put_comm(b, 21, "child", 450);
	put_comm(b, 20, "parent", 0);
	put_mmap2(b, 20, 0x400000, 0x10000, "/nowhere/lib.so", NULL, 0, 5, 100);
	put_sample(b, 7, 20, 300, 2000, chain, 2);
	put_sample(b, 8, 20, 310, 1, chain, 1); /* another event */
	put_fork(b, 21, 20, 400);
	put_sample(b, 7, 20, 600, 3000, elsewhere, 2);
}

static const char story[] = "parent lib.so+0x2020>lib.so+0x2010 2000\n"
			    "child lib.so+0x2030>lib.so+0x2020>lib.so+0x2010 1000\n"
			    "parent [unknown]>lib.so+0x2010 3000\n";

static void check_story(const struct buffer *file)
{
	struct perf_data_facts facts;
	struct profile *p = read_file(file, &facts);
	char *text = samples_of(p);

	assert_string_equal(text, story);
	assert_string_equal(profile_str(p, p->meta.hostname), "somewhere");
	assert_string_equal(profile_str(p, p->meta.event), "cpu-clock");
	assert_int_equal(p->meta.freq_hz, 99);
	assert_int_equal(p->stats.nr_samples, 3);
	assert_int_equal(facts.nr_other_events, 1);
	assert_int_equal(facts.nr_damaged, 0);
	assert_false(facts.cut_off);
	free(text);
	free(facts.kernel_symbol);
	profile_free(p);
}

static void records_are_taken_in_order_of_time(void **state)
{
	struct buffer records = { 0 }, file = { 0 };

	(void)state;
	put_story(&records);
	make_perf_data(&file, &records, "somewhere");
	check_story(&file);
	buffer_fini(&records);
	buffer_fini(&file);
}

static void compressed_records_are_expanded(void **state)
{
	struct buffer records = { 0 }, packed = { 0 }, file = { 0 };

	(void)state;
	put_story(&records);
	put_compressed(&packed, &records);
	make_perf_data(&file, &packed, "somewhere");
	check_story(&file);
	buffer_fini(&records);
	buffer_fini(&packed);
	buffer_fini(&file);
}

/* The name of the only frame of a sample in `shares`, whose mapping has that build-id. */
static char *name_by_build_id(const uint8_t *id, uint8_t size)
{
	/* main does not lie before the executable segment. */
	uint64_t chain = 0x400000 + symbol_offset(target("shares"), "main") - 0x1000;
	struct buffer records = { 0 }, file = { 0 };
	struct perf_data_facts facts;
	struct symbolizer_stats stats;
	struct profile *p;
	char *name;

	put_mmap2(&records, 9, 0x400000, 0x10000, target("shares"), id, size, 5, 1);
	put_sample(&records, 7, 9, 2, 5, &chain, 1);
	make_perf_data(&file, &records, "");
	p = read_file(&file, &facts);
	symbolizer_run(p, NULL, &stats);
	name = xstrdup(frame_names(p, p->stack_frames[p->stacks[p->samples[0].stack].first_frame]));
	profile_free(p);
	buffer_fini(&records);
	buffer_fini(&file);
	return name;
}

static void a_file_is_named_only_where_it_is_the_one_that_ran(void **state)
{
	FILE *out = output_of("readelf -n '%s' | sed -n 's/.*Build ID: //p'", target("shares"));
	uint8_t id[20];
	char *name;

	(void)state;
	for (size_t i = 0; i < sizeof(id); i++)
		assert_int_equal(fscanf(out, "%2hhx", &id[i]), 1);
	pclose(out);
	name = name_by_build_id(id, sizeof(id));
	assert_string_equal(name, "main");
	free(name);
	id[7] ^= 1;
	name = name_by_build_id(id, sizeof(id));
	assert_string_equal(name, "");
	free(name);
	/* Another inode, and no build-id. */
	name = name_by_build_id(NULL, 0);
	assert_string_equal(name, "");
	free(name);
}

static void a_file_that_perf_did_not_finish_is_read(void **state)
{
	struct buffer records = { 0 }, file = { 0 };
	struct perf_data_facts facts;
	struct profile *p;
	char *text;

	(void)state;
	put_story(&records);
	make_perf_data(&file, &records, "somewhere");
	memset(file.data + 48, 0, 8); /* the size of the data */
	file.size = 104 + 16 + 2 * (sizeof(struct perf_event_attr) + 16) + records.size - 4;
	p = read_file(&file, &facts);
	text = samples_of(p);
	assert_true(facts.cut_off);
	assert_int_equal(facts.nr_damaged, 1); /* the last record lacks 4 bytes */
	assert_int_equal(strncmp(story, text, strlen(text)), 0);
	assert_int_equal(p->stats.nr_samples, 2);
	free(text);
	profile_free(p);
	buffer_fini(&records);
	buffer_fini(&file);
}

static void a_deep_chain_keeps_its_leaf_and_its_root(void **state)
{
	struct buffer records = { 0 }, file = { 0 };
	struct perf_data_facts facts;
	const struct profile_stack *s;
	uint64_t chain[6000];
	struct profile *p;
	char name[64];

	(void)state;
	for (size_t i = 0; i < 6000; i++)
		chain[i] = 0x400000 + 16 * i;
	put_mmap2(&records, 9, 0x400000, 0x20000, "/nowhere/x", NULL, 0, 5, 1);
	put_sample(&records, 7, 9, 2, 5, chain, 6000);
	make_perf_data(&file, &records, "");
	p = read_file(&file, &facts);
	s = &p->stacks[p->samples[0].stack];
	assert_int_equal(s->nr_frames, MAX_USER_FRAMES + 1);
	/* return addresses minus one; file offsets begin at 0x1000 */
	for (uint32_t i = 0; i < MAX_ROOT_FRAMES; i++)
		assert_int_equal(p->frames[p->stack_frames[s->first_frame + i]].address,
				 0x1000 + 16 * (5999 - i) - 1);
	assert_string_equal(
		profile_frame_fallback_name(p, p->stack_frames[s->first_frame + MAX_ROOT_FRAMES],
					    name, sizeof(name)),
		marker_name(MARKER_TOO_DEEP));
	assert_int_equal(p->frames[p->stack_frames[s->first_frame + MAX_USER_FRAMES]].address,
			 0x1000);
	assert_int_equal(p->stats.nr_incomplete[MARKER_TOO_DEEP], 1);
	profile_free(p);
	buffer_fini(&records);
	buffer_fini(&file);
}

/* Nothing but -EINVAL, -ENODATA, or a profile comes of a file that is cut or changed anywhere. */
static void damaged_files_are_survived(void **state)
{
	struct buffer records = { 0 }, packed = { 0 }, file = { 0 };

	(void)state;
	put_story(&records);
	put_compressed(&packed, &records);
	buffer_add(&packed, records.data, records.size);
	make_perf_data(&file, &packed, "somewhere");
	for (size_t i = 0; i < 2 * file.size; i++) {
		size_t size = i < file.size ? i : file.size;
		uint8_t *copy = malloc(size + 1);
		struct perf_data_facts facts;
		struct profile *p;
		int err;

		memcpy(copy, file.data, size);
		if (i >= file.size)
			copy[i - file.size] ^= (uint8_t)(1 + i % 255);
		copy = realloc(copy, size ? size : 1);
		err = perf_data_read(copy, size, NULL, &facts, &p);
		if (!err) {
			free(facts.kernel_symbol);
			profile_free(p);
		} else {
			assert_true(err == -EINVAL || err == -ENODATA);
		}
		free(copy);
	}
	buffer_fini(&records);
	buffer_fini(&packed);
	buffer_fini(&file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_are_taken_in_order_of_time),
		cmocka_unit_test(compressed_records_are_expanded),
		cmocka_unit_test(a_file_is_named_only_where_it_is_the_one_that_ran),
		cmocka_unit_test(a_file_that_perf_did_not_finish_is_read),
		cmocka_unit_test(a_deep_chain_keeps_its_leaf_and_its_root),
		cmocka_unit_test(damaged_files_are_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
