/*
 * symbolizer/lookup/elf_symbols.c and the sources that use it: where symbol tables may be, and
 * which of several names is chosen. The programs are made here with the compiler, the assembler and
 * objcopy.
 */
#include "tests/unit/elf_fixture.h"

#include <elf.h>
#include <lzma.h>

#include "core/base/log.h"

static const char assembly[] =
	"	.text\n"
	"	.globl	tool, __tool, only_weak, strong, ifunc, outer, f, label\n"
	"	.type	tool, @function\n	.type	__tool, @function\n"
	"	.weak	tool\n	.weak	only_weak\n"
	"	.type	only_weak, @function\n	.type	strong, @function\n"
	"	.type	local, @function\n	.type	ifunc, @gnu_indirect_function\n"
	"	.type	outer, @function\n	.type	inner, @function\n"
	"	.type	f, @function\n	.type	object, @object\n"
	"tool:\n__tool:\n	.fill	16,1,0x90\n	.size	tool, 16\n	.size	__tool, "
	"16\n"
	"gap:\n	.fill	16,1,0x90\n"
	"only_weak:\nstrong:\nlocal:\n	.fill	16,1,0x90\n"
	"	.size	only_weak, 16\n	.size	strong, 16\n	.size	local, 16\n"
	"ifunc:\n	.fill	16,1,0x90\n	.size	ifunc, 16\n"
	"	.fill	16,1,0x90\n" /* in no function */
	"outer:\n	.fill	8,1,0x90\n"
	"inner:\n	.fill	4,1,0x90\n	.size	inner, 4\n"
	"mark:\n	.fill	4,1,0x90\n	.size	outer, 16\n"
	"label:\n	.fill	32,1,0x90\n"
	"f:\n	.fill	8,1,0x90\n	.size	f, 8\n"
	"object:\n	.fill	8,1,0x90\n	.size	object, 8\n";

static void assembled(void **state, const char **ret_path)
{
	char *source = in_dir(state, "a.s"), *path = in_dir(state, "a.so");
	FILE *file = fopen(source, "w");

	fputs(assembly, file);
	fclose(file);
	shell("gcc -shared -nostdlib -o '%s' '%s'", path, source);
	free(source);
	*ret_path = path;
}

static void best_of_several_names_is_chosen(void **state)
{
	static const struct {
		const char *symbol;
		unsigned offset;
		const char *want;
	} cases[] = {
		{ "tool", 0, "tool" }, /* before __tool, although weak */
		/* a label without a size, up to the next symbol */
		{ "tool", 15, "tool" },
		{ "tool", 16, "gap" },
		/* before weak and local names */
		{ "tool", 31, "gap" },
		{ "strong", 3, "strong" },
		/* behind the end of a sized function */
		{ "ifunc", 1, "ifunc" },
		{ "ifunc", 16, "" },
		{ "outer", 0, "outer" },
		{ "outer", 8, "inner" },  /* nested */
		{ "outer", 12, "outer" }, /* a label inside a function names nothing */
		{ "outer", 15, "outer" },
		{ "label", 31, "label" },
		{ "f", 7, "f" },
		{ "f", 8, "" }, /* data in text is not a function */
	};
	const char *path;

	assembled(state, &path);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_lines(path, symbol_offset(path, cases[i].symbol) + cases[i].offset, NULL,
			     cases[i].want);
	free((char *)path);
}

/* As in MKL: functions without type and size, with the same labels in each. */
static void labels_of_a_template_are_no_functions(void **state)
{
	char *source = in_dir(state, "t.s"), *path = in_dir(state, "t.so");
	FILE *file = fopen(source, "w");

	fputs("	.globl	kernel\nkernel:\n	.fill	8,1,0x90\nLOOP:\n	.fill	8,1,0x90\n"
	      "own:\n	.fill	8,1,0x90\nDONE:\n	.fill	8,1,0x90\n"
	      "	.globl	sized\n	.type	sized, @function\nsized:\n	.fill	8,1,0x90\n"
	      "	.size	sized, 8\nTAIL:\n	.fill	8,1,0x90\n",
	      file);
	fclose(file);
	shell("gcc -c -o '%s.1.o' '%s'", path, source);
	shell("objcopy --redefine-sym kernel=other --redefine-sym sized=sized2 -N own '%s.1.o' "
	      "'%s.2.o'",
	      path, path);
	shell("gcc -shared -nostdlib -o '%s' '%s.1.o' '%s.2.o'", path, path, path);
	assert_lines(path, symbol_offset(path, "kernel") + 8, NULL, "kernel");
	assert_lines(path, symbol_offset(path, "own"), NULL, "own"); /* the only one of its name */
	assert_lines(path, symbol_offset(path, "own") + 8, NULL, "own");
	assert_lines(path, symbol_offset(path, "other") + 24, NULL, "other");
	assert_lines(path, symbol_offset(path, "sized") + 8, NULL, "TAIL"); /* it occurs once */
	free(source);
	free(path);
}

/* What follows has no name, and must not count for a function that is not there. */
static void no_symbol_is_stretched_past_its_size(void **state)
{
	char *source = in_dir(state, "s.s"), *path = in_dir(state, "s.so");
	FILE *file = fopen(source, "w");
	uint64_t first, last;

	fputs("	.globl	first, last\n	.type	first, @function\n	.type	last, @function\n"
	      "first:\n	.fill	8,1,0x90\n	.size	first, 8\n"
	      "nameless:\n	.fill	4096,1,0x90\n"
	      "last:\n	.fill	8,1,0x90\n	.size	last, 8\n	.fill	4096,1,0x90\n",
	      file);
	fclose(file);
	shell("gcc -shared -nostdlib -o '%s' '%s'", path, source);
	first = symbol_offset(path, "first");
	last = symbol_offset(path, "last");
	shell("strip '%s'", path);
	assert_lines(path, first + 7, NULL, "first");
	assert_lines(path, first + 8, NULL, "");
	assert_lines(path, first + 8 + 4095, NULL, "");
	assert_lines(path, last + 7, NULL, "last");
	assert_lines(path, last + 8, NULL, "");
	assert_lines(path, last + 8 + 4095, NULL, "");
	free(source);
	free(path);
}

static void stripped_program_has_its_exported_names(void **state)
{
	char *path = compiled(state, "");
	uint64_t exported = symbol_offset(path, "exported"), inner = symbol_offset(path, "inner");

	shell("strip '%s'", path);
	assert_lines(path, exported, NULL, "exported");
	assert_lines(path, inner, NULL, "");
	free(path);
}

static void every_compression_of_debug_info_is_read(void **state)
{
	static const char *const kinds[] = { "none", "zlib", "zlib-gnu", "zstd" };
	char *path = compiled(state, "");
	uint64_t inner = symbol_offset(path, "inner");

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		char *copy = xasprintf("%s.%s", path, kinds[i]);

		shell("objcopy --compress-debug-sections=%s '%s' '%s'", kinds[i], path, copy);
		assert_lines(copy, inner, NULL, "inner:5");
		free(copy);
	}
	free(path);
}

static void compress_xz(const char *from, const char *to)
{
	static uint8_t in[1 << 20], out[2 << 20];
	FILE *file = fopen(from, "r");
	size_t size = fread(in, 1, sizeof(in), file), used = 0;

	fclose(file);
	assert_int_equal(lzma_easy_buffer_encode(6, LZMA_CHECK_CRC32, NULL, in, size, out, &used,
						 sizeof(out)),
			 LZMA_OK);
	file = fopen(to, "w");
	assert_int_equal(fwrite(out, 1, used, file), used);
	fclose(file);
}

static void mini_debug_info_names_local_functions(void **state)
{
	char *path = compiled(state, ""), *mini = in_dir(state, "mini"), *xz = in_dir(state, "xz");
	uint64_t inner = symbol_offset(path, "inner"), exported = symbol_offset(path, "exported");

	shell("cd '%s' && objcopy --only-keep-debug a d && objcopy -S --keep-symbol=inner d mini "
	      "&& "
	      "strip a",
	      (char *)*state);
	compress_xz(mini, xz);
	shell("cd '%s' && objcopy --add-section .gnu_debugdata=xz a", (char *)*state);
	assert_lines(path, inner, NULL, "inner");
	assert_lines(path, exported, NULL, "exported");
	/* Where it is damaged, the other tables still count. */
	shell("cd '%s' && head -c 100 xz >short && objcopy --update-section .gnu_debugdata=short a",
	      (char *)*state);
	assert_lines(path, inner, NULL, "");
	assert_lines(path, exported, NULL, "exported");
	free(path);
	free(mini);
	free(xz);
}

static void static_program_is_named(void **state)
{
	char *path = compiled(state, "-static");

	assert_lines(path, symbol_offset(path, "inner"), NULL, "inner:5");
	free(path);
}

/* objdump names every stub: "0000000000001030 <puts@plt>:". */
static int check_stubs(const char *path)
{
	FILE *out = output_of("objdump -d '%s' | grep -E '^[0-9a-f]+ <[^>]*@plt>:'", path);
	uint64_t bias = code_bias(path);
	unsigned long vaddr;
	char name[256];
	int nr = 0;

	while (fscanf(out, "%lx <%255[^>]>:", &vaddr, name) == 2) {
		for (unsigned byte = 0; byte < 8; byte++)
			assert_lines(path, vaddr + byte + bias, NULL, name);
		nr++;
	}
	pclose(out);
	return nr;
}

static void plt_stubs_are_named(void **state)
{
	static const char *const flags[] = {
		"",
		"-Wl,-z,now",
		"-fcf-protection=full -Wl,-z,ibtplt",
		"-fcf-protection=full -Wl,-z,ibtplt -Wl,-z,now",
		"-no-pie",
	};

	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		char *path = compiled(state, flags[i]);

		assert_true(check_stubs(path) >= 2);
		shell("strip '%s'", path);
		assert_true(check_stubs(path) >= 2);
		free(path);
	}
}

/* ifuncs of a static program are named by their resolvers. */
static void plt_stubs_of_a_static_program_are_named(void **state)
{
	char *path = compiled(state, "-static");
	FILE *out = output_of(
		"readelf -SW '%s' | sed 's/\\[ *//' | awk '$2 == \".plt\" {print $5, $6}'", path);
	unsigned long offset, size;
	bool has_strlen = false;

	assert_int_equal(fscanf(out, "%lx %lx", &offset, &size), 2);
	pclose(out);
	for (unsigned long at = 0; at < size; at += 8) {
		char *first = lines_at(path, offset + at, NULL);

		assert_non_null(strstr(first, "@plt"));
		assert_lines(path, offset + at + 7, NULL, first);
		has_strlen |= !strcmp(first, "strlen@plt");
		free(first);
	}
	assert_true(has_strlen);
	free(path);
}

static int open_copy(void *context, uint32_t module)
{
	(void)module;
	return dup(*(int *)context);
}

/* Looks up addresses all over the bytes. Returns how many got a name. */
static size_t names_in(const uint8_t *data, size_t size)
{
	struct profile_module module = { .kind = MODULE_ELF };
	struct profile *p = profile_new();
	int fd = memfd_create("damaged", MFD_CLOEXEC);
	const struct symbolizer_opts opts = {
		.open_module = open_copy,
		.context = &fd,
		.debug_dir = "/nonexistent",
	};
	struct symbolizer_stats stats;
	uint32_t id;

	assert_int_equal(write(fd, data, size), size);
	module.path = profile_cstring(p, "/nonexistent/damaged");
	id = profile_module(p, &module);
	for (size_t i = 0; i < size; i += 16)
		profile_frame(p, id, i);
	symbolizer_run(p, &opts, &stats);
	assert_true(stats.nr_unnamed <= stats.nr_frames);
	assert_int_equal(stats.nr_frames, p->nr_frames);
	profile_free(p);
	close(fd);
	return stats.nr_frames - stats.nr_unnamed;
}

/* A sparse file of 1 TiB whose headers claim as much as they can. */
static void sparse_file_that_promises_much_is_refused(void **state)
{
	char *path = compiled(state, "");
	struct profile *p = profile_new();
	struct symbolizer_stats stats;
	Elf64_Shdr first = { .sh_size = 1ull << 32, .sh_info = UINT32_MAX };
	Elf64_Ehdr header;
	int fd = open(path, O_RDWR);

	assert_int_equal(pread(fd, &header, sizeof(header), 0), sizeof(header));
	header.e_phnum = PN_XNUM;
	header.e_shnum = 0;
	header.e_shoff = 1 << 20;
	assert_int_equal(pwrite(fd, &header, sizeof(header), 0), sizeof(header));
	assert_int_equal(pwrite(fd, &first, sizeof(first), 1 << 20), sizeof(first));
	assert_int_equal(ftruncate(fd, (off_t)1 << 40), 0);
	close(fd);
	profile_frame(p, file_module(p, path), 0x1000);
	symbolizer_run(p, NULL, &stats);
	assert_int_equal(stats.nr_unnamed, 1);
	profile_free(p);
	free(path);
}

static void damaged_files_give_fewer_names_and_nothing_worse(void **state)
{
	char *path = compiled(state, "");
	FILE *file = fopen(path, "r");
	uint8_t *good = xmalloc(1 << 20), *bad = xmalloc(1 << 20);
	size_t size = fread(good, 1, 1 << 20, file), whole;
	unsigned seed = 1;

	fclose(file);
	whole = names_in(good, size);
	assert_true(whole > 5);
	for (int i = 0; i < 200; i++) { /* cut off */
		size_t length = (size_t)rand_r(&seed) % size;

		memcpy(bad, good, length);
		assert_true(names_in(bad, length) <= whole);
	}
	for (int i = 0; i < 600; i++) { /* bits flipped */
		memcpy(bad, good, size);
		for (int n = rand_r(&seed) % 64; n >= 0; n--)
			bad[(size_t)rand_r(&seed) % size] ^= (uint8_t)(1 << rand_r(&seed) % 8);
		names_in(bad, size);
	}
	free(good);
	free(bad);
	free(path);
}

int main(void)
{
#define IN_DIR(test) cmocka_unit_test_setup_teardown(test, fixture_setup, fixture_teardown)
	const struct CMUnitTest tests[] = {
		IN_DIR(best_of_several_names_is_chosen),
		IN_DIR(labels_of_a_template_are_no_functions),
		IN_DIR(no_symbol_is_stretched_past_its_size),
		IN_DIR(stripped_program_has_its_exported_names),
		IN_DIR(every_compression_of_debug_info_is_read),
		IN_DIR(mini_debug_info_names_local_functions),
		IN_DIR(static_program_is_named),
		IN_DIR(plt_stubs_are_named),
		IN_DIR(plt_stubs_of_a_static_program_are_named),
		IN_DIR(sparse_file_that_promises_much_is_refused),
		IN_DIR(damaged_files_give_fewer_names_and_nothing_worse),
	};

	log_set_level(LOG_QUIET);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
