/* Records of perf rings: how each type is parsed, and what is refused. */
#include <string.h>

#include "tests/unit/unit.h"

#include "sampler/perf/perf_record.h"

struct bytes {
	uint8_t data[70000];
	size_t size;
};

static void put(struct bytes *b, const void *data, size_t size)
{
	memcpy(b->data + b->size, data, size);
	b->size += size;
}

static void put_u64(struct bytes *b, uint64_t value)
{
	put(b, &value, 8);
}

static void put_u32(struct bytes *b, uint32_t value)
{
	put(b, &value, 4);
}

/* The end of every record that is not a sample: pid 7, tid 8, at 1000, on CPU 3. */
static void put_ids(struct bytes *b)
{
	put_u32(b, 7);
	put_u32(b, 8);
	put_u64(b, 1000);
	put_u32(b, 3);
	put_u32(b, 0);
}

/* A sample in kernel code with two kernel frames, all registers, and 16 of 32 stack bytes. */
static void make_sample(struct bytes *b)
{
	b->size = 0;
	put_u64(b, 0xffffffff81000010);
	put_ids(b);
	put_u64(b, 1001001);
	put_u64(b, 3);
	put_u64(b, (uint64_t)PERF_CONTEXT_KERNEL);
	put_u64(b, 0xffffffff81000010);
	put_u64(b, 0xffffffff81000020);
	put_u64(b, PERF_SAMPLE_REGS_ABI_64);
	for (uint64_t i = 0; i < 17; i++)
		put_u64(b, 100 + i);
	put_u64(b, 32);
	for (uint64_t i = 0; i < 4; i++)
		put_u64(b, i);
	put_u64(b, 16);
}

static bool parse(uint32_t type, uint16_t misc, const struct bytes *b, struct perf_record *r)
{
	const struct perf_event_header h = { .type = type, .misc = misc };

	return perf_record_parse(&h, b->data, b->size, true, r);
}

static void sample_has_registers_frames_and_stack(void **state)
{
	/* perf's ax bx cx dx si di bp sp ip r8 to r15 are 100, 101...; here in DWARF's order */
	static const uint64_t gpr[] = { 100, 103, 102, 101, 104, 105, 106, 107,
					109, 110, 111, 112, 113, 114, 115, 116 };
	struct bytes b;
	struct perf_record r;

	(void)state;
	make_sample(&b);
	assert_true(parse(PERF_RECORD_SAMPLE, PERF_RECORD_MISC_KERNEL, &b, &r));
	assert_int_equal(r.type, PERF_SAMPLE_TAKEN);
	assert_int_equal(r.pid, 7);
	assert_int_equal(r.tid, 8);
	assert_int_equal(r.time_ns, 1000);
	assert_int_equal(r.cpu, 3);
	assert_int_equal(r.sample.period, 1001001);
	assert_true(r.sample.in_kernel);
	assert_int_equal(r.sample.nr_kernel, 2);
	assert_int_equal(r.sample.kernel[1], 0xffffffff81000020);
	assert_int_equal(r.sample.pc, 108);
	assert_memory_equal(r.sample.gpr, gpr, sizeof(gpr));
	assert_int_equal(r.sample.stack_size, 16);
	assert_int_equal(r.sample.stack[8], 1);
}

static void sample_cut_anywhere_is_refused(void **state)
{
	struct bytes b;
	struct perf_record r;
	size_t whole;

	(void)state;
	make_sample(&b);
	whole = b.size;
	for (b.size = 0; b.size < whole; b.size++)
		assert_false(parse(PERF_RECORD_SAMPLE, PERF_RECORD_MISC_KERNEL, &b, &r));
}

static void stack_longer_than_its_room_is_refused(void **state)
{
	const uint64_t filled = 33, room = UINT64_MAX - 7;
	struct bytes b;
	struct perf_record r;

	(void)state;
	make_sample(&b);
	memcpy(b.data + b.size - 8, &filled, 8);
	assert_false(parse(PERF_RECORD_SAMPLE, 0, &b, &r));
	make_sample(&b);
	memcpy(b.data + b.size - 48, &room, 8);
	assert_false(parse(PERF_RECORD_SAMPLE, 0, &b, &r));
}

static void chain_that_counts_too_many_is_refused(void **state)
{
	const uint64_t nr = UINT64_MAX / 8;
	struct bytes b;
	struct perf_record r;

	(void)state;
	make_sample(&b);
	memcpy(b.data + 40, &nr, 8);
	assert_false(parse(PERF_RECORD_SAMPLE, 0, &b, &r));
}

static void deep_kernel_chain_keeps_its_leaf(void **state)
{
	struct bytes b = { .size = 0 };
	struct perf_record r;

	(void)state;
	put_u64(&b, 0);
	put_ids(&b);
	put_u64(&b, 1);
	put_u64(&b, 500);
	for (uint64_t i = 0; i < 500; i++)
		put_u64(&b, 1000 + i);
	put_u64(&b, PERF_SAMPLE_REGS_ABI_NONE);
	put_u64(&b, 0);
	assert_true(parse(PERF_RECORD_SAMPLE, PERF_RECORD_MISC_KERNEL, &b, &r));
	assert_int_equal(r.sample.nr_kernel, MAX_KERNEL_FRAMES);
	assert_int_equal(r.sample.kernel[0], 1000);
	assert_int_equal(r.sample.stack_size, 0);
}

static void mapping_has_its_file(void **state)
{
	struct bytes b = { .size = 0 };
	struct perf_record r;

	(void)state;
	put_u32(&b, 7);
	put_u32(&b, 8);
	put_u64(&b, 0x1000);
	put_u64(&b, 0x2000);
	put_u64(&b, 0x3000);
	put_u32(&b, 8);
	put_u32(&b, 1);
	put_u64(&b, 42);
	put_u64(&b, 0);
	put_u64(&b, 0);
	put(&b, "/bin/x\0", 8);
	put_ids(&b);
	assert_true(parse(PERF_RECORD_MMAP2, 0, &b, &r));
	assert_int_equal(r.type, PERF_MAPPED);
	assert_int_equal(r.pid, 7);
	assert_int_equal(r.start, 0x1000);
	assert_int_equal(r.length, 0x2000);
	assert_int_equal(r.pgoff, 0x3000);
	assert_int_equal(r.ino, 42);
	assert_string_equal(r.path, "/bin/x");
	memset(b.data + 64, 'x', 8); /* the path has no NUL before the ids */
	assert_false(parse(PERF_RECORD_MMAP2, 0, &b, &r));
}

static void name_longer_than_any_is_cut(void **state)
{
	struct bytes b = { .size = 0 };
	struct perf_record r;

	(void)state;
	put_u32(&b, 7);
	put_u32(&b, 9);
	put(&b, "a name of more than 16\0", 24);
	put_ids(&b);
	assert_true(parse(PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC, &b, &r));
	assert_int_equal(r.type, PERF_NAMED);
	assert_int_equal(r.tid, 9);
	assert_true(r.is_exec);
	assert_memory_equal(r.comm, "a name of more \0", COMM_SIZE);
}

static void fork_names_parent_and_child(void **state)
{
	struct bytes b = { .size = 0 };
	struct perf_record r;

	(void)state;
	for (uint32_t i = 21; i < 25; i++)
		put_u32(&b, i);
	put_u64(&b, 0);
	put_ids(&b);
	assert_true(parse(PERF_RECORD_FORK, 0, &b, &r));
	assert_int_equal(r.type, PERF_FORKED);
	assert_int_equal(r.pid, 21);
	assert_int_equal(r.parent_pid, 22);
	assert_int_equal(r.tid, 23);
	assert_int_equal(r.parent_tid, 24);
	b.size = 8;
	assert_false(parse(PERF_RECORD_EXIT, 0, &b, &r));
}

static void lost_records_are_counted(void **state)
{
	struct bytes b = { .size = 0 };
	struct perf_record r;

	(void)state;
	put_u64(&b, 1);
	put_u64(&b, 99);
	put_ids(&b);
	assert_true(parse(PERF_RECORD_LOST, 0, &b, &r));
	assert_int_equal(r.type, PERF_DROPPED);
	assert_int_equal(r.nr_lost, 99);
}

static void switch_says_whether_the_thread_would_have_run_on(void **state)
{
	struct bytes b = { .size = 0 };
	struct perf_record r;

	(void)state;
	put_ids(&b);
	assert_true(parse(PERF_RECORD_SWITCH, 0, &b, &r));
	assert_int_equal(r.type, PERF_SWITCHED);
	assert_int_equal(r.tid, 8);
	assert_int_equal(r.time_ns, 1000);
	assert_false(r.is_out);
	assert_true(parse(PERF_RECORD_SWITCH, PERF_RECORD_MISC_SWITCH_OUT, &b, &r));
	assert_true(r.is_out && !r.is_preempted);
	assert_true(parse(PERF_RECORD_SWITCH,
			  PERF_RECORD_MISC_SWITCH_OUT | PERF_RECORD_MISC_SWITCH_OUT_PREEMPT, &b,
			  &r));
	assert_true(r.is_out && r.is_preempted);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sample_has_registers_frames_and_stack),
		cmocka_unit_test(sample_cut_anywhere_is_refused),
		cmocka_unit_test(stack_longer_than_its_room_is_refused),
		cmocka_unit_test(chain_that_counts_too_many_is_refused),
		cmocka_unit_test(deep_kernel_chain_keeps_its_leaf),
		cmocka_unit_test(mapping_has_its_file),
		cmocka_unit_test(name_longer_than_any_is_cut),
		cmocka_unit_test(fork_names_parent_and_child),
		cmocka_unit_test(lost_records_are_counted),
		cmocka_unit_test(switch_says_whether_the_thread_would_have_run_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
