/*
 * A table comes back from its file as it was, with the reader's numbers of rules; and nothing that
 * a hostile writer leaves in the file becomes a table that leads a lookup out of it.
 */
#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/portable/walk.h"
#include "sampler/unwind/rule_set.h"
#include "sampler/unwind/table_file.h"
#include "sampler/unwind/unwind_table.h"
#include "tests/unit/table_form.h"

enum { NR_RULES_AT = 8, NR_FUNCTIONS_AT = 12 }; /* in the header */

struct fixture {
	struct rule_set *theirs, *ours;
	struct unwind_table *table;
	uint8_t *bytes; /* of its file */
	size_t size;
};

static int new_file(unsigned int flags, const void *bytes, size_t size)
{
	int fd = memfd_create("test", MFD_CLOEXEC | flags);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, size), size);
	return fd;
}

static void begin(struct fixture *f)
{
	int exe = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	int fd = memfd_create("test", MFD_CLOEXEC);
	struct stat st;
	uint32_t number;

	*f = (struct fixture){ .theirs = rule_set_new(), .ours = rule_set_new() };
	assert_int_equal(unwind_table_build(exe, NULL, f->theirs, &f->table), 0);
	assert_int_equal(table_file_write(fd, f->table, f->theirs), 0);
	assert_int_equal(fstat(fd, &st), 0);
	f->size = (size_t)st.st_size;
	f->bytes = malloc(f->size);
	assert_int_equal(pread(fd, f->bytes, f->size, 0), f->size);
	close(fd);
	close(exe);
	/* Our numbers are others than the writer's. */
	for (int i = 0; i < 10; i++)
		rule_set_intern(f->ours, (struct walk_rule){ WALK_CFA_FP, 0, 0, 10000 + i },
				&number);
}

static void end(struct fixture *f)
{
	unwind_table_free(f->table);
	rule_set_free(f->theirs);
	rule_set_free(f->ours);
	free(f->bytes);
}

static int read_bytes(struct fixture *f, const void *bytes, size_t size,
		      struct unwind_table **ret_table)
{
	int fd = new_file(MFD_ALLOW_SEALING, bytes, size);
	int err = table_file_read(fd, 0, f->ours, ret_table);

	close(fd);
	return err;
}

static void a_table_comes_back_with_our_rules(void **state)
{
	const struct walk_rule *theirs, *ours;
	struct unwind_table *back;
	struct fixture f;
	uint32_t nr;

	(void)state;
	begin(&f);
	assert_int_equal(read_bytes(&f, f.bytes, f.size, &back), 0);
	assert_int_equal(back->nr_rows, f.table->nr_rows);
	assert_int_equal(back->nr_fdes, f.table->nr_fdes);
	assert_int_equal(back->nr_rules_dropped, 0);
	assert_true(table_is_sound(back, f.ours));
	theirs = rule_set_rules(f.theirs, &nr);
	ours = rule_set_rules(f.ours, &nr);
	for (uint64_t at = 0; at < (uint64_t)back->nr_pages * WALK_PAGE_SIZE; at++) {
		const struct walk_rule *a = &theirs[unwind_table_find(f.table, back->base + at)];
		const struct walk_rule *b = &ours[unwind_table_find(back, back->base + at)];

		assert_memory_equal(a, b, sizeof(*a));
	}
	unwind_table_free(back);
	end(&f);
}

static void a_file_that_its_writer_can_still_change_is_refused(void **state)
{
	struct unwind_table *back;
	struct fixture f;
	void *mapping;
	int fd;

	(void)state;
	begin(&f);
	fd = new_file(0, f.bytes, f.size); /* it cannot be sealed */
	assert_int_equal(table_file_read(fd, 0, f.ours, &back), -EBADMSG);
	close(fd);
	fd = new_file(MFD_ALLOW_SEALING, f.bytes, f.size);
	mapping = mmap(NULL, f.size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_true(mapping != MAP_FAILED);
	assert_int_equal(table_file_read(fd, 0, f.ours, &back), -EBUSY);
	munmap(mapping, f.size);
	assert_int_equal(table_file_read(fd, 0, f.ours, &back), 0);
	assert_int_equal(pwrite(fd, "x", 1, 0), -1);
	unwind_table_free(back);
	close(fd);
	end(&f);
}

static void expect_refused(struct fixture *f, size_t at, uint32_t value)
{
	struct unwind_table *back;
	uint32_t was;

	memcpy(&was, f->bytes + at, sizeof(was));
	memcpy(f->bytes + at, &value, sizeof(value));
	assert_int_equal(read_bytes(f, f->bytes, f->size, &back), -EBADMSG);
	memcpy(f->bytes + at, &was, sizeof(was));
}

static void sizes_that_do_not_fit_the_file_are_refused(void **state)
{
	static const uint32_t values[] = { 0, 1, 65534, 65536, 1u << 30, UINT32_MAX };
	struct unwind_table *back;
	struct fixture f;

	(void)state;
	begin(&f);
	for (size_t at = NR_RULES_AT; at < NR_RULES_AT + 16; at += 4)
		for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
			if (at == NR_FUNCTIONS_AT && !values[i])
				continue; /* there are none */
			expect_refused(&f, at, values[i]);
		}
	expect_refused(&f, 0, 1); /* the base is within a page */
	for (size_t size = 0; size < f.size; size += 1 + f.size / 200)
		assert_int_equal(read_bytes(&f, f.bytes, size, &back), -EBADMSG);
	end(&f);
}

static void a_file_of_runtime_code_has_functions_within_it(void **state)
{
	struct {
		uint64_t base;
		uint32_t counts[10];
		struct unwind_function function;
		uint32_t page;
	} __attribute__((packed)) file = {
		.counts = { 0, 1, 1 },
		.function = { .start = 16, .end = 32 },
		.page = WALK_ONE_RULE,
	};
	struct rule_set *rules = rule_set_new();
	struct unwind_table *back;

	(void)state;
	for (int i = 0; i < 4; i++) {
		int fd, err;

		file.function.end = i == 2 ? 4097 : i == 3 ? 16 : 32;
		fd = new_file(MFD_ALLOW_SEALING, &file, sizeof(file));
		err = table_file_read(fd, i == 1 ? 0 : 4096, rules, &back);
		assert_int_equal(err, i ? -EBADMSG : 0);
		if (!err)
			unwind_table_free(back);
		close(fd);
	}
	rule_set_free(rules);
}

static void no_changed_word_leads_out_of_the_table(void **state)
{
	unsigned int seed = 1;
	size_t nr_taken = 0;
	struct fixture f;

	(void)state;
	begin(&f);
	for (int i = 0; i < 3000; i++) {
		size_t at = (size_t)rand_r(&seed) % (f.size / 4) * 4;
		struct unwind_table *back;
		uint32_t was, bit = 1u << (rand_r(&seed) % 32);

		memcpy(&was, f.bytes + at, sizeof(was));
		*(uint32_t *)(f.bytes + at) = was ^ bit;
		if (!read_bytes(&f, f.bytes, f.size, &back)) {
			nr_taken++;
			assert_true(table_is_sound(back, f.ours));
			unwind_table_free(back);
		}
		memcpy(f.bytes + at, &was, sizeof(was));
	}
	assert_in_range(nr_taken, 1, 2999);
	end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_table_comes_back_with_our_rules),
		cmocka_unit_test(a_file_that_its_writer_can_still_change_is_refused),
		cmocka_unit_test(sizes_that_do_not_fit_the_file_are_refused),
		cmocka_unit_test(a_file_of_runtime_code_has_functions_within_it),
		cmocka_unit_test(no_changed_word_leads_out_of_the_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
