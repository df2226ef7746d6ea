/*
 * A table comes back from the cache as it went in, and only for the file it was made of. Whatever
 * is done to an entry, the result is no table, never a wrong one.
 */
#include "tests/unit/unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/sandbox/answer_file.h"
#include "sampler/unwind/rule_set.h"
#include "sampler/unwind/table_cache.h"
#include "sampler/unwind/table_file.h"
#include "sampler/unwind/unwind_table.h"
#include "tests/unit/table_form.h"

static const char no_link[DEBUG_NAME_MAX];

struct fixture {
	char place[64], file[96], folder[96];
	struct table_cache *cache;
	struct table_key key;
	struct unwind_table *table;
	struct rule_set *rules;
	int fd, answer; /* the ELF file and its table */
};

static void copy_file(const char *from, const char *to)
{
	char command[800];

	snprintf(command, sizeof(command), "cp %s %s", from, to);
	assert_int_equal(system(command), 0);
}

static void open_cache(struct fixture *f, uint64_t bytes_max)
{
	int folder = open(f->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	assert_true(folder >= 0);
	table_cache_close(f->cache);
	f->cache = table_cache_new(folder, bytes_max);
}

static void begin(struct fixture *f)
{
	*f = (struct fixture){ .rules = rule_set_new() };
	strcpy(f->place, "/tmp/table_cache.XXXXXX");
	assert_non_null(mkdtemp(f->place));
	snprintf(f->file, sizeof(f->file), "%s/file", f->place);
	snprintf(f->folder, sizeof(f->folder), "%s/cache", f->place);
	assert_int_equal(mkdir(f->folder, 0700), 0);
	open_cache(f, TABLE_CACHE_MAX);
	copy_file("/proc/self/exe", f->file);
	f->fd = open(f->file, O_RDONLY | O_CLOEXEC);
	assert_true(f->fd >= 0);
	assert_true(table_cache_key(f->fd, NULL, &f->key));
	assert_int_equal(unwind_table_build(f->fd, NULL, f->rules, &f->table), 0);
	f->answer = answer_file_new();
	assert_int_equal(table_file_write(f->answer, f->table, f->rules), 0);
}

static void end(struct fixture *f)
{
	char command[100];

	table_cache_close(f->cache);
	unwind_table_free(f->table);
	rule_set_free(f->rules);
	close(f->fd);
	close(f->answer);
	snprintf(command, sizeof(command), "rm -rf %s", f->place);
	assert_int_equal(system(command), 0);
}

static void store(struct fixture *f)
{
	table_cache_store(f->cache, &f->key, f->fd, f->answer, no_link);
}

static int load(struct fixture *f)
{
	struct rule_set *rules = rule_set_new();
	struct unwind_table *back = NULL;
	int err = table_cache_load(f->cache, &f->key, NULL, rules, &back);

	if (!err) {
		const struct walk_rule *theirs, *ours;
		uint32_t nr;

		assert_true(table_is_sound(back, rules));
		assert_int_equal(back->nr_rows, f->table->nr_rows);
		theirs = rule_set_rules(f->rules, &nr);
		ours = rule_set_rules(rules, &nr);
		for (uint64_t at = 0; at < (uint64_t)back->nr_pages * WALK_PAGE_SIZE; at++)
			assert_memory_equal(&theirs[unwind_table_find(f->table, back->base + at)],
					    &ours[unwind_table_find(back, back->base + at)],
					    sizeof(*ours));
		unwind_table_free(back);
	}
	rule_set_free(rules);
	return err;
}

/* How many files the folder has; the path of one of them. */
static size_t entries(const struct fixture *f, char path[400])
{
	DIR *dir = opendir(f->folder);
	struct dirent *e;
	size_t nr = 0;

	assert_non_null(dir);
	while ((e = readdir(dir))) {
		if (e->d_name[0] == '.')
			continue;
		nr++;
		if (path)
			snprintf(path, 400, "%s/%s", f->folder, e->d_name);
	}
	closedir(dir);
	return nr;
}

static void a_table_comes_back_as_it_was(void **state)
{
	char path[400];
	struct fixture f;
	struct stat st;

	(void)state;
	begin(&f);
	assert_int_equal(load(&f), -ENOENT);
	store(&f);
	assert_int_equal(entries(&f, path), 1);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(load(&f), 0);
	open_cache(&f, TABLE_CACHE_MAX); /* another recorder */
	assert_int_equal(load(&f), 0);
	end(&f);
}

/* A forged build-id: the same one, in another file. And the same file, changed. */
static void a_table_that_takes_too_much_memory_is_not_read(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f);
	store(&f);
	table_cache_set_table_max(f.cache, 64);
	assert_int_equal(load(&f), -E2BIG);
	assert_int_equal(entries(&f, NULL), 1);
	table_cache_set_table_max(f.cache, 1u << 20);
	assert_int_equal(load(&f), 0);
	table_cache_set_table_max(NULL, 1);
	end(&f);
}

static void another_file_with_the_same_build_id_has_no_entry(void **state)
{
	struct table_key key;
	struct fixture f;
	char path[120];
	int fd;

	(void)state;
	begin(&f);
	store(&f);
	key = f.key;
	snprintf(path, sizeof(path), "%s/forged", f.place);
	copy_file(f.file, path);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(table_cache_key(fd, NULL, &f.key));
	assert_memory_equal(f.key.build_id, key.build_id, sizeof(key.build_id));
	assert_int_equal(load(&f), -ENOENT);
	table_cache_store(f.cache, &f.key, fd, f.answer, no_link);
	assert_int_equal(entries(&f, NULL), 2);
	close(fd);
	f.key = key;
	assert_int_equal(load(&f), 0);
	fd = open(f.file, O_WRONLY | O_CLOEXEC);
	assert_int_equal(write(fd, "\x7f", 1), 1); /* as it was, but the inode has changed */
	close(fd);
	store(&f); /* too late */
	assert_true(table_cache_key(f.fd, NULL, &f.key));
	assert_int_equal(load(&f), -ENOENT);
	end(&f);
}

static void files_without_a_build_id_are_not_kept(void **state)
{
	int fd = memfd_create("no ELF file", MFD_CLOEXEC);
	struct table_key key;

	(void)state;
	assert_false(table_cache_key(fd, NULL, &key));
	close(fd);
	fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	assert_false(table_cache_key(fd, NULL, &key));
	close(fd);
}

static void write_bytes(const char *path, const void *bytes, size_t size)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, size), size);
	close(fd);
}

/* Reads the only entry. */
static uint8_t *bytes_of(const char *path, size_t *ret_size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	uint8_t *bytes;

	assert_int_equal(fstat(fd, &st), 0);
	bytes = malloc((size_t)st.st_size);
	assert_int_equal(read(fd, bytes, (size_t)st.st_size), st.st_size);
	close(fd);
	*ret_size = (size_t)st.st_size;
	return bytes;
}

/* A fixture whose cache has one entry: where it is, and its bytes. */
static uint8_t *begin_with_entry(struct fixture *f, char *path, size_t *ret_size)
{
	begin(f);
	store(f);
	entries(f, path);
	return bytes_of(path, ret_size);
}

/* Begins with one entry. Returns the bytes that it takes of the disk. */
static uint64_t begin_with_space(struct fixture *f, char path[400])
{
	struct stat st;

	begin(f);
	store(f);
	entries(f, path);
	assert_int_equal(stat(path, &st), 0);
	return (uint64_t)st.st_blocks * 512;
}

static void a_truncated_entry_is_no_table_and_goes(void **state)
{
	struct fixture f;
	char path[400];
	uint8_t *bytes;
	size_t size;

	(void)state;
	bytes = begin_with_entry(&f, path, &size);
	for (size_t n = 0; n < size; n += n < 300 ? 7 : 1 + size / 50) {
		write_bytes(path, bytes, n);
		assert_int_equal(load(&f), -EBADMSG);
		assert_int_equal(entries(&f, NULL), 0);
		assert_int_equal(load(&f), -ENOENT);
	}
	bytes = realloc(bytes, size + 1);
	bytes[size] = 0;
	write_bytes(path, bytes, size + 1); /* longer than it says */
	assert_int_equal(load(&f), -EBADMSG);
	store(&f);
	assert_int_equal(load(&f), 0);
	free(bytes);
	end(&f);
}

static void no_changed_bit_makes_a_table(void **state)
{
	unsigned int seed = 1;
	struct fixture f;
	char path[400];
	uint8_t *bytes;
	size_t size;

	(void)state;
	bytes = begin_with_entry(&f, path, &size);
	for (int i = 0; i < 600; i++) {
		/* each byte of the header, then some of the table */
		size_t at = i < 152 ? (size_t)i : (size_t)rand_r(&seed) % size;
		uint8_t bit = (uint8_t)(1u << (rand_r(&seed) % 8));

		bytes[at] ^= bit;
		write_bytes(path, bytes, size);
		assert_int_equal(load(&f), -EBADMSG);
		bytes[at] ^= bit;
	}
	write_bytes(path, bytes, size);
	assert_int_equal(load(&f), 0);
	free(bytes);
	end(&f);
}

/* What an attacker might put where the entry is looked for. */
static void only_a_plain_file_of_ours_is_an_entry(void **state)
{
	char path[400], other[120];
	struct fixture f;

	(void)state;
	begin(&f);
	store(&f);
	entries(&f, path);
	snprintf(other, sizeof(other), "%s/other", f.place);
	assert_int_equal(rename(path, other), 0);
	assert_int_equal(symlink(other, path), 0);
	assert_int_equal(load(&f), -EBADMSG);
	assert_int_equal(access(other, F_OK), 0);
	assert_int_equal(link(other, path), 0);
	assert_int_equal(load(&f), -EBADMSG);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(load(&f), -EBADMSG);
	assert_int_equal(rename(other, path), 0);
	assert_int_equal(chmod(path, 0622), 0);
	assert_int_equal(load(&f), -EBADMSG);
	store(&f);
	if (!geteuid()) {
		assert_int_equal(chown(path, 65534, 65534), 0);
		assert_int_equal(load(&f), -EBADMSG);
	}
	end(&f);
}

static void the_entries_used_longest_ago_go_first(void **state)
{
	struct table_key key;
	struct fixture f;
	char path[400];
	uint64_t size;

	(void)state;
	size = begin_with_space(&f, path);
	open_cache(&f, size * 5 / 2); /* two and a half */
	key = f.key;
	for (uint64_t i = 1; i <= 3; i++) {
		char name[120];
		int fd;

		snprintf(name, sizeof(name), "%s/copy%d", f.place, (int)i);
		copy_file(f.file, name);
		fd = open(name, O_RDONLY | O_CLOEXEC);
		assert_true(table_cache_key(fd, NULL, &f.key));
		usleep(20000);
		table_cache_store(f.cache, &f.key, fd, f.answer, no_link);
		close(fd);
		assert_in_range(entries(&f, NULL), 1, 2);
		assert_int_equal(load(&f), 0); /* the newest is there */
	}
	f.key = key;
	assert_int_equal(load(&f), -ENOENT);
	end(&f);
}

static void what_a_dead_recorder_left_goes(void **state)
{
	const struct timespec old[2] = { { 1000, 0 }, { 1000, 0 } };
	char left[200], young[200], strange[200];
	struct fixture f;

	(void)state;
	begin(&f);
	snprintf(left, sizeof(left), "%s/0123456789abcdef.new", f.folder);
	snprintf(young, sizeof(young), "%s/1123456789abcdef.new", f.folder);
	snprintf(strange, sizeof(strange), "%s/not ours", f.folder);
	write_bytes(left, "x", 1);
	write_bytes(young, "x", 1);
	write_bytes(strange, "x", 1);
	assert_int_equal(utimensat(AT_FDCWD, left, old, 0), 0);
	assert_int_equal(utimensat(AT_FDCWD, strange, old, 0), 0);
	store(&f);
	open_cache(&f, TABLE_CACHE_MAX);
	assert_int_equal(access(left, F_OK), -1);
	assert_int_equal(access(young, F_OK), 0);
	assert_int_equal(access(strange, F_OK), 0);
	end(&f);
}

static uint64_t bytes_in(const struct fixture *f)
{
	DIR *dir = opendir(f->folder);
	uint64_t bytes = 0;
	struct dirent *e;
	struct stat st;

	assert_non_null(dir);
	while ((e = readdir(dir)))
		if (e->d_name[0] != '.' && !fstatat(dirfd(dir), e->d_name, &st, 0))
			bytes += (uint64_t)st.st_blocks * 512;
	closedir(dir);
	return bytes;
}

/* Stores the table for a file of its own, which is new. */
static void store_another(struct fixture *f, int number)
{
	char name[120];
	int fd;

	snprintf(name, sizeof(name), "%s/copy%d", f->place, number);
	copy_file(f->file, name);
	fd = open(name, O_RDONLY | O_CLOEXEC);
	assert_true(table_cache_key(fd, NULL, &f->key));
	table_cache_store(f->cache, &f->key, fd, f->answer, no_link);
	close(fd);
	unlink(name);
}

static void unfinished_entries_count_against_the_limit(void **state)
{
	char path[400], left[200];
	struct fixture f;
	uint64_t size;

	(void)state;
	size = begin_with_space(&f, path);
	for (int i = 0; i < 8; i++) {
		snprintf(left, sizeof(left), "%s/%d123456789abcdef.new", f.folder, i);
		copy_file(path, left);
	}
	open_cache(&f, size * 4);
	store_another(&f, 1);
	assert_int_equal(load(&f), 0);
	assert_in_range(bytes_in(&f), 1, size * 4);
	end(&f);
}

static void recorders_that_are_killed_keep_to_the_limit(void **state)
{
	struct table_cache *killed[12];
	struct fixture f;
	char path[400];
	uint64_t limit, size;

	(void)state;
	size = begin_with_space(&f, path);
	limit = size * 6;
	for (int i = 0; i < 12; i++) {
		killed[i] = f.cache; /* it is not closed, so it does not look for old entries */
		f.cache = NULL;
		open_cache(&f, limit);
		store_another(&f, i);
		assert_in_range(bytes_in(&f), 1, limit);
	}
	for (int i = 0; i < 12; i++)
		table_cache_close(killed[i]);
	end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_table_comes_back_as_it_was),
		cmocka_unit_test(a_table_that_takes_too_much_memory_is_not_read),
		cmocka_unit_test(another_file_with_the_same_build_id_has_no_entry),
		cmocka_unit_test(files_without_a_build_id_are_not_kept),
		cmocka_unit_test(a_truncated_entry_is_no_table_and_goes),
		cmocka_unit_test(no_changed_bit_makes_a_table),
		cmocka_unit_test(only_a_plain_file_of_ours_is_an_entry),
		cmocka_unit_test(the_entries_used_longest_ago_go_first),
		cmocka_unit_test(what_a_dead_recorder_left_goes),
		cmocka_unit_test(unfinished_entries_count_against_the_limit),
		cmocka_unit_test(recorders_that_are_killed_keep_to_the_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
