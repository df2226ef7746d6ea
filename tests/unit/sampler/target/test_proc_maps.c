/* sampler/target/proc_maps.c and proc_status.c: valid and malformed lines of /proc. */
#include "tests/unit/unit.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "sampler/target/proc_maps.h"
#include "core/base/proc_status.h"

static bool parse(const char *text, char *line, struct file_mapping *m, bool *executable)
{
	strcpy(line, text);
	return proc_maps_parse(line, m, executable);
}

static void a_line_gives_all_its_fields(void **state)
{
	char line[256];
	struct file_mapping m;
	bool executable;

	(void)state;
	assert_true(
		parse("7f00a1000000-7f00a1020000 r-xp 0001f000 fe:01 1234567    /usr/lib/a.so\n",
		      line, &m, &executable));
	assert_true(executable);
	assert_int_equal(m.start, 0x7f00a1000000);
	assert_int_equal(m.end, 0x7f00a1020000);
	assert_int_equal(m.pgoff, 0x1f000);
	assert_int_equal(m.dev, makedev(0xfe, 1));
	assert_int_equal(m.ino, 1234567);
	assert_string_equal(m.path, "/usr/lib/a.so");
	assert_true(parse("1000-2000 rw-s 00000000 00:00 0 \n", line, &m, &executable));
	assert_false(executable);
	assert_string_equal(m.path, "");
	assert_true(parse("fffffffffffff000-ffffffffffffffff r-xp 0 08:01 18446744073709551615",
			  line, &m, &executable));
	assert_int_equal(m.end, UINT64_MAX);
	assert_int_equal(m.ino, UINT64_MAX);
	assert_string_equal(m.path, "");
}

static void names_may_hold_blanks_and_escapes(void **state)
{
	char line[256];
	struct file_mapping m;
	bool executable;

	(void)state;
	assert_true(
		parse("1000-2000 r-xp 0 08:01 7   /a  b\\012c (deleted)\n", line, &m, &executable));
	assert_string_equal(m.path, "/a  b\\012c (deleted)");
	assert_true(parse("1000-2000 --xp 0 08:01 7   /no newline", line, &m, &executable));
	assert_string_equal(m.path, "/no newline");
}

static void a_very_long_name_is_kept(void **state)
{
	size_t size = 100000;
	char *line = malloc(size + 64);
	struct file_mapping m;
	bool executable;
	int at = snprintf(line, 64, "1000-2000 r-xp 0 08:01 7 /");

	(void)state;
	memset(line + at, 'x', size);
	line[at + (int)size] = '\0';
	assert_true(proc_maps_parse(line, &m, &executable));
	assert_int_equal(strlen(m.path), size + 1);
	free(line);
}

static void what_is_no_mapping_is_refused(void **state)
{
	static const char *const lines[] = {
		"",
		"\n",
		"x",
		"1000",
		"1000-",
		"1000-2000",
		"1000-2000 r-xp",
		"1000-2000 r-xp 0 08:01",
		"2000-1000 r-xp 0 08:01 7 /backwards\n",
		"1000-1000 r-xp 0 08:01 7 /empty\n",
		"1000-2000 r 0 08:01 7 /short permissions\n",
		"1000-2000 r-xps 0 08:01 7 /long permissions\n",
		"11000000000000000-21000000000000000 r-xp 0 08:01 7 /more than 64 bits\n",
		"1000-2000 r-xp 0 100000008:01 7 /more than 32 bits\n",
		"1000-2000 r-xp 0 08:01 99999999999999999999 /more than 64 bits\n",
		"1000-2000 r-xp 0 08:01 7f /no decimal number\n",
		"-2000 r-xp 0 08:01 7 /no number\n",
		"Size:                  4 kB\n",
		"VmFlags: rd ex mr mw me\n",
	};
	struct file_mapping m;
	char line[256];
	bool executable;

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		assert_false(parse(lines[i], line, &m, &executable));
}

static void a_name_says_what_is_behind_it(void **state)
{
	(void)state;
	assert_int_equal(mapping_backing("/usr/bin/cat", 5), BACKING_FILE);
	assert_int_equal(mapping_backing("/usr/bin/cat (deleted)", 5), BACKING_FILE);
	assert_int_equal(mapping_backing("", 0), BACKING_RUNTIME);
	assert_int_equal(mapping_backing("[heap]", 0), BACKING_RUNTIME);
	assert_int_equal(mapping_backing("[anon:code]", 0), BACKING_RUNTIME);
	assert_int_equal(mapping_backing("/memfd:x (deleted)", 9), BACKING_MEMFD);
	assert_int_equal(mapping_backing("//anon", 0), BACKING_RUNTIME);
	assert_int_equal(mapping_backing("/dev/zero (deleted)", 9), BACKING_RUNTIME);
	assert_int_equal(mapping_backing("/SYSV00000000 (deleted)", 9), BACKING_RUNTIME);
	assert_int_equal(mapping_backing("/anon_hugepage (deleted)", 9), BACKING_RUNTIME);
	assert_int_equal(mapping_backing("[vdso]", 0), BACKING_VDSO);
	assert_int_equal(mapping_backing("[vsyscall]", 0), BACKING_IGNORED);
	assert_int_equal(mapping_backing("[uprobes]", 0), BACKING_IGNORED);
}

static void count_code(void *context, struct mapped_file *code)
{
	(void)code;
	++*(int *)context;
}

static void our_own_maps_hold_this_function(void **state)
{
	struct process p = { .pid = getpid() };
	struct file_table *codes = file_table_new();
	uint64_t here = (uint64_t)(uintptr_t)our_own_maps_hold_this_function;
	const struct mapping *m;
	int nr_new = 0;

	(void)state;
	assert_int_equal(process_read_maps(&p, codes, count_code, &nr_new), 0);
	assert_true(nr_new >= 2);
	m = process_find(&p, here);
	assert_non_null(m);
	assert_non_null(strstr(m->code->path, "test_proc_maps"));
	assert_true(m->code->fd >= 0);
	process_fini(&p);
	file_table_free(codes);
}

static void a_process_that_does_not_exist_has_no_maps(void **state)
{
	struct process p = { .pid = 0x7ffffff0 };
	struct file_table *codes = file_table_new();
	int nr_new = 0;

	(void)state;
	assert_int_equal(process_read_maps(&p, codes, count_code, &nr_new), -ESRCH);
	assert_int_equal(nr_new, 0);
	process_fini(&p);
	file_table_free(codes);
}

static void status_text_gives_process_and_state(void **state)
{
	struct proc_status s;

	(void)state;
	assert_int_equal(proc_status_parse("Name:\tTgid: 9\nState:\tS (sleeping)\nTgid:\t42\n"
					   "VmSize:\t 1 kB\nThreads:\t3\n",
					   &s),
			 0);
	assert_int_equal(s.process, 42);
	assert_int_equal(s.nr_threads, 3);
	assert_true(s.has_memory);
	assert_false(s.ended);
	assert_int_equal(proc_status_parse("State:\tZ (zombie)\nTgid:\t7\n", &s), 0);
	assert_true(s.ended);
	assert_false(s.has_memory);
	assert_int_equal(proc_status_parse("", &s), -EINVAL);
	assert_int_equal(proc_status_parse("Tgid:\t-1\n", &s), -EINVAL);
	assert_int_equal(proc_status_parse("Tgid:", &s), -EINVAL);
}

static void *read_status(void *arg)
{
	assert_int_equal(proc_status_read(gettid(), arg), 0);
	return NULL;
}

static void a_thread_belongs_to_its_process(void **state)
{
	struct proc_status s = {};
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, read_status, &s), 0);
	pthread_join(thread, NULL);
	assert_int_equal(s.process, getpid());
	assert_int_equal(s.nr_threads, 2);
	assert_int_equal(proc_status_read(0x7ffffff0, &s), -ESRCH);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_gives_all_its_fields),
		cmocka_unit_test(names_may_hold_blanks_and_escapes),
		cmocka_unit_test(a_very_long_name_is_kept),
		cmocka_unit_test(what_is_no_mapping_is_refused),
		cmocka_unit_test(a_name_says_what_is_behind_it),
		cmocka_unit_test(our_own_maps_hold_this_function),
		cmocka_unit_test(a_process_that_does_not_exist_has_no_maps),
		cmocka_unit_test(status_text_gives_process_and_state),
		cmocka_unit_test(a_thread_belongs_to_its_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
