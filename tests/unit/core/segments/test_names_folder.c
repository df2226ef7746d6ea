/* core/segments/names_folder.c: names by file, added to, read back, and not trusted. */
// BUILD: -Wl,--wrap=recfile_create_in
#include "tests/unit/recording.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "core/base/clock.h"
#include "core/profile/profile.h"
#include "core/segments/names_folder.h"

#define FILE_1 "ab0100000000000000080000000000000005"
#define FILE_2 "ab0200000000000000080000000000000005"

int __real_recfile_create_in(int fd, const struct recfile_meta *meta, struct recfile **ret_file);
int __wrap_recfile_create_in(int fd, const struct recfile_meta *meta, struct recfile **ret_file);

static unsigned int nr_written;

int __wrap_recfile_create_in(int fd, const struct recfile_meta *meta, struct recfile **ret_file)
{
	nr_written++;
	return __real_recfile_create_in(fd, meta, ret_file);
}

static uint32_t add_file(struct profile *p, const char *path, uint8_t build, uint64_t ino)
{
	struct profile_module m = {
		.path = profile_cstring(p, path),
		.dev = 8,
		.ino = ino,
		.kind = MODULE_ELF,
		.build_id_size = 2,
		.build_id = { 0xab, build },
	};

	return profile_module(p, &m);
}

static uint32_t add_module(struct profile *p, uint8_t build)
{
	return add_file(p, "/usr/bin/x", build, 5);
}

static void add_name(struct profile *p, uint32_t frame, const char *name)
{
	struct profile_function f = { .module = p->frames[frame].module };
	struct profile_location l;

	f.name = f.system_name = profile_cstring(p, name);
	f.file = profile_cstring(p, "x.c");
	l = (struct profile_location){ .function = profile_function(p, &f), .line = 7 };
	profile_set_locations(p, frame, &l, 1);
}

static int open_names(void)
{
	mkdir("names", 0700);
	return open("names", O_RDONLY | O_DIRECTORY);
}

static const char *name_of(const struct profile *p, uint32_t frame)
{
	const struct profile_frame *f = &p->frames[frame];

	if (!f->nr_locations)
		return "";
	return profile_str(p, p->functions[p->locations[f->first_location].function].name);
}

static void write_names(int names, uint8_t build, uint64_t from, uint64_t to)
{
	struct profile *p = profile_new();
	uint32_t m = add_module(p, build);
	char name[32];

	for (uint64_t a = from; a < to; a++) {
		uint32_t frame = profile_frame(p, m, a);

		snprintf(name, sizeof(name), "f%d.%d", (int)build, (int)a);
		if (a % 10) /* every tenth has no name */
			add_name(p, frame, name);
	}
	assert_int_equal(names_folder_write(names, p), 0);
	profile_free(p);
}

static void names_come_back_for_the_same_build(void **state)
{
	struct profile *p = profile_new();
	int names = open_names();
	uint32_t a = add_module(p, 1), b = add_module(p, 2), c = add_module(p, 3), frames[5];
	bool known[5] = { 0 };

	(void)state;
	write_names(names, 1, 0, 100);
	write_names(names, 2, 0, 50);
	frames[0] = profile_frame(p, a, 55);
	frames[1] = profile_frame(p, b, 22);
	frames[2] = profile_frame(p, b, 55);
	frames[3] = profile_frame(p, c, 22);
	frames[4] = profile_frame(p, a, 20);
	names_folder_read(names, p, known);
	assert_string_equal(name_of(p, frames[0]), "f1.55");
	assert_string_equal(name_of(p, frames[1]), "f2.22");
	assert_string_equal(name_of(p, frames[2]), "");
	assert_string_equal(name_of(p, frames[3]), "");
	assert_string_equal(name_of(p, frames[4]), "");
	assert_true(known[frames[4]]); /* it was looked up, and has none */
	assert_false(known[frames[2]]);
	assert_int_equal(p->nr_frames, 5); /* nothing else is taken from the files */
	assert_int_equal(p->functions[0].module, a);
	profile_free(p);
	close(names);
}

static void names_are_added_to_those_that_are_there(void **state)
{
	struct profile *p = profile_new();
	int names = open_names();
	uint32_t m = add_module(p, 1);

	(void)state;
	write_names(names, 1, 0, 50);
	write_names(names, 1, 40, 90);
	for (uint64_t a = 0; a < 90; a++)
		profile_frame(p, m, a);
	names_folder_read(names, p, NULL);
	for (uint32_t i = 0; i < 90; i++)
		assert_int_equal(p->frames[i].nr_locations, i % 10 ? 1 : 0);
	assert_int_equal(system("[ $(ls -A names) = " FILE_1 " ]"), 0);
	profile_free(p);
	close(names);
}

/* Anybody can make a file with the build-id of another one. */
static void names_of_another_file_with_that_build_id_are_not_taken(void **state)
{
	struct profile *p = profile_new(), *own = profile_new();
	int names = open_names();
	bool known[1] = { 0 };

	(void)state;
	add_name(p, profile_frame(p, add_file(p, "/tmp/x", 1, 6), 55), "forged");
	assert_int_equal(names_folder_write(names, p), 0);
	profile_frame(own, add_module(own, 1), 55);
	names_folder_read(names, own, known);
	assert_string_equal(name_of(own, 0), "");
	assert_false(known[0]);
	write_names(names, 1, 50, 60);
	names_folder_read(names, own, known);
	assert_string_equal(name_of(own, 0), "f1.55");
	profile_free(p);
	profile_free(own);
	close(names);
}

/* A user may run one file by thousands of paths. */
static void a_file_with_many_paths_is_written_once(void **state)
{
	struct profile *p = profile_new();
	int names = open_names();
	char path[32];

	(void)state;
	nr_written = 0;
	for (uint64_t i = 0; i < 5000; i++) {
		snprintf(path, sizeof(path), "/tmp/%d", (int)i);
		add_name(p, profile_frame(p, add_file(p, path, 1, 5), i), "f");
	}
	assert_int_equal(names_folder_write(names, p), 0);
	assert_int_equal(nr_written, 1);
	profile_free(p);
	p = profile_new();
	profile_frame(p, add_module(p, 1), 1);
	profile_frame(p, add_file(p, "/tmp/0", 1, 5), 4999);
	names_folder_read(names, p, NULL);
	assert_string_equal(name_of(p, 0), "f");
	assert_string_equal(name_of(p, 1), "f");
	profile_free(p);
	close(names);
}

/* The CPU time of writing names of `nr_files` files with one frame each, and of a large one. */
static uint64_t cost_of_files(unsigned int nr_files, unsigned int nr_frames)
{
	struct profile *p = profile_new();
	int names = open_names();
	uint32_t large = add_file(p, "/usr/bin/large", 2, 5);
	uint64_t start_ns;

	for (unsigned int i = 0; i < nr_frames; i++)
		profile_frame(p, large, i);
	for (unsigned int i = 0; i < nr_files; i++)
		profile_frame(p, add_file(p, "/tmp/x", 1, 10 + i), 1);
	start_ns = thread_cpu_ns();
	assert_int_equal(names_folder_write(names, p), 0);
	start_ns = thread_cpu_ns() - start_ns;
	assert_int_equal(system("rm -r names"), 0);
	profile_free(p);
	close(names);
	return start_ns;
}

/* Users may run thousands of small files beside large programs of others. */
static void a_file_costs_what_its_own_frames_cost(void **state)
{
	uint64_t files, large, both;

	(void)state;
	files = cost_of_files(1000, 0);
	large = cost_of_files(0, 400000);
	both = cost_of_files(1000, 400000);
	assert_in_range(both, 0, 4 * (files + large));
}

/* Adds a run of addresses [from, to) with one name, as the symbolizer tells it. */
static void add_run(struct profile *p, uint32_t module, uint64_t from, uint64_t to,
		    const char *name)
{
	struct profile_module m = p->modules[module];
	uint32_t runs;

	m.begins_runs = 1;
	runs = profile_module(p, &m);
	add_name(p, profile_frame(p, runs, from), name);
	profile_frame(p, runs, to);
}

static void write_run(int names, uint64_t asked, uint64_t from, uint64_t to, const char *name)
{
	struct profile *p = profile_new();
	uint32_t m = add_module(p, 1);

	add_name(p, profile_frame(p, m, asked), name);
	add_run(p, m, from, to, name);
	assert_int_equal(names_folder_write(names, p), 0);
	profile_free(p);
}

static void expect_name(int names, uint64_t address, const char *name)
{
	struct profile *p = profile_new();
	uint32_t frame = profile_frame(p, add_module(p, 1), address);
	bool known = false;

	names_folder_read(names, p, &known);
	assert_string_equal(name_of(p, frame), name);
	assert_int_equal(known, *name != '\0');
	assert_int_equal(p->nr_frames, 1);
	profile_free(p);
}

static void a_run_names_addresses_that_were_not_asked_for(void **state)
{
	int names = open_names();

	(void)state;
	write_run(names, 150, 100, 200, "f");
	write_run(names, 320, 300, 400, "g");
	write_run(names, 250, 180, 260, "f"); /* the same function, farther */
	write_run(names, 280, 90, 290, "f");
	write_run(names, 401, 400, 420, "h");
	expect_name(names, 89, "");
	expect_name(names, 90, "f");
	for (uint64_t at = 100; at < 290; at += 19)
		expect_name(names, at, "f");
	expect_name(names, 289, "f");
	expect_name(names, 290, "");
	expect_name(names, 299, "");
	expect_name(names, 399, "g");
	expect_name(names, 400, "h");
	expect_name(names, 419, "h");
	expect_name(names, 420, "");
	close(names);
}

static void names_that_are_used_are_marked(void **state)
{
	const struct timespec old[2] = { { .tv_sec = 1000 }, { .tv_sec = 1000 } };
	struct profile *p = profile_new();
	int names = open_names();
	bool known = false;
	struct stat st;

	(void)state;
	write_names(names, 1, 0, 50);
	profile_frame(p, add_module(p, 1), 5);
	assert_int_equal(utimensat(names, FILE_1, old, 0), 0);
	names_folder_read(names, p, NULL); /* a reader of segments */
	assert_int_equal(fstatat(names, FILE_1, &st, 0), 0);
	assert_int_equal(st.st_mtim.tv_sec, 1000);
	names_folder_read(names, p, &known); /* the recorder */
	assert_int_equal(fstatat(names, FILE_1, &st, 0), 0);
	assert_true(st.st_mtim.tv_sec > 1000);
	profile_free(p);
	close(names);
}

/* A file of names is data of somebody else. */
static void what_is_not_a_file_of_names_is_left_alone(void **state)
{
	struct profile *p = profile_new();
	int names = open_names();

	(void)state;
	profile_frame(p, add_module(p, 1), 5);
	assert_int_equal(mkfifo("names/" FILE_1, 0600), 0);
	names_folder_read(names, p, NULL);
	assert_int_equal(unlink("names/" FILE_1), 0);
	assert_int_equal(symlink("/etc/passwd", "names/" FILE_1), 0);
	names_folder_read(names, p, NULL);
	assert_int_equal(unlink("names/" FILE_1), 0);
	assert_int_equal(system("head -c 3000 /dev/urandom >names/" FILE_1), 0);
	names_folder_read(names, p, NULL);
	write_names(names, 2, 0, 50);
	assert_int_equal(rename("names/" FILE_2, "names/" FILE_1), 0); /* of another build */
	names_folder_read(names, p, NULL);
	assert_int_equal(p->frames[0].nr_locations, 0);
	profile_free(p);
	close(names);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define IN_DIRECTORY(test)                                                                         \
	cmocka_unit_test_setup_teardown(test, enter_new_directory, remove_directory)
		IN_DIRECTORY(names_come_back_for_the_same_build),
		IN_DIRECTORY(names_are_added_to_those_that_are_there),
		IN_DIRECTORY(a_run_names_addresses_that_were_not_asked_for),
		IN_DIRECTORY(names_that_are_used_are_marked),
		IN_DIRECTORY(names_of_another_file_with_that_build_id_are_not_taken),
		IN_DIRECTORY(a_file_with_many_paths_is_written_once),
		IN_DIRECTORY(a_file_costs_what_its_own_frames_cost),
		IN_DIRECTORY(what_is_not_a_file_of_names_is_left_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
