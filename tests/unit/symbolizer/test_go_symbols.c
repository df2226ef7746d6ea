/*
 * symbolizer/go: a stripped Go program has the names, lines and inlined functions of the same
 * program with its symbols and DWARF. The programs are made here with the Go compiler.
 */
#include "tests/unit/elf_fixture.h"

#include <elf.h>
#include <inttypes.h>

#include "core/base/log.h"
#include "symbolizer/go/go_program.h"

static const char go_source_text[] =
	"package main\n"
	"\n"
	"import \"os\"\n"
	"\n"
	"type shape struct{ w, h int }\n"
	"\n"
	"func double(x int) int {\n"
	"	return x * len(os.Args) * 2\n"
	"}\n"
	"\n"
	"//go:noinline\n"
	"func (s *shape) area() int {\n"
	"	return double(s.w) * s.h\n"
	"}\n"
	"\n"
	"//go:noinline\n"
	"func largest[T int | float64](a, b T) T {\n"
	"	if a > b {\n"
	"		return a\n"
	"	}\n"
	"	return b\n"
	"}\n"
	"\n"
	"func main() {\n"
	"	s := &shape{len(os.Args), 3}\n"
	"	println(s.area(), largest(1, s.w), largest(1.5, float64(s.h)))\n"
	"}\n";

static bool have_go(void)
{
	return system("PATH=/usr/local/go/bin:$PATH command -v go >/dev/null") == 0;
}

/* Before 1.20 the table has another form of inlined functions: code in them has no line. */
static bool tells_inlined(void)
{
	return system("PATH=/usr/local/go/bin:$PATH go env GOVERSION | "
		      "grep -qE '^go1\\.(1[0-9]|[0-9])(\\.|$)'") != 0;
}

/* Builds the program as DIR/NAME with these flags; returns its path, to free(). */
static char *built(void **state, const char *name, const char *flags)
{
	char *source = in_dir(state, "main.go"), *path = in_dir(state, name);
	FILE *file = fopen(source, "w");

	fputs(go_source_text, file);
	fclose(file);
	shell("PATH=/usr/local/go/bin:$PATH GO111MODULE=off GOFLAGS= GOPROXY=off "
	      "GOTOOLCHAIN=local GOCACHE=${GOCACHE:-$PWD/build/go-cache} nice go build -o '%s' %s "
	      "'%s'",
	      path, flags, source);
	free(source);
	return path;
}

/* A function of the program with its symbols, by nm -S. */
struct listed {
	uint64_t address, size;
	char name[256];
};

static size_t list_functions(const char *path, struct listed *functions, size_t max)
{
	FILE *out = output_of("nm -S '%s' | grep -i ' t '", path);
	char line[1024];
	size_t nr = 0;

	while (nr < max && fgets(line, sizeof(line), out)) {
		struct listed *f = &functions[nr];

		nr += sscanf(line, "%" SCNx64 " %" SCNx64 " %*c %255s", &f->address, &f->size,
			     f->name) == 3;
	}
	pclose(out);
	return nr;
}

/* Translates an address to an offset in the file. */
static uint64_t offset_in(const char *path, uint64_t address)
{
	struct elf_image *image;
	uint64_t offset, left;

	assert_int_equal(elf_image_open(open(path, O_RDONLY | O_CLOEXEC), &image), 0);
	assert_true(elf_image_code_offset(image, address, &offset, &left));
	elf_image_close(image);
	return offset;
}

/* Names many offsets of a file at once; the frames are numbered like the offsets. */
static struct profile *named(const char *path, const uint64_t *offsets, size_t nr)
{
	const struct symbolizer_opts opts = { .debug_dir = "/nonexistent" };
	struct profile *p = profile_new();
	struct symbolizer_stats stats;
	uint32_t module = file_module(p, path);

	for (size_t i = 0; i < nr; i++)
		assert_int_equal(profile_frame(p, module, offsets[i]), i);
	symbolizer_run(p, &opts, &stats);
	return p;
}

/*
 * Writes names as .gopclntab has them: without the mark of assembly's calling convention, and with
 * an ordinary dot for the one of names that the compiler makes.
 */
static void normalize(char *lines)
{
	char *to = lines;

	for (const char *from = lines; *from;) {
		if (!strncmp(from, ".abi0", 5)) {
			from += 5;
		} else if (!strncmp(from, "\u00b7", 2)) {
			*to++ = '.';
			from += 2;
		} else {
			*to++ = *from++;
		}
	}
	*to = '\0';
}

/* Splits "name:line" and returns the line as text; "" where there is none. */
static const char *split_line(char *frame)
{
	char *colon = strrchr(frame, ':');

	if (!colon || colon[1 + strspn(colon + 1, "0123456789")])
		return "";
	*colon = '\0';
	return colon + 1;
}

/* Is `have` the outermost function of the chain `want`, without a line? */
static bool is_outermost(const char *want, const char *have)
{
	size_t size = strcspn(want, ":>");

	return strlen(have) == size && !strncmp(want, have, size);
}

/* True for equal chains. Only `have` may know a line: DWARF leaves out those of another file. */
static bool agree(char *want, char *have)
{
	char *want_at, *have_at;
	char *w, *h;

	w = strtok_r(want, ">", &want_at);
	h = strtok_r(have, ">", &have_at);
	for (; w && h; w = strtok_r(NULL, ">", &want_at), h = strtok_r(NULL, ">", &have_at)) {
		const char *want_line = split_line(w), *have_line = split_line(h);

		if (strcmp(w, h) || (*want_line && strcmp(want_line, have_line)))
			return false;
	}
	return !w && !h;
}

#define MAX_FUNCTIONS 8192
#define OFFSETS_EACH 4

/* Returns how many of the frames have a line, and inlined functions. */
static void compare(const struct profile *a, const struct profile *b, size_t nr, size_t *ret_lines,
		    size_t *ret_inlined)
{
	bool inlined = tells_inlined();

	*ret_lines = *ret_inlined = 0;
	for (size_t i = 0; i < nr; i++) {
		char *want = xstrdup(frame_lines(a, (uint32_t)i));
		char *have = xstrdup(frame_lines(b, (uint32_t)i));
		char *want_text = xstrdup(want), *have_text = xstrdup(have);

		*ret_lines += strchr(have, ':') != NULL;
		*ret_inlined += strchr(have, '>') != NULL;
		/* Type arguments are only in symbol tables. */
		normalize(want);
		normalize(have);
		if (!strchr(want, '[') && !(!inlined && is_outermost(want, have)) &&
		    !agree(want, have))
			fail_msg("'%s' with symbols, '%s' without", want_text, have_text);
		free(want);
		free(have);
		free(want_text);
		free(have_text);
	}
}

/* Compares the answers of both files at some places of every function that nm lists. */
static void compare_files(const char *whole, const char *stripped)
{
	struct listed *functions = xcalloc(MAX_FUNCTIONS, sizeof(*functions));
	uint64_t *offsets = xcalloc((size_t)MAX_FUNCTIONS * OFFSETS_EACH, sizeof(*offsets));
	size_t nr = list_functions(whole, functions, MAX_FUNCTIONS), nr_offsets = 0;
	size_t nr_lines, nr_inlined;
	struct profile *a, *b;

	assert_true(nr > 500);
	for (size_t i = 0; i < nr; i++) {
		uint64_t start = functions[i].size ? offset_in(whole, functions[i].address) : 0;

		for (uint64_t j = 0; j < OFFSETS_EACH && functions[i].size >= OFFSETS_EACH; j++)
			offsets[nr_offsets++] = start + functions[i].size * j / OFFSETS_EACH;
	}
	a = named(whole, offsets, nr_offsets);
	b = named(stripped, offsets, nr_offsets);
	compare(a, b, nr_offsets, &nr_lines, &nr_inlined);
	assert_true(nr_lines > nr_offsets * (tells_inlined() ? 9 : 5) / 10);
	assert_true(nr_inlined > nr_offsets / 20 || !tells_inlined());
	profile_free(a);
	profile_free(b);
	free(offsets);
	free(functions);
}

static void stripped_program_has_the_same_names_and_lines(void **state)
{
	char *whole, *stripped;

	only_in_check_all();
	if (!have_go())
		skip();
	whole = built(state, "whole", "");
	stripped = built(state, "stripped", "-ldflags '-s -w'");
	compare_files(whole, stripped);
	free(whole);
	free(stripped);
}

/* In such a file the addresses in the runtime's description are relocations. */
static void position_independent_program_has_the_same_names_and_lines(void **state)
{
	char *whole, *stripped;

	only_in_check_all();
	if (!have_go())
		skip();
	whole = built(state, "whole", "-buildmode=pie");
	stripped = built(state, "stripped", "-buildmode=pie -ldflags '-s -w'");
	compare_files(whole, stripped);
	free(whole);
	free(stripped);
}

static void table_is_found_without_its_section(void **state)
{
	static const Elf64_Ehdr none;
	char *whole, *stripped;
	int fd;

	only_in_check_all();
	if (!have_go())
		skip();
	whole = built(state, "whole", "");
	stripped = built(state, "stripped", "-ldflags '-s -w'");
	fd = open(stripped, O_RDWR | O_CLOEXEC);
	assert_int_equal(
		pwrite(fd, &none.e_shoff, sizeof(none.e_shoff), offsetof(Elf64_Ehdr, e_shoff)),
		sizeof(none.e_shoff));
	assert_int_equal(
		pwrite(fd, &none.e_shnum, sizeof(none.e_shnum), offsetof(Elf64_Ehdr, e_shnum)),
		sizeof(none.e_shnum));
	close(fd);
	compare_files(whole, stripped);
	free(whole);
	free(stripped);
}

/* ---- older forms, written here: two functions of 16 bytes, the first with two lines */

#define OLD_TEXT 0x401000u

struct old_table {
	uint8_t bytes[512];
	size_t nr;
};

static void put(struct old_table *t, uint64_t value, size_t size)
{
	assert_true(t->nr + size < sizeof(t->bytes));
	memcpy(t->bytes + t->nr, &value, size);
	t->nr += size;
}

static void put_text(struct old_table *t, const char *text)
{
	for (size_t i = 0; i <= strlen(text); i++)
		put(t, (uint8_t)text[i], 1);
}

/* Writes the description of a function: its address, then what _func has up to the unit. */
static void put_function(struct old_table *t, bool is_116, uint32_t offset, uint32_t name)
{
	uint64_t first = is_116 ? OLD_TEXT + offset : offset;
	const uint32_t numbers[] = { name, 0, 0, 0, 1, 4, 0, 0 };

	put(t, first, is_116 ? 8 : 4);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		put(t, numbers[i], 4);
	put(t, 0, 4);
}

static void make_old_table(struct old_table *t, uint32_t magic)
{
	bool is_116 = magic == 0xfffffffa;
	size_t field = is_116 ? 8 : 4, part = is_116 ? 24 : 32, start;
	uint64_t base = is_116 ? OLD_TEXT : 0;
	/* pairs of differences of value and address; -1 + 1 = file 0; -1 + 6 = line 5, then 7 */
	static const uint8_t values[] = { 0, 2, 32, 0, 12, 8, 4, 8, 0, 0 };

	memset(t, 0, sizeof(*t));
	put(t, magic, 4);
	put(t, 0x08010000, 4);
	t->nr = part + 40;
	memcpy(t->bytes + 8, &(uint64_t){ 2 }, 8);
	memcpy(t->bytes + part, &t->nr, 8);
	put_text(t, "main.first");
	put_text(t, "main.second");
	memcpy(t->bytes + part + 8, &t->nr, 8);
	put(t, 0, 4);
	memcpy(t->bytes + part + 16, &t->nr, 8);
	put_text(t, "/src/main.go");
	memcpy(t->bytes + part + 24, &t->nr, 8);
	for (size_t i = 0; i < sizeof(values); i++)
		put(t, values[i], 1);
	memcpy(t->bytes + part + 32, &t->nr, 8);
	start = 6 * field;
	put(t, base, field);
	put(t, start, field);
	put(t, base + 16, field);
	put(t, start + (is_116 ? 44 : 40), field);
	put(t, base + 32, field);
	put(t, 0, field);
	put_function(t, is_116, 0, 0);
	put_function(t, is_116, 16, 11);
}

static void older_forms_are_read(void **state)
{
	static const uint32_t magics[] = { 0xfffffffa, 0xfffffff0 };
	struct pclntab_function f;
	struct old_table bytes;
	struct pclntab table;
	const char *file;
	uint32_t line;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		make_old_table(&bytes, magics[i]);
		assert_true(pclntab_open(bytes.bytes, bytes.nr, &table));
		table.text = OLD_TEXT;
		assert_false(pclntab_find(&table, OLD_TEXT - 1, &f));
		assert_true(pclntab_find(&table, OLD_TEXT + 15, &f));
		assert_string_equal(f.name, "main.first");
		assert_int_equal(f.end, OLD_TEXT + 16);
		assert_true(pclntab_position(&table, &f, OLD_TEXT + 7, &file, &line));
		assert_string_equal(file, "/src/main.go");
		assert_int_equal(line, 5);
		assert_true(pclntab_position(&table, &f, OLD_TEXT + 8, &file, &line));
		assert_int_equal(line, 7);
		assert_true(pclntab_find(&table, OLD_TEXT + 16, &f));
		assert_string_equal(f.name, "main.second");
		/* no name is stretched past the last function */
		assert_false(pclntab_find(&table, OLD_TEXT + 32, &f));
	}
}

int main(void)
{
#define IN_DIR(test) cmocka_unit_test_setup_teardown(test, fixture_setup, fixture_teardown)
	const struct CMUnitTest tests[] = {
		IN_DIR(stripped_program_has_the_same_names_and_lines),
		IN_DIR(position_independent_program_has_the_same_names_and_lines),
		IN_DIR(table_is_found_without_its_section),
		cmocka_unit_test(older_forms_are_read),
	};

	log_set_level(LOG_QUIET);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
