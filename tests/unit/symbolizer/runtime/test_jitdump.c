/*
 * symbolizer/runtime/jitdump.c on dumps made by hand: names, lines, code that is replaced and code
 * that moves.
 */
#include "tests/unit/symbol_fixture.h"

#include <time.h>

#include "core/base/buffer.h"
#include "core/base/log.h"
#include "symbolizer/runtime/jitdump.h"

static void put(struct buffer *b, uint64_t value, size_t size)
{
	buffer_add(b, &value, size);
}

static void put_header(struct buffer *b)
{
	put(b, 0x4a695444, 4);
	put(b, 1, 4);
	put(b, 40, 4);
	put(b, 62, 4);
	put(b, 0, 4);
	put(b, 1, 4);
	put(b, 0, 8);
	put(b, 0, 8);
}

static void put_record(struct buffer *b, uint32_t id, size_t size)
{
	put(b, id, 4);
	put(b, size, 4);
	put(b, 0, 8);
}

static void put_load(struct buffer *b, uint64_t start, uint64_t size, uint64_t number,
		     const char *name)
{
	put_record(b, 0, 56 + strlen(name) + 1 + size);
	put(b, 1, 4);
	put(b, 1, 4);
	put(b, start, 8);
	put(b, start, 8);
	put(b, size, 8);
	put(b, number, 8);
	buffer_add(b, name, strlen(name) + 1);
	for (uint64_t i = 0; i < size; i++)
		put(b, 0xc3, 1);
}

static void put_move(struct buffer *b, uint64_t from, uint64_t to, uint64_t size, uint64_t number)
{
	put_record(b, 1, 64);
	put(b, 1, 4);
	put(b, 1, 4);
	put(b, from, 8);
	put(b, from, 8);
	put(b, to, 8);
	put(b, size, 8);
	put(b, number, 8);
}

struct line {
	uint64_t address;
	uint32_t line;
	const char *file;
};

static void put_lines(struct buffer *b, uint64_t start, const struct line *lines, size_t nr)
{
	size_t size = 32;

	for (size_t i = 0; i < nr; i++)
		size += 16 + strlen(lines[i].file) + 1;
	put_record(b, 2, size);
	put(b, start, 8);
	put(b, nr, 8);
	for (size_t i = 0; i < nr; i++) {
		put(b, lines[i].address, 8);
		put(b, lines[i].line, 4);
		put(b, 0, 4);
		buffer_add(b, lines[i].file, strlen(lines[i].file) + 1);
	}
}

static int fd_of(const struct buffer *b, size_t size)
{
	int fd = memfd_create("dump", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, b->data, size), size);
	return fd;
}

static struct jitdump *read_dump(const struct buffer *b, const uint64_t *addresses, size_t nr)
{
	struct jitdump *dump;

	assert_int_equal(jitdump_read(fd_of(b, b->size), addresses, nr, &dump), 0);
	return dump;
}

/* "name", or "name file:line". */
static const char *at(const struct jitdump *dump, uint64_t address)
{
	const struct jitdump_code *code = jitdump_lookup(dump, address);
	static char text[256];

	if (!code)
		return "-";
	snprintf(text, sizeof(text), code->file ? "%s %s:%u" : "%s", code->name, code->file,
		 code->line);
	return text;
}

static void code_has_its_name_and_lines(void **state)
{
	static const struct line lines[] = { { 0x1000, 7, "/src/a.js" },
					     { 0x1008, 8, "\xff" },
					     { 0x1010, 3, "/src/b.js" } };
	static const uint64_t addresses[] = { 0xfff, 0x1000, 0x100f, 0x1013, 0x1020, 0x2000 };
	struct buffer b = { 0 };
	struct jitdump *dump;

	(void)state;
	put_header(&b);
	put_lines(&b, 0x1000, lines, 3);
	put_load(&b, 0x1000, 0x20, 1, "first");
	put_load(&b, 0x2000, 0x10, 2, "second");
	dump = read_dump(&b, addresses, 6);
	assert_string_equal(at(dump, 0xfff), "-");
	assert_string_equal(at(dump, 0x1000), "first /src/a.js:7");
	assert_string_equal(at(dump, 0x100f), "first /src/a.js:8");
	assert_string_equal(at(dump, 0x1013), "first /src/a.js:0"); /* that line is in b.js */
	assert_string_equal(at(dump, 0x1020), "-");
	assert_string_equal(at(dump, 0x2000), "second"); /* the lines belong to the first only */
	jitdump_free(dump);
	buffer_fini(&b);
}

static void later_code_replaces_earlier(void **state)
{
	static const uint64_t addresses[] = { 0x1000, 0x1018, 0x1030 };
	struct buffer b = { 0 };
	struct jitdump *dump;

	(void)state;
	put_header(&b);
	put_load(&b, 0x1000, 0x40, 1, "old");
	put_load(&b, 0x1010, 0x10, 2, "new");
	dump = read_dump(&b, addresses, 3);
	assert_string_equal(at(dump, 0x1000), "old");
	assert_string_equal(at(dump, 0x1018), "new");
	assert_string_equal(at(dump, 0x1030), "old");
	assert_int_equal(jitdump_nr_reused(dump), 1);
	jitdump_free(dump);
	buffer_fini(&b);
}

static void moved_code_keeps_its_name_and_lines(void **state)
{
	static const struct line lines[] = { { 0x1000, 7, "/src/a.js" }, { 0x1008, 8, "\xff" } };
	static const uint64_t addresses[] = { 0x1004, 0x5004, 0x500c, 0x6000, 0x7000 };
	struct buffer b = { 0 };
	struct jitdump *dump;

	(void)state;
	put_header(&b);
	put_lines(&b, 0x1000, lines, 2);
	put_load(&b, 0x1000, 0x20, 1, "mover");
	put_move(&b, 0x1000, 0x5000, 0x20, 1);
	put_move(&b, 0x9000, 0x6000, 0x20, 99); /* moves unknown code */
	put_load(&b, 0x1000, 0x20, 2, "next");
	dump = read_dump(&b, addresses, 5);
	assert_string_equal(at(dump, 0x1004), "next");
	assert_string_equal(at(dump, 0x5004), "mover /src/a.js:7");
	assert_string_equal(at(dump, 0x500c), "mover /src/a.js:8");
	assert_string_equal(at(dump, 0x6000), "-");
	jitdump_free(dump);
	buffer_fini(&b);
}

static void lines_of_v8_begin_behind_an_elf_header(void **state)
{
	static const struct line lines[] = { { 0x1040, 7, "/src/a.js" }, { 0x1050, 8, "\xff" } };
	static const uint64_t addresses[] = { 0x1004, 0x1010 };
	struct buffer b = { 0 };
	struct jitdump *dump;

	(void)state;
	put_header(&b);
	put_lines(&b, 0x1000, lines, 2);
	put_load(&b, 0x1000, 0x20, 1, "JS:*f");
	dump = read_dump(&b, addresses, 2);
	assert_string_equal(at(dump, 0x1004), "JS:*f /src/a.js:7");
	assert_string_equal(at(dump, 0x1010), "JS:*f /src/a.js:8");
	jitdump_free(dump);
	buffer_fini(&b);
}

static void lines_that_make_no_sense_are_left_out(void **state)
{
	static const struct line wild[] = { { 0x1000, 7, "/src/a.js" },
					    { 0x9008, 8, "/src/a.js" } };
	static const struct line nameless[] = { { 0x2000, 7, "\xff" } };
	static const struct line binary[] = { { 0x3000, 7, "a\x01z" } };
	static const uint64_t addresses[] = { 0x1000, 0x2000, 0x3000 };
	struct buffer b = { 0 };
	struct jitdump *dump;

	(void)state;
	put_header(&b);
	put_lines(&b, 0x1000, wild, 2);
	put_load(&b, 0x1000, 0x20, 1, "wild");
	put_lines(&b, 0x2000, nameless, 1);
	put_load(&b, 0x2000, 0x20, 2, "nameless");
	put_lines(&b, 0x3000, binary, 1);
	put_load(&b, 0x3000, 0x20, 3, "binary");
	dump = read_dump(&b, addresses, 3);
	assert_string_equal(at(dump, 0x1000), "wild");
	assert_string_equal(at(dump, 0x2000), "nameless");
	assert_string_equal(at(dump, 0x3000), "binary");
	jitdump_free(dump);
	buffer_fini(&b);
}

/* The compiler may be writing a record, or have died while it did. */
static void dump_may_end_anywhere(void **state)
{
	static const struct line lines[] = { { 0x1000, 7, "/src/a.js" } };
	static const uint64_t addresses[] = { 0x1000, 0x2000 };
	struct buffer b = { 0 };

	(void)state;
	put_header(&b);
	put_lines(&b, 0x1000, lines, 1);
	put_load(&b, 0x1000, 0x20, 1, "first");
	put_move(&b, 0x1000, 0x2000, 0x20, 1);
	for (size_t size = 0; size <= b.size; size++) {
		struct jitdump *dump = NULL;
		int err = jitdump_read(fd_of(&b, size), addresses, 2, &dump);

		assert_int_equal(err, size < 40 ? -ENOEXEC : 0);
		if (dump) {
			const char *want = size < b.size ? "-" : "first /src/a.js:7";

			assert_string_equal(at(dump, 0x2000), want);
		}
		jitdump_free(dump);
	}
	b.data[0] ^= 1;
	assert_int_equal(jitdump_read(fd_of(&b, b.size), addresses, 2, &(struct jitdump *){ 0 }),
			 -ENOEXEC);
	buffer_fini(&b);
}

static void many_overlapping_ranges_are_read_in_linear_time(void **state)
{
	enum { NR = 100000 };
	uint64_t *addresses = xcalloc(NR, sizeof(*addresses));
	struct buffer b = { 0 };
	struct jitdump *dump;
	clock_t begin;

	(void)state;
	put_header(&b);
	for (uint64_t i = 0; i < NR; i++) {
		addresses[i] = 0x1000 + i;
		put_load(&b, 0x1000, 1, 7, "small");
		put_move(&b, 0x1000, 0x1000, NR, 7);
	}
	begin = clock();
	dump = read_dump(&b, addresses, NR);
	assert_string_equal(at(dump, addresses[NR - 1]), "small");
	assert_true(clock() - begin < 10 * CLOCKS_PER_SEC);
	jitdump_free(dump);
	buffer_fini(&b);
	free(addresses);
}

static char *write_dump(const char *dir, const char *name)
{
	char *path = xasprintf("%s/%s", dir, name);
	struct buffer b = { 0 };
	FILE *file = fopen(path, "w");

	put_header(&b);
	put_load(&b, 0x1000, 0x20, 1, "compiled");
	assert_non_null(file);
	assert_int_equal(fwrite(b.data, 1, b.size, file), b.size);
	fclose(file);
	buffer_fini(&b);
	return path;
}

/* Returns the name of a frame of this process, through the symbolizer. */
static const char *name_here(void)
{
	struct profile_module module = { .kind = MODULE_JIT, .pid = (uint32_t)getpid() };
	struct profile *p = profile_new();
	struct symbolizer_stats stats;
	static char name[64];
	uint32_t frame;

	module.path = profile_cstring(p, "[jit]");
	frame = profile_frame(p, profile_module(p, &module), 0x1004);
	symbolizer_run(p, NULL, &stats);
	snprintf(name, sizeof(name), "%s", frame_names(p, frame));
	profile_free(p);
	return name;
}

static void dump_is_found_where_it_is_mapped(void **state)
{
	char *name = xasprintf("jit-%d.dump", (int)getpid());
	char *path = write_dump(*state, name);
	int fd = open(path, O_RDONLY);
	void *page;

	assert_string_equal(name_here(), "");
	page = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	assert_ptr_not_equal(page, MAP_FAILED);
	assert_string_equal(name_here(), "compiled");
	munmap(page, 4096);
	close(fd);
	free(name);
	free(path);
}

static void dump_of_perfs_agents_is_found(void **state)
{
	char *dir = xasprintf("%s/.debug/jit/java-jit-20260101.abc", (char *)*state);
	char *name = xasprintf("jit-%d.dump", (int)getpid());

	shell("mkdir -p '%s'", dir);
	free(write_dump(dir, name));
	assert_string_equal(name_here(), "");
	setenv("JITDUMPDIR", *state, 1);
	assert_string_equal(name_here(), "compiled");
	unsetenv("JITDUMPDIR");
	free(name);
	free(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(code_has_its_name_and_lines),
		cmocka_unit_test(later_code_replaces_earlier),
		cmocka_unit_test(moved_code_keeps_its_name_and_lines),
		cmocka_unit_test(lines_of_v8_begin_behind_an_elf_header),
		cmocka_unit_test(lines_that_make_no_sense_are_left_out),
		cmocka_unit_test(dump_may_end_anywhere),
		cmocka_unit_test(many_overlapping_ranges_are_read_in_linear_time),
		cmocka_unit_test_setup_teardown(dump_is_found_where_it_is_mapped, fixture_setup,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(dump_of_perfs_agents_is_found, fixture_setup,
						fixture_teardown),
	};

	log_set_level(LOG_QUIET);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
