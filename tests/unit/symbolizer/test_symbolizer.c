/*
 * symbolizer/symbolizer.c: frames of real files and of this kernel get their names or are counted.
 */
#include "tests/unit/symbol_fixture.h"

#include <signal.h>

#include "core/base/log.h"
#include "symbolizer/kallsyms.h"
#include "symbolizer/runtime/perf_map.h"

static const char *self(void)
{
	static char path[4096];

	assert_true(readlink("/proc/self/exe", path, sizeof(path) - 1) > 0);
	return path;
}

int __attribute__((noinline)) landmark_function(int x);

int __attribute__((noinline)) landmark_function(int x)
{
	return x * 3 + 1;
}

static void function_of_this_program_is_named(void **state)
{
	struct profile *p = profile_new();
	struct symbolizer_stats stats;
	uint32_t module, frame;

	(void)state;
	module = file_module(p, self());
	frame = profile_frame(p, module, symbol_offset(self(), "landmark_function"));
	symbolizer_run(p, NULL, &stats);
	assert_string_equal(frame_names(p, frame), "landmark_function");
	assert_int_equal(stats.nr_frames, 1);
	assert_int_equal(stats.nr_unnamed, 0);
	assert_int_equal(p->functions[0].kind, FUNCTION_NATIVE);
	assert_int_equal(p->functions[0].module, module);
	profile_free(p);
}

static void function_of_a_stripped_file_is_called_by_its_address(void **state)
{
	struct profile *p = profile_new();
	struct symbolizer_stats stats;
	uint32_t module, first, second;
	char *bare = xasprintf("%s/bare", (const char *)*state), *expected;
	uint64_t offset = symbol_offset(self(), "landmark_function");

	shell("strip -s -o %s %s", bare, self());
	module = file_module(p, bare);
	first = profile_frame(p, module, offset);
	second = profile_frame(p, module, offset + 1);
	symbolizer_run(p, NULL, &stats);
	/* Text of this program is linked at its file offset. */
	expected = xasprintf("bare+0x%llx", (unsigned long long)offset);
	assert_string_equal(frame_names(p, first), expected);
	assert_string_equal(frame_names(p, second), expected);
	assert_int_equal(p->functions[0].kind, FUNCTION_UNKNOWN);
	assert_int_equal(stats.nr_unnamed, 2);
	free(expected);
	free(bare);
	profile_free(p);
}

static void address_outside_every_function_is_counted(void **state)
{
	struct profile *p = profile_new();
	struct symbolizer_stats stats;
	uint32_t module, header, beyond;

	(void)state;
	module = file_module(p, self());
	header = profile_frame(p, module, 4);
	beyond = profile_frame(p, module, 1ull << 40);
	symbolizer_run(p, NULL, &stats);
	assert_string_equal(frame_names(p, header), "");
	assert_string_equal(frame_names(p, beyond), "");
	assert_int_equal(stats.nr_frames, 2);
	assert_int_equal(stats.nr_unnamed, 2);
	profile_free(p);
}

static void file_that_was_replaced_gives_no_names(void **state)
{
	struct profile_module other = { .kind = MODULE_ELF, .build_id_size = 20 };
	struct profile *p = profile_new();
	struct symbolizer_stats stats;
	uint32_t frame;

	(void)state;
	other.path = profile_cstring(p, self());
	frame = profile_frame(p, profile_module(p, &other),
			      symbol_offset(self(), "landmark_function"));
	symbolizer_run(p, NULL, &stats);
	assert_string_equal(frame_names(p, frame), "");
	assert_int_equal(stats.nr_unnamed, 1);
	profile_free(p);
}

static int open_pinned(void *context, uint32_t module)
{
	assert_int_equal(module, 0);
	return dup(*(int *)context);
}

static void deleted_file_is_read_through_its_pinned_descriptor(void **state)
{
	struct profile_module gone = { .kind = MODULE_ELF };
	struct profile *p = profile_new();
	struct symbolizer_stats stats;
	struct symbolizer_opts opts;
	char *copy = xasprintf("%s/gone", (char *)*state);
	uint64_t offset;
	uint32_t frame;
	int fd;

	shell("cp '%s' '%s'", self(), copy);
	offset = symbol_offset(copy, "landmark_function");
	fd = open(copy, O_RDONLY);
	unlink(copy);
	gone.path = profile_cstring(p, copy);
	frame = profile_frame(p, profile_module(p, &gone), offset);
	opts = (struct symbolizer_opts){ .open_module = open_pinned, .context = &fd };
	symbolizer_run(p, &opts, &stats);
	assert_string_equal(frame_names(p, frame), "landmark_function");
	close(fd);
	free(copy);
	profile_free(p);
}

static void vdso_function_is_named(void **state)
{
	struct profile_module vdso = { .kind = MODULE_VDSO };
	struct profile *p = profile_new();
	struct symbolizer_stats stats;
	uint32_t module;
	bool found = false;

	(void)state;
	vdso.path = profile_cstring(p, "[vdso]");
	module = profile_module(p, &vdso);
	for (uint64_t at = 0; at < 0x2000; at += 16)
		profile_frame(p, module, at);
	symbolizer_run(p, NULL, &stats);
	for (uint32_t i = 0; i < p->nr_frames; i++)
		found |= !strcmp(frame_names(p, i), "clock_gettime");
	assert_true(found);
	assert_true(stats.nr_unnamed < stats.nr_frames);
	profile_free(p);
}

static void kernel_symbol_ends_where_the_next_begins(void **state)
{
	struct kallsyms *k;
	int fd = text_fd("ffffffff81000000 T _stext\n"
			 "ffffffff81000000 T startup_64\n"
			 "ffffffff81000100 t helper\n"
			 "ffffffff81000180 r table\n"
			 "garbage\n"
			 "ffffffff8100 T\n"
			 "ffffffffc0201000 t nft_do_chain\t[nf_tables]\n"
			 "ffffffffc0300000 t bpf_prog_6deef7357e7b4530_sd_fw\t[bpf]");

	(void)state;
	assert_int_equal(kallsyms_read(fd, &k), 0);
	assert_null(kallsyms_lookup(k, 0xffffffff80ffffff));
	assert_string_equal(kallsyms_lookup(k, 0xffffffff81000000), "startup_64");
	assert_string_equal(kallsyms_lookup(k, 0xffffffff810000ff), "startup_64");
	assert_string_equal(kallsyms_lookup(k, 0xffffffff8100017f), "helper");
	assert_null(kallsyms_lookup(k, 0xffffffff81000180));
	assert_string_equal(kallsyms_lookup(k, 0xffffffffc0201010), "nft_do_chain [nf_tables]");
	assert_string_equal(kallsyms_lookup(k, 0xffffffffc0300010),
			    "bpf_prog_6deef7357e7b4530_sd_fw [bpf]");
	assert_null(kallsyms_lookup(k, 0xffffffffd0300010));
	kallsyms_free(k);
}

static void hidden_kernel_addresses_are_an_error(void **state)
{
	struct kallsyms *k = NULL;

	(void)state;
	assert_int_equal(kallsyms_read(text_fd("0000000000000000 T _stext\n"
					       "0000000000000000 T startup_64\n"),
				       &k),
			 -EPERM);
	assert_int_equal(kallsyms_read(text_fd(""), &k), -EPERM);
	assert_null(k);
}

static struct perf_map *map_of(const char *text, const uint64_t *addresses, size_t nr)
{
	return perf_map_new(xstrdup(text), strlen(text), addresses, nr);
}

static void later_line_of_a_perf_map_replaces_an_earlier_one(void **state)
{
	static const uint64_t at[] = { 0x1000, 0x1010, 0x1020, 0x1030, 0x2000 };
	struct perf_map *m = map_of("1000 40 old code\n"
				    "1010 18 new\n"
				    "1020 8 newest\n",
				    at, 5);

	(void)state;
	assert_string_equal(perf_map_lookup(m, 0x1000), "old code");
	assert_string_equal(perf_map_lookup(m, 0x1010), "new");
	assert_string_equal(perf_map_lookup(m, 0x1020), "newest");
	assert_string_equal(perf_map_lookup(m, 0x1030), "old code");
	assert_null(perf_map_lookup(m, 0x2000));
	assert_null(perf_map_lookup(m, 0x1001)); /* not among the addresses */
	perf_map_free(m);
}

static void hostile_perf_map_lines_are_passed_over(void **state)
{
	static const uint64_t at[] = { 0x1000, UINT64_MAX };
	struct perf_map *m = map_of("\n\n \n1000\n1000 \n1000 10\n1000 10 \nzz 10 no\n"
				    "1000 0 empty\n"
				    "1001 ffffffffffffffffffff behind\n"
				    "-1 1 minus\n"
				    "+1000 10 plus\n"
				    "0x1000 0x10 prefixed\n"
				    "1000 10x no",
				    at, 2);

	(void)state;
	assert_string_equal(perf_map_lookup(m, 0x1000), "prefixed");
	assert_string_equal(perf_map_lookup(m, UINT64_MAX), "behind");
	perf_map_free(m);
	m = map_of("", at, 2);
	assert_null(perf_map_lookup(m, 0x1000));
	perf_map_free(m);
}

/* Every line covers every address: quadratic work would take hours here. */
static void large_overlapping_perf_map_is_read_in_linear_time(void **state)
{
	enum { NR = 20000, LINES = 200000 };
	uint64_t *at = xcalloc(NR, sizeof(*at));
	char *text = xmalloc(LINES * 32), *end = text;
	struct perf_map *m;

	(void)state;
	for (int i = 0; i < NR; i++)
		at[i] = 0x1000 + 16 * (uint64_t)i;
	for (int i = 0; i < LINES; i++)
		end += sprintf(end, "0 ffffffffffffffff f%d\n", i);
	m = perf_map_new(text, (size_t)(end - text), at, NR);
	assert_string_equal(perf_map_lookup(m, at[NR - 1]), "f199999");
	perf_map_free(m);
	free(at);
}

static void perf_map_of_the_process_is_used(void **state)
{
	struct profile_module jit = { .kind = MODULE_JIT, .pid = (uint32_t)getpid() };
	char *path = xasprintf("/tmp/perf-%d.map", getpid());
	struct profile *p = profile_new();
	struct symbolizer_stats stats;
	uint32_t frame, other;
	FILE *map;

	(void)state;
	map = fopen(path, "wx");
	assert_non_null(map);
	fputs("7f0000001000 40 LazyCompile:*run /app/x.js:10\n", map);
	fclose(map);
	jit.path = profile_cstring(p, "[jit]");
	frame = profile_frame(p, profile_module(p, &jit), 0x7f0000001020);
	other = profile_frame(p, profile_module(p, &jit), 0x7f0000001040);
	symbolizer_run(p, NULL, &stats);
	unlink(path);
	assert_string_equal(frame_names(p, frame), "LazyCompile:*run /app/x.js:10");
	assert_int_equal(p->functions[0].kind, FUNCTION_JIT);
	assert_string_equal(frame_names(p, other), "");
	assert_int_equal(stats.nr_unnamed, 1);
	free(path);
	profile_free(p);
}

static void perf_map_that_is_a_link_or_a_fifo_is_refused(void **state)
{
	char *path = xasprintf("/tmp/perf-%d.map", getpid());
	char *real = xasprintf("%s/real.map", (char *)*state);

	shell("echo '0 ffff f' > '%s'", real);
	assert_int_equal(symlink(real, path), 0);
	assert_int_equal(perf_map_open((uint32_t)getpid()), -ELOOP);
	unlink(path);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(perf_map_open((uint32_t)getpid()), -EPERM);
	unlink(path);
	assert_int_equal(perf_map_open((uint32_t)getpid()), -ENOENT);
	free(real);
	free(path);
}

static void perf_map_of_another_user_is_refused(void **state)
{
	char *path = xasprintf("/tmp/perf-%d.map", getpid());
	int fd;

	(void)state;
	if (geteuid()) {
		print_message("needs root: files cannot be given away\n");
		free(path);
		skip();
	}
	shell("echo '0 ffff f' > '%s' && chown 65534 '%s'", path, path);
	fd = perf_map_open((uint32_t)getpid());
	assert_int_equal(fd, -EPERM);
	shell("chown 0 '%s'", path);
	fd = perf_map_open((uint32_t)getpid());
	assert_true(fd >= 0);
	close(fd);
	unlink(path);
	free(path);
}

/*
 * In another PID namespace and root the map has the inner pid in its name and lies in the inner
 * /tmp.
 */
static void perf_map_of_a_container_is_found(void **state)
{
	char *root = *state, text[16] = "", *pid_file = xasprintf("%s/pid", root);
	FILE *file;
	int fd;

	if (system("unshare -p -f -m true 2>/dev/null")) {
		print_message("needs the right to make namespaces\n");
		free(pid_file);
		skip();
	}
	shell("mkdir '%s/tmp' && unshare -p -f -m sh -c '"
	      "mount --bind \"$0/tmp\" /tmp; echo \"1000 10 inside\" >/tmp/perf-1.map; exec sleep "
	      "30' '%s' >/dev/null 2>&1 & echo $! >'%s'; sleep 0.5",
	      root, root, pid_file);
	file = output_of("pgrep -P $(cat '%s')", pid_file);
	assert_non_null(fgets(text, sizeof(text), file));
	pclose(file);
	fd = perf_map_open((uint32_t)atoi(text));
	kill((pid_t)atoi(text), SIGKILL);
	assert_true(fd >= 0);
	assert_true(read(fd, text, 14) == 14);
	assert_memory_equal(text, "1000 10 inside", 14);
	close(fd);
	free(pid_file);
}

static void recording_of_an_earlier_boot_gets_no_kernel_names(void **state)
{
	struct profile_module kernel = { .kind = MODULE_KERNEL };
	struct profile *p = profile_new();
	struct symbolizer_stats stats;

	(void)state;
	kernel.path = profile_cstring(p, "[kernel]");
	for (uint64_t at = 0xffffffff80000000; at < 0xffffffffa0000000; at += 0x40000)
		profile_frame(p, profile_module(p, &kernel), at);
	p->meta.start_realtime_ns = 1;
	symbolizer_run(p, NULL, &stats);
	assert_int_equal(stats.nr_unnamed, stats.nr_frames);
	profile_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(function_of_this_program_is_named),
		cmocka_unit_test_setup_teardown(
			function_of_a_stripped_file_is_called_by_its_address, fixture_setup,
			fixture_teardown),
		cmocka_unit_test(address_outside_every_function_is_counted),
		cmocka_unit_test(file_that_was_replaced_gives_no_names),
		cmocka_unit_test_setup_teardown(deleted_file_is_read_through_its_pinned_descriptor,
						fixture_setup, fixture_teardown),
		cmocka_unit_test(vdso_function_is_named),
		cmocka_unit_test(kernel_symbol_ends_where_the_next_begins),
		cmocka_unit_test(hidden_kernel_addresses_are_an_error),
		cmocka_unit_test(later_line_of_a_perf_map_replaces_an_earlier_one),
		cmocka_unit_test(hostile_perf_map_lines_are_passed_over),
		cmocka_unit_test(large_overlapping_perf_map_is_read_in_linear_time),
		cmocka_unit_test(perf_map_of_the_process_is_used),
		cmocka_unit_test_setup_teardown(perf_map_that_is_a_link_or_a_fifo_is_refused,
						fixture_setup, fixture_teardown),
		cmocka_unit_test(perf_map_of_another_user_is_refused),
		cmocka_unit_test_setup_teardown(perf_map_of_a_container_is_found, fixture_setup,
						fixture_teardown),
		cmocka_unit_test(recording_of_an_earlier_boot_gets_no_kernel_names),
	};

	log_set_level(LOG_QUIET);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
