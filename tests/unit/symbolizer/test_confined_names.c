/*
 * Names that a child without rights finds are the names that the same code finds in this process;
 * a child that dies costs names and nothing else; and the recorder opens no file for it that is not
 * of use.
 */
#include "tests/unit/symbol_fixture.h"

#include <errno.h>
#include <signal.h>

#include "core/base/buffer.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/rights/safe_open.h"
#include "core/sandbox/message.h"
#include "core/sandbox/sandbox.h"
#include "symbolizer/lookup/file_requests.h"
#include "symbolizer/module_names.h"
#include "symbolizer/names_answer.h"

static struct sandbox *sandbox;

static int start_sandbox(void **state)
{
	(void)state;
	return sandbox_new(&sandbox);
}

static int end_sandbox(void **state)
{
	(void)state;
	sandbox_free(sandbox);
	return 0;
}

/* A profile with frames all over a file. */
static struct profile *profile_of(const char *path)
{
	struct profile *p = profile_new();
	uint32_t module = file_module(p, path);
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	for (off_t at = 0; at < st.st_size; at += 1 + st.st_size / 5000)
		profile_frame(p, module, (uint64_t)at);
	return p;
}

static void expect_same_locations(const struct profile *a, const struct profile *b, size_t of_a,
				  size_t of_b, bool same_module)
{
	const struct profile_frame *f = &a->frames[of_a], *g = &b->frames[of_b];

	assert_int_equal(f->nr_locations, g->nr_locations);
	for (uint32_t i = 0; i < f->nr_locations; i++) {
		const struct profile_location *l = &a->locations[f->first_location + i];
		const struct profile_location *m = &b->locations[g->first_location + i];
		const struct profile_function *x = &a->functions[l->function];
		const struct profile_function *y = &b->functions[m->function];

		assert_int_equal(l->line, m->line);
		assert_int_equal(l->inlined, m->inlined);
		assert_string_equal(profile_str(a, x->name), profile_str(b, y->name));
		assert_string_equal(profile_str(a, x->system_name), profile_str(b, y->system_name));
		assert_string_equal(profile_str(a, x->file), profile_str(b, y->file));
		assert_int_equal(x->start_line, y->start_line);
		assert_int_equal(x->kind, y->kind);
		assert_true(!same_module || x->module == y->module);
	}
}

/* Returns how many frames have inlined functions. */
static size_t expect_same_names(const char *path, struct symbolizer_opts opts)
{
	struct profile *here = profile_of(path), *apart = profile_of(path);
	struct symbolizer_stats a, b;
	size_t nr_inlined = 0;

	symbolizer_run(here, &opts, &a);
	opts.sandbox = sandbox;
	symbolizer_run(apart, &opts, &b);
	assert_int_equal(a.nr_frames, b.nr_frames);
	assert_int_equal(a.nr_unnamed, b.nr_unnamed);
	assert_in_range(b.nr_unnamed, 0, b.nr_frames - 1);
	for (size_t i = 0; i < here->nr_frames; i++) {
		expect_same_locations(here, apart, i, i, true);
		nr_inlined += apart->frames[i].nr_locations > 1;
	}
	profile_free(here);
	profile_free(apart);
	return nr_inlined;
}

static void names_are_the_same_as_without_a_sandbox(void **state)
{
	const struct symbolizer_opts opts = { 0 }, no_inlines = { .no_inlines = true };

	(void)state;
	assert_in_range(expect_same_names("/proc/self/exe", opts), 0, SIZE_MAX);
	expect_same_names("/proc/self/exe", no_inlines);
	expect_same_names("/bin/bash", opts);
}

static const char source[] = "static inline int twice(int x) { return x * 2 + (x >> 3); }\n"
			     "int work(int x) { int s = 0; while (x--) s += twice(x) ^ x;"
			     " return s; }\n"
			     "int main(int c, char **v) { (void)v; return work(c * 1000); }\n";

static void write_source(const char *dir)
{
	char *path = xasprintf("%s/a.c", dir);
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(source, f);
	fclose(f);
	free(path);
}

/* The frame whose names hold for an address, by the runs of the profile; or NULL. */
static const struct profile_frame *run_of(const struct profile *p, uint64_t address)
{
	const struct profile_frame *found = NULL;

	for (size_t i = 0; i < p->nr_frames; i++) {
		const struct profile_frame *f = &p->frames[i];

		if (p->modules[f->module].begins_runs && f->address <= address &&
		    (!found || found->address < f->address))
			found = f;
	}
	return found && found->nr_locations ? found : NULL;
}

/* Names one address with its surroundings. Returns how many others have the names of a run. */
static size_t expect_same_runs(const char *path, uint64_t address)
{
	struct symbolizer_opts opts = { .sandbox = sandbox };
	struct profile *all = profile_new(), *one = profile_new();
	uint32_t module = file_module(all, path);
	struct symbolizer_stats stats;
	size_t nr = 0;

	for (uint64_t at = address - 600; at < address + 600; at++)
		profile_frame(all, module, at);
	symbolizer_run(all, &opts, &stats);
	profile_frame(one, file_module(one, path), address);
	opts.with_runs = true;
	symbolizer_run(one, &opts, &stats);
	for (uint32_t i = 0; i < 1200; i++) {
		const struct profile_frame *run = run_of(one, all->frames[i].address);

		if (run)
			expect_same_locations(all, one, i, (size_t)(run - one->frames), false);
		nr += run != NULL;
	}
	profile_free(all);
	profile_free(one);
	return nr;
}

static void runs_have_the_names_that_their_addresses_have(void **state)
{
	extern const char __executable_start;
	uint64_t start = (uint64_t)((const char *)&profile_of - &__executable_start);

	(void)state;
	for (uint64_t at = start; at < start + 120; at += 37)
		assert_in_range(expect_same_runs("/proc/self/exe", at), 50, 1023);
}

static void files_that_a_child_needs_are_opened_for_it(void **state)
{
	const char *dir = *state;
	struct symbolizer_opts opts = { .debug_dir = dir };
	char *path = xasprintf("%s/a", dir);

	write_source(dir);
	/* split DWARF */
	shell("cd '%s' && gcc -g -O2 -gsplit-dwarf -fno-ipa-icf -o a a.c && rm a.c", dir);
	assert_in_range(expect_same_names(path, opts), 1, SIZE_MAX);
	/* a debug file by build-id, in the debug directory */
	write_source(dir);
	shell("cd '%s' && gcc -g -O2 -Wl,--build-id=0x0123456789abcdef -o a a.c && "
	      "mkdir -p .build-id/01 && "
	      "objcopy --only-keep-debug a .build-id/01/23456789abcdef.debug && strip a",
	      dir);
	assert_in_range(expect_same_names(path, opts), 1, SIZE_MAX);
	/* and beside the file, by its name */
	shell("cd '%s' && gcc -g -O2 -Wl,--build-id=none -o a a.c && "
	      "objcopy --only-keep-debug a a.debug && strip a && "
	      "objcopy --add-gnu-debuglink=a.debug a",
	      dir);
	assert_in_range(expect_same_names(path, opts), 1, SIZE_MAX);
	free(path);
}

static void runtime_code_is_named_by_a_map_that_is_handed_over(void **state)
{
	const struct symbolizer_opts opts = { .sandbox = sandbox };
	struct profile *p = profile_new();
	struct profile_module module = { .kind = MODULE_JIT, .pid = (uint32_t)getpid() };
	char *map = xasprintf("/tmp/perf-%d.map", (int)getpid());
	FILE *f = fopen(map, "w");
	struct symbolizer_stats stats;
	uint32_t frame;

	(void)state;
	assert_non_null(f);
	fputs("1000 100 first\n2000 100 second\n", f);
	fclose(f);
	module.path = profile_cstring(p, "[jit]");
	frame = profile_frame(p, profile_module(p, &module), 0x2010);
	symbolizer_run(p, &opts, &stats);
	unlink(map);
	free(map);
	assert_int_equal(stats.nr_unnamed, 0);
	assert_string_equal(
		profile_str(
			p,
			p->functions[p->locations[p->frames[frame].first_location].function].name),
		"second");
	profile_free(p);
}

/* Sends a signal to all children of a process. Returns the number of them; *ret_one is one. */
static int kill_children(pid_t parent, int signal, pid_t *ret_one)
{
	char path[96];
	int pid, nr = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)parent, (int)parent);
	f = fopen(path, "r");
	for (; f && fscanf(f, "%d", &pid) == 1; nr++) {
		kill(pid, signal);
		*ret_one = pid;
	}
	if (f)
		fclose(f);
	return nr;
}

/* The child waits for its order when the recorder opens the root of its file. */
struct killer {
	int nr_left;
};

static int open_root_and_kill(void *context, uint32_t module, size_t *ret_prefix)
{
	struct killer *k = context;
	pid_t starter = 0, child;

	(void)module;
	*ret_prefix = 0;
	assert_int_equal(kill_children(getpid(), 0, &starter), 1);
	usleep(100000); /* until the child is there, and none that has finished */
	if (k->nr_left-- > 0)
		while (!kill_children(starter, SIGKILL, &child))
			usleep(1000);
	return safe_open_root_of(0);
}

static int open_self(void *context, uint32_t module)
{
	(void)context, (void)module;
	return open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
}

static void a_child_that_dies_costs_lines_or_names_only(void **state)
{
	struct symbolizer_stats stats;

	(void)state;
	log_set_level(LOG_QUIET);
	for (int nr_killed = 0; nr_killed < 3; nr_killed++) {
		struct killer killer = { nr_killed };
		const struct symbolizer_opts opts = { .sandbox = sandbox,
						      .open_module = open_self,
						      .open_root = open_root_and_kill,
						      .context = &killer };
		struct profile *p = profile_of("/proc/self/exe");
		size_t nr_lines = 0;

		symbolizer_run(p, &opts, &stats);
		for (size_t i = 0; i < p->nr_locations; i++)
			nr_lines += p->locations[i].line > 0;
		if (nr_killed == 0)
			assert_in_range(nr_lines, 1, SIZE_MAX);
		if (nr_killed == 1) /* names by the symbol tables */
			assert_true(nr_lines == 0 && stats.nr_unnamed < stats.nr_frames);
		if (nr_killed == 2)
			assert_int_equal(stats.nr_unnamed, stats.nr_frames);
		profile_free(p);
	}
	log_set_level(LOG_NORMAL);
}

/* The file that a child reads, and its owner. The child stops before it has its order. */
struct endless {
	const char *path;
	int nr_children;
};

static int open_and_stop(void *context, uint32_t module)
{
	struct endless *e = context;
	pid_t starter = 0;

	(void)module;
	assert_int_equal(kill_children(getpid(), SIGSTOP, &starter), 1); /* it starts nothing */
	e->nr_children++;
	return open(e->path, O_RDONLY | O_CLOEXEC);
}

static uint64_t ms_for_names(struct endless *e, uint32_t file_ms, uint32_t others_ms, int nr)
{
	const struct symbolizer_opts opts = { .sandbox = sandbox,
					      .open_module = open_and_stop,
					      .context = e,
					      .file_ms = file_ms,
					      .others_ms = others_ms };
	struct profile *p = profile_new();
	struct symbolizer_stats stats;
	pid_t starter = 0;
	uint64_t start;

	for (int i = 0; i < nr; i++) {
		struct profile_module m = { .kind = MODULE_ELF, .ino = (uint64_t)i + 1 };

		m.path = profile_cstring(p, e->path);
		profile_frame(p, profile_module(p, &m), 0x1000);
	}
	start = monotonic_ns();
	symbolizer_run(p, &opts, &stats);
	start = monotonic_ns() - start;
	kill_children(getpid(), SIGCONT, &starter);
	assert_int_equal(stats.nr_unnamed, nr);
	profile_free(p);
	return start / 1000000;
}

static void a_child_that_does_not_finish_is_not_awaited(void **state)
{
	char *path = xasprintf("%s/small", (const char *)*state);
	struct endless e = { .path = path };

	shell("cp /bin/true '%s' && truncate -s 1T '%s'", path, path); /* with a hole */
	log_set_level(LOG_QUIET);
	assert_in_range(ms_for_names(&e, 200, 0, 1), 200, 20000);
	log_set_level(LOG_NORMAL);
	free(path);
}

static void files_of_other_users_have_one_time_for_all(void **state)
{
	char *path = xasprintf("%s/others", (const char *)*state);
	struct endless e = { .path = path };

	if (getuid()) {
		free(path);
		skip();
	}
	shell("cp /bin/true '%s' && chown 12345 '%s'", path, path);
	log_set_level(LOG_QUIET);
	assert_in_range(ms_for_names(&e, 100, 500, 100), 500, 6000); /* 20 s if each had its own */
	log_set_level(LOG_NORMAL);
	free(path);
}

static int answer_to(struct file_server *server, enum file_request_type type, const char *text)
{
	struct file_request request = { .type = (uint8_t)type };
	size_t length = strlen(text);
	int sockets[2], answer = 1, fd, err;

	assert_int_equal(message_pair(sockets), 0);
	memcpy(request.text, text, length);
	message_send(sockets[1], &request, offsetof(struct file_request, text) + length, NULL, 0);
	request.type = REQUEST_DONE;
	message_send(sockets[1], &request, 1, NULL, 0);
	err = file_server_run(server, sockets[0]);
	if (!err && message_receive(sockets[1], &answer, sizeof(answer), &fd, 1) > 0) {
		assert_int_equal(fd >= 0, answer == 0);
		if (fd >= 0)
			close(fd);
	}
	close(sockets[0]);
	close(sockets[1]);
	return err ? err : answer;
}

static void only_elf_files_in_their_places_are_opened(void **state)
{
	const struct symbolizer_opts opts = { 0 };
	struct file_server server = {
		.opts = &opts,
		.path = "/bin/test",
		.root = safe_open_root_of(0),
		.own_root = safe_open_root_of(0),
	};
	char long_path[PATH_MAX];

	(void)state;
	server.trust = debug_trust_new(-1, server.root, server.own_root, false);
	memset(long_path, '/', sizeof(long_path) - 1);
	long_path[sizeof(long_path) - 1] = '\0';
	assert_int_equal(answer_to(&server, REQUEST_FILE, "/bin/bash"), 0);
	assert_int_equal(answer_to(&server, REQUEST_FILE, "/etc/passwd"), -ENOEXEC);
	assert_int_equal(answer_to(&server, REQUEST_FILE, "etc/passwd"), -EINVAL);
	assert_int_equal(answer_to(&server, REQUEST_FILE, "/dev/null"), -EPERM);
	assert_int_equal(answer_to(&server, REQUEST_FILE, ""), -EINVAL);
	assert_true(answer_to(&server, REQUEST_FILE, long_path) < 0);
	assert_int_equal(answer_to(&server, REQUEST_OWN_FILE, "/bin/bash"), -EPERM);
	assert_int_equal(answer_to(&server, REQUEST_OWN_FILE, "/usr/lib/debug/../../bin/bash"),
			 -EPERM);
	assert_int_equal(answer_to(&server, REQUEST_OWN_FILE, "/usr/lib/debug/none"), -ENOENT);
	assert_int_equal(answer_to(&server, REQUEST_FETCH, "01234567"), -ENOENT);
	assert_int_equal(answer_to(&server, 99, "x"), -EBADMSG);
	assert_int_equal(answer_to(&server, 0, "x"), -EBADMSG);
	server.nr_opened = 1u << 16;
	assert_int_equal(answer_to(&server, REQUEST_FILE, "/bin/bash"), -EMFILE);
	file_server_fini(&server);
	close(server.root);
	close(server.own_root);
}

static void damaged_answers_are_refused(void **state)
{
	struct symbolizer_stats stats;
	struct profile *p = profile_of("/proc/self/exe");
	struct buffer good = { 0 };
	unsigned int seed = 1;
	size_t nr_refused = 0;

	(void)state;
	symbolizer_run(p, NULL, &stats);
	names_answer_write(&good, p, p->nr_frames);
	for (int i = 0; i < 300; i++) {
		struct profile *to = profile_of("/proc/self/exe");
		struct wanted_name *wants = xcalloc(to->nr_frames, sizeof(*wants));
		uint8_t *bytes = xmalloc(good.size);
		size_t size = i % 2 ? good.size : (size_t)rand_r(&seed) % good.size, named;

		memcpy(bytes, good.data, good.size);
		if (i % 2)
			bytes[(size_t)rand_r(&seed) % size] ^= (uint8_t)(1 << rand_r(&seed) % 8);
		for (uint32_t k = 0; k < to->nr_frames; k++)
			wants[k].frame = k;
		if (names_answer_read(bytes, size, to, FUNCTION_NATIVE, wants, to->nr_frames, true,
				      &named))
			nr_refused++;
		for (size_t k = 0; k < to->nr_locations; k++)
			assert_true(to->locations[k].function < to->nr_functions);
		assert_true(named <= to->nr_frames);
		free(bytes);
		free(wants);
		profile_free(to);
	}
	assert_in_range(nr_refused, 150, 300);
	buffer_fini(&good);
	profile_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_the_same_as_without_a_sandbox),
		cmocka_unit_test(runs_have_the_names_that_their_addresses_have),
		cmocka_unit_test_setup_teardown(files_that_a_child_needs_are_opened_for_it,
						fixture_setup, fixture_teardown),
		cmocka_unit_test(runtime_code_is_named_by_a_map_that_is_handed_over),
		cmocka_unit_test(a_child_that_dies_costs_lines_or_names_only),
		cmocka_unit_test_setup_teardown(a_child_that_does_not_finish_is_not_awaited,
						fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(files_of_other_users_have_one_time_for_all,
						fixture_setup, fixture_teardown),
		cmocka_unit_test(only_elf_files_in_their_places_are_opened),
		cmocka_unit_test(damaged_answers_are_refused),
	};

	return cmocka_run_group_tests(tests, start_sandbox, end_sandbox);
}
