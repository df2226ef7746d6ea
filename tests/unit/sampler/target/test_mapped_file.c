/*
 * sampler/target/mapped_file.c and remapped_text.c: ELF files made by hand, valid, broken and
 * changing.
 */
#include "tests/unit/open_watch.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sampler/target/mapped_file.h"
#include "sampler/target/remapped_text.h"

#define TEXT_OFFSET 0x1234u
#define TEXT_VADDR 0x401234u
#define TEXT_SIZE 0x2000u

struct note {
	Elf64_Nhdr head;
	char name[4];
	uint8_t id[20];
};

struct file {
	Elf64_Ehdr ehdr;
	Elf64_Phdr phdrs[3];
	struct note notes[2];
	uint8_t padding[TEXT_OFFSET + TEXT_SIZE];
};

static struct file good_file(void)
{
	struct file f = {
		.ehdr = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
				       ELFDATA2LSB },
			  .e_phoff = sizeof(Elf64_Ehdr),
			  .e_phentsize = sizeof(Elf64_Phdr),
			  .e_phnum = 3 },
		.phdrs = { { .p_type = PT_LOAD, .p_flags = PF_R, .p_filesz = 0x1000 },
			   { .p_type = PT_LOAD,
			     .p_flags = PF_R | PF_X,
			     .p_offset = TEXT_OFFSET,
			     .p_vaddr = TEXT_VADDR,
			     .p_filesz = TEXT_SIZE },
			   { .p_type = PT_NOTE,
			     .p_offset = offsetof(struct file, notes),
			     .p_filesz = 2 * sizeof(struct note) } },
		.notes = { { { 4, 20, NT_GNU_ABI_TAG }, "GNU", { 9 } },
			   { { 4, 20, NT_GNU_BUILD_ID }, "GNU", { 1, 2, 3 } } },
	};

	for (size_t i = 0; i < sizeof(f.padding); i++)
		f.padding[i] = (uint8_t)(i * 31 + (i >> 8));
	return f;
}

static int file_of(const void *bytes, size_t size)
{
	int fd = memfd_create("test", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, size), size);
	return fd;
}

static void finish(struct mapped_file *code)
{
	close(code->fd);
	free(code->segments);
}

static void build_id_and_segments_are_read(void **state)
{
	struct file f = good_file();
	struct mapped_file code = { .fd = file_of(&f, sizeof(f)) };

	(void)state;
	assert_int_equal(mapped_file_read_elf(&code), 0);
	assert_int_equal(code.build_id_size, 20);
	assert_memory_equal(code.build_id, f.notes[1].id, 20);
	assert_int_equal(code.nr_segments, 1);
	finish(&code);
}

static void a_mapping_begins_before_an_unaligned_segment(void **state)
{
	struct file f = good_file();
	struct mapped_file code = { .fd = file_of(&f, sizeof(f)) };
	uint64_t vaddr;

	(void)state;
	assert_int_equal(mapped_file_read_elf(&code), 0);
	assert_true(mapped_file_vaddr(&code, TEXT_OFFSET, &vaddr));
	assert_int_equal(vaddr, TEXT_VADDR);
	assert_true(mapped_file_vaddr(&code, 0x1000, &vaddr)); /* mmap maps whole pages */
	assert_int_equal(vaddr, 0x401000);
	assert_true(mapped_file_vaddr(&code, TEXT_OFFSET + TEXT_SIZE - 1, &vaddr));
	assert_false(mapped_file_vaddr(&code, TEXT_OFFSET + TEXT_SIZE, &vaddr));
	assert_false(mapped_file_vaddr(&code, 0xfff, &vaddr));
	assert_false(mapped_file_vaddr(&code, UINT64_MAX, &vaddr));
	finish(&code);
}

static void a_file_cut_short_or_of_another_machine_is_refused(void **state)
{
	struct file f = good_file();
	static const size_t sizes[] = { 0, 1, sizeof(Elf64_Ehdr) - 1, sizeof(Elf64_Ehdr) + 100 };

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct mapped_file code = { .fd = file_of(&f, sizes[i]) };

		assert_int_equal(mapped_file_read_elf(&code), -ENOEXEC);
		assert_int_equal(code.nr_segments, 0);
		finish(&code);
	}
	for (int i = 0; i < 5; i++) {
		struct file bad = f;
		struct mapped_file code = {};

		switch (i) {
		case 0: bad.ehdr.e_ident[EI_CLASS] = ELFCLASS32; break;
		case 1: bad.ehdr.e_ident[EI_DATA] = ELFDATA2MSB; break;
		case 2: bad.ehdr.e_phnum = UINT16_MAX; break;
		case 3: bad.ehdr.e_phoff = UINT64_MAX - 10; break;
		case 4: bad.ehdr.e_phentsize = 8; break;
		}
		code.fd = file_of(&bad, sizeof(bad));
		assert_int_equal(mapped_file_read_elf(&code), -ENOEXEC);
		finish(&code);
	}
	assert_int_equal(mapped_file_read_elf(&(struct mapped_file){ .fd = -1 }), -ENOEXEC);
}

static void hostile_notes_give_no_build_id(void **state)
{
	(void)state;
	for (int i = 0; i < 9; i++) {
		struct file f = good_file();
		struct mapped_file code = {};

		switch (i) {
		case 0: f.notes[0].head.n_namesz = UINT32_MAX; break;
		case 1: f.notes[0].head.n_descsz = UINT32_MAX; break;
		case 2: f.notes[0].head.n_descsz = UINT32_MAX - 3; break;
		case 3: f.notes[1].head.n_descsz = 0; break;
		case 4: f.notes[1].head.n_descsz = BUILD_ID_MAX + 1; break;
		case 5: f.notes[1].head.n_namesz = 3; break;
		case 6: f.phdrs[2].p_filesz -= 1; break;
		case 7: f.phdrs[2].p_offset = UINT64_MAX; break;
		case 8: f.phdrs[2].p_filesz = UINT64_MAX; break;
		}
		code.fd = file_of(&f, sizeof(f));
		assert_int_equal(mapped_file_read_elf(&code), 0);
		assert_int_equal(code.build_id_size, 0);
		finish(&code);
	}
}

static void hostile_segments_map_nothing_beyond_them(void **state)
{
	struct file f = good_file();
	struct mapped_file code = {};
	uint64_t vaddr;

	(void)state;
	f.phdrs[1].p_offset = UINT64_MAX;
	f.phdrs[1].p_filesz = UINT64_MAX;
	code.fd = file_of(&f, sizeof(f));
	assert_int_equal(mapped_file_read_elf(&code), 0);
	assert_false(mapped_file_vaddr(&code, 0, &vaddr));
	finish(&code);
}

/* A mapping of a file, as if this process had it. */
static struct file_mapping mapping_of(const char *path)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return (struct file_mapping){
		.pid = getpid(),
		.start = 0x1000,
		.end = 0x2000,
		.dev = st.st_dev,
		.ino = st.st_ino,
		.path = path,
	};
}

static void write_file(const char *path, const struct file *f)
{
	FILE *out = fopen(path, "r+");

	if (!out)
		out = fopen(path, "w");
	assert_non_null(out);
	assert_int_equal(fwrite(f, sizeof(*f), 1, out), 1);
	assert_int_equal(fclose(out), 0);
}

static void a_file_written_in_place_is_other_code(void **state)
{
	struct file_table *t = file_table_new();
	char path[] = "/tmp/sprof-code-XXXXXX";
	struct file f = good_file();
	struct file_mapping m;
	struct mapped_file *first, *second;
	bool is_new;

	(void)state;
	close(mkstemp(path));
	write_file(path, &f);
	m = mapping_of(path);
	first = file_table_add(t, &m, &is_new);
	assert_true(is_new);
	assert_ptr_equal(file_table_add(t, &m, &is_new), first);
	assert_false(is_new);
	usleep(20000);	      /* the clock of file times is coarse */
	write_file(path, &f); /* touched: the same build-id */
	assert_ptr_equal(file_table_add(t, &m, &is_new), first);
	assert_false(mapped_file_is_overwritten(first));
	usleep(20000);
	f.notes[1].id[0] = 77;
	write_file(path, &f);
	second = file_table_add(t, &m, &is_new);
	assert_true(is_new);
	assert_ptr_not_equal(second, first);
	assert_int_equal(second->build_id[0], 77);
	assert_int_equal(first->build_id[0], 1);
	assert_true(mapped_file_is_overwritten(first));
	assert_false(mapped_file_is_overwritten(second));
	assert_ptr_equal(file_table_add(t, &m, &is_new), second);
	assert_int_equal(file_table_size(t), 2);
	file_table_free(t);
	unlink(path);
}

static void a_memfd_is_a_file_if_it_holds_one(void **state)
{
	struct file_table *t = file_table_new();
	char path[] = "/tmp/sprof-code-XXXXXX";
	struct file f = good_file();
	struct file_mapping m;
	struct mapped_file *code;
	bool is_new;

	(void)state;
	close(mkstemp(path));
	m = mapping_of(path);
	code = file_table_add_memfd(t, &m, 42, &is_new); /* empty */
	assert_int_equal(code->kind, MODULE_JIT);
	assert_int_equal(code->pid, 42);
	assert_string_equal(code->path, "[jit]");
	assert_ptr_equal(file_table_add_memfd(t, &m, 42, &is_new), code);
	assert_false(is_new);
	file_table_free(t);
	t = file_table_new();
	write_file(path, &f);
	code = file_table_add_memfd(t, &m, 42, &is_new);
	assert_int_equal(code->kind, MODULE_ELF);
	assert_int_equal(code->nr_segments, 1);
	file_table_free(t);
	unlink(path);
}

static void another_file_at_the_path_is_not_believed(void **state)
{
	struct file_table *t = file_table_new();
	char path[] = "/tmp/sprof-code-XXXXXX";
	struct file f = good_file();
	struct file_mapping m;
	bool is_new;

	(void)state;
	close(mkstemp(path));
	write_file(path, &f);
	m = mapping_of(path);
	m.ino++;
	assert_int_equal(file_table_add(t, &m, &is_new)->fd, -ESTALE);
	file_table_free(t);
	unlink(path);
}

/* Some rights are needed to open a mapping in /proc; root of a container lacks them. */
static bool mappings_open(const struct file_mapping *m)
{
	char path[96];
	int fd;

	snprintf(path, sizeof(path), "/proc/self/map_files/%" PRIx64 "-%" PRIx64, m->start, m->end);
	fd = open(path, O_PATH | O_CLOEXEC);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* A user may map another file there, and have it at the same path in a mount namespace. */
static void another_file_in_the_mapping_is_not_believed(void **state)
{
	struct file_table *t = file_table_new();
	char path[] = "/dev/shm/sprof-code-XXXXXX";
	struct file f = good_file();
	struct file_mapping m;
	bool is_new;
	int fd = mkstemp(path);
	void *at;

	(void)state;
	write_file(path, &f);
	m = mapping_of(path);
	at = mmap(NULL, 0x1000, PROT_READ, MAP_PRIVATE, fd, 0);
	m.start = (uintptr_t)at;
	m.end = m.start + 0x1000;
	m.ino++;
	assert_int_equal(file_table_add(t, &m, &is_new)->fd, -ESTALE);
	m.ino--;
	m.dev++; /* files of two file systems may have the same number */
	m.path = "/none";
	assert_int_equal(file_table_add(t, &m, &is_new)->fd, mappings_open(&m) ? -ESTALE : -ENOENT);
	m.user++; /* this user's mapping may be that of the file */
	file_table_add(t, &m, &is_new);
	assert_true(is_new || !mappings_open(&m));
	munmap(at, 0x1000);
	file_table_free(t);
	close(fd);
	unlink(path);
}

/* Opening a FIFO wakes its writer, and opening some devices starts them. */
static void only_a_regular_file_is_ever_opened(void **state)
{
	struct file_table *t = file_table_new();
	char dir[] = "/tmp/sprof-code-XXXXXX", path[64];
	struct file_mapping m;
	int watch;
	bool is_new;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/fifo", dir);
	watch = open_watch_fifo(path);
	m = mapping_of(path);
	assert_int_equal(file_table_add(t, &m, &is_new)->fd, -EPERM);
	assert_false(open_watch_end(watch, path));
	m = mapping_of("/dev/null");
	assert_int_equal(file_table_add(t, &m, &is_new)->fd, -EPERM);
	file_table_free(t);
	rmdir(dir);
}

static void one_user_leaves_entries_to_others(void **state)
{
	struct file_table *t = file_table_new();
	struct mapped_file *file;
	uint32_t nr = 0;
	bool is_new;

	(void)state;
	while (!file_table_add_runtime(t, (pid_t)++nr, 1000, &is_new)->over_limit)
		assert_true(is_new);
	assert_int_equal(nr - 1, FILE_OVER_LIMIT / 2);
	file = file_table_add_runtime(t, (pid_t)nr, 1000, &is_new);
	assert_false(is_new);
	assert_int_equal(file->index, FILE_OVER_LIMIT);
	assert_ptr_equal(file_table_get(t, FILE_OVER_LIMIT), file);
	assert_int_equal(file_table_refusals(t).nr_user_full, 2);
	assert_int_equal(file_table_refusals(t).user, 1000);
	assert_false(file_table_add_runtime(t, (pid_t)nr, 1001, &is_new)->over_limit);
	assert_true(is_new);
	assert_false(file_table_add_vdso(t, &is_new)->over_limit);
	file_table_free(t);
}

static void a_released_index_rests_before_it_is_reused(void **state)
{
	struct file_table *t = file_table_new();
	struct mapped_file *file;
	uint64_t number;
	uint32_t index;
	bool is_new;

	(void)state;
	file = file_table_add_runtime(t, 1, 0, &is_new);
	number = file->number;
	file_table_release(t, file, 1000);
	assert_true(file_table_is_released(t, 0));
	assert_false(file_table_reclaim(t, 1000, &index));
	assert_int_equal(file_table_add_runtime(t, 1, 0, &is_new)->index, 1);
	assert_true(is_new);
	assert_true(file_table_reclaim(t, 3000000000, &index));
	assert_int_equal(index, 0);
	assert_false(file_table_reclaim(t, 3000000000, &index));
	file = file_table_add_runtime(t, 2, 0, &is_new);
	assert_int_equal(file->index, 0);
	assert_int_not_equal(file->number, number);
	assert_false(file_table_is_released(t, 0));
	assert_int_equal(file_table_size(t), 2);
	file_table_free(t);
}

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

static void a_released_file_is_closed_unless_it_was_sampled(void **state)
{
	struct file_table *t = file_table_new();
	char path[] = "/tmp/sprof-code-XXXXXX";
	struct file f = good_file();
	struct mapped_file *file;
	struct file_mapping m;
	bool is_new;
	int fd;

	(void)state;
	close(mkstemp(path));
	write_file(path, &f);
	m = mapping_of(path);
	file = file_table_add(t, &m, &is_new);
	fd = file->fd;
	assert_true(is_open(fd));
	file_table_release(t, file, 0);
	assert_false(is_open(fd));
	file = file_table_add(t, &m, &is_new);
	assert_true(is_new);
	file->sink_id = 7;
	unlink(path);
	file_table_release(t, file, 0);
	fd = file_table_open_module(t, 7);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(file_table_open_module(t, 8), -ENOENT);
	file_table_free(t);
}

static void a_copy_of_text_in_memory_is_recognised(void **state)
{
	struct file f = good_file();
	struct mapped_file code = { .fd = file_of(&f, sizeof(f)) };
	uint64_t pgoff = 0x2000, size = 0x1000, start;
	uint8_t *copy = malloc(size);

	(void)state;
	assert_int_equal(mapped_file_read_elf(&code), 0);
	assert_int_equal(pread(code.fd, copy, size, (off_t)pgoff), size);
	start = (uint64_t)(uintptr_t)copy;
	assert_true(remapped_text_matches(getpid(), &code, start, start + size, pgoff));
	copy[0] ^= 1;
	assert_false(remapped_text_matches(getpid(), &code, start, start + size, pgoff));
	copy[0] ^= 1;
	assert_false(remapped_text_matches(getpid(), &code, start, start + size, pgoff + 1));
	assert_false(
		remapped_text_matches(getpid(), &code, start, start + 8, pgoff)); /* too little */
	assert_false(
		remapped_text_matches(getpid(), &code, 0x10, 0x10 + size, pgoff)); /* not mapped */
	assert_false(remapped_text_matches(getpid(), &code, start, start + size, 0x100000));
	free(copy);
	finish(&code);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(build_id_and_segments_are_read),
		cmocka_unit_test(a_mapping_begins_before_an_unaligned_segment),
		cmocka_unit_test(a_file_cut_short_or_of_another_machine_is_refused),
		cmocka_unit_test(hostile_notes_give_no_build_id),
		cmocka_unit_test(hostile_segments_map_nothing_beyond_them),
		cmocka_unit_test(a_file_written_in_place_is_other_code),
		cmocka_unit_test(a_memfd_is_a_file_if_it_holds_one),
		cmocka_unit_test(another_file_at_the_path_is_not_believed),
		cmocka_unit_test(another_file_in_the_mapping_is_not_believed),
		cmocka_unit_test(only_a_regular_file_is_ever_opened),
		cmocka_unit_test(one_user_leaves_entries_to_others),
		cmocka_unit_test(a_released_index_rests_before_it_is_reused),
		cmocka_unit_test(a_released_file_is_closed_unless_it_was_sampled),
		cmocka_unit_test(a_copy_of_text_in_memory_is_recognised),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
