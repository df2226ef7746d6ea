/*
 * sampler/target/sideband.c: valid and malformed perf records, and real ones where that is allowed.
 */
#include "tests/unit/unit.h"

#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "sampler/target/sideband.h"

struct sample_id {
	uint32_t pid, tid;
	uint64_t time;
};

struct mmap2 {
	struct perf_event_header header;
	uint32_t pid, tid;
	uint64_t start, length, pgoff;
	uint32_t major, minor;
	uint64_t ino, ino_generation;
	uint32_t prot, flags;
	char path[16];
	struct sample_id id;
};

struct lost {
	struct perf_event_header header;
	uint64_t event, nr;
	struct sample_id id;
};

struct comm {
	struct perf_event_header header;
	uint32_t pid, tid;
	char name[8];
	struct sample_id id;
};

static const struct mmap2 good = {
	.header = { PERF_RECORD_MMAP2, 0, sizeof(struct mmap2) },
	.pid = 10,
	.tid = 11,
	.start = 0x1000,
	.length = 0x2000,
	.pgoff = 0x3000,
	.major = 8,
	.minor = 1,
	.ino = 77,
	.path = "/usr/lib/a.so",
	.id = { 10, 11, 12345 },
};

static void a_mapping_has_all_its_fields(void **state)
{
	struct sideband_record r;

	(void)state;
	assert_true(sideband_parse(&good, sizeof(good), &r));
	assert_int_equal(r.type, SIDEBAND_MMAP);
	assert_int_equal(r.pid, 10);
	assert_int_equal(r.time_ns, 12345);
	assert_int_equal(r.start, 0x1000);
	assert_int_equal(r.length, 0x2000);
	assert_int_equal(r.pgoff, 0x3000);
	assert_int_equal(r.dev, makedev(8, 1));
	assert_int_equal(r.ino, 77);
	assert_string_equal(r.path, "/usr/lib/a.so");
}

static void a_path_without_an_end_is_refused(void **state)
{
	struct mmap2 bad = good;
	struct sideband_record r;

	(void)state;
	memset(bad.path, 'x', sizeof(bad.path));
	assert_false(sideband_parse(&bad, sizeof(bad), &r));
}

static void a_record_cut_anywhere_is_refused(void **state)
{
	struct sideband_record r;

	(void)state;
	for (size_t size = 0; size < sizeof(good) - 16; size++) {
		void *exact = malloc(size ? size : 1); /* of the exact size, for sanitizers */

		memcpy(exact, &good, size);
		assert_false(sideband_parse(exact, size, &r));
		free(exact);
	}
}

static void only_the_comm_of_an_exec_counts(void **state)
{
	struct comm comm = { .header = { PERF_RECORD_COMM, 0, sizeof(comm) },
			     .pid = 5,
			     .tid = 5,
			     .name = "x",
			     .id = { 5, 5, 9 } };
	struct sideband_record r;

	(void)state;
	assert_false(sideband_parse(&comm, sizeof(comm), &r));
	comm.header.misc = PERF_RECORD_MISC_COMM_EXEC;
	assert_true(sideband_parse(&comm, sizeof(comm), &r));
	assert_int_equal(r.type, SIDEBAND_EXEC);
	assert_int_equal(r.pid, 5);
	assert_int_equal(r.time_ns, 9);
}

static void lost_records_are_told(void **state)
{
	struct lost lost = { { PERF_RECORD_LOST, 0, sizeof(lost) }, 1, 42, { 0, 0, 3 } };
	struct sideband_record r;

	(void)state;
	assert_true(sideband_parse(&lost, sizeof(lost), &r));
	assert_int_equal(r.type, SIDEBAND_LOST);
	assert_int_equal(r.nr_lost, 42);
	assert_false(sideband_parse(&lost, sizeof(lost) - 8, &r));
	lost.header.type = 9999;
	assert_false(sideband_parse(&lost, sizeof(lost), &r));
}

static void find_ours(void *context, const struct sideband_record *r)
{
	if (r->type == SIDEBAND_MMAP && r->pid == getpid() &&
	    r->start == (uint64_t)(uintptr_t) * (void **)context)
		*(void **)context = NULL;
}

static void what_this_process_maps_is_seen(void **state)
{
	struct sideband *s;
	void *code;

	(void)state;
	if (sideband_open(&s)) {
		printf("no right to open perf events\n");
		skip();
	}
	code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(code, MAP_FAILED);
	munmap(code, 4096);
	sideband_read(s, find_ours, &code);
	assert_null(code);
	sideband_close(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_mapping_has_all_its_fields),
		cmocka_unit_test(a_path_without_an_end_is_refused),
		cmocka_unit_test(a_record_cut_anywhere_is_refused),
		cmocka_unit_test(only_the_comm_of_an_exec_counts),
		cmocka_unit_test(lost_records_are_told),
		cmocka_unit_test(what_this_process_maps_is_seen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
