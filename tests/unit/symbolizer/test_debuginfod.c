/*
 * symbolizer/lookup/debuginfod.c: debug files from a server on this machine, through the client
 * library of elfutils.
 */
#include "tests/unit/symbol_fixture.h"

#include <signal.h>
#include <sys/wait.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "symbolizer/lookup/debuginfod.h"

/* The client library and those it loads keep memory until the process ends. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "detect_leaks=0";
}

/*
 * Serves DIR/www on a free port, writes each request to DIR/requests, and prints its port. With a
 * file DIR/slow, each answer takes hours.
 */
static const char server[] =
	"import functools, http.server, os, sys, time\n"
	"class Handler(http.server.SimpleHTTPRequestHandler):\n"
	"    def log_message(self, *args):\n"
	"        open(sys.argv[1] + '/requests', 'a').write(self.path + '\\n')\n"
	"    def do_GET(self):\n"
	"        if not os.path.exists(sys.argv[1] + '/slow'):\n"
	"            return super().do_GET()\n"
	"        self.send_response(200)\n"
	"        self.send_header('Content-Length', '1000000000')\n"
	"        self.end_headers()\n"
	"        try:\n"
	"            while True:\n"
	"                self.wfile.write(bytes(1000))\n"
	"                time.sleep(0.02)\n"
	"        except OSError:\n"
	"            pass\n"
	"handler = functools.partial(Handler, directory=sys.argv[1] + '/www')\n"
	"httpd = http.server.HTTPServer(('127.0.0.1', 0), handler)\n"
	"print(httpd.server_port, os.getpid(), flush=True)\n"
	"httpd.serve_forever()\n";

struct fixture {
	char *dir;
	FILE *out;
	pid_t server;
	bool usable;
};

/* Builds a stripped program whose debug file is on the server. */
static void make_program(const char *dir, const char *name, const char *function)
{
	char *source = xasprintf("static inline int twice(volatile int *x) { return *x * 2; }\n"
				 "__attribute__((noinline)) int %s(volatile int *x)\n"
				 "{ return twice(x) + 1; }\n"
				 "int main(int c, char **v) { (void)v; return %s(&c); }\n",
				 function, function);

	write_text(dir, "a.c", source);
	shell("cd '%s' && gcc -O2 -g -rdynamic -Wl,--build-id=sha1 -o %s a.c && "
	      "id=$(readelf -n %s | sed -n 's/.*Build ID: //p') && mkdir -p www/buildid/$id && "
	      "objcopy --only-keep-debug %s www/buildid/$id/debuginfo && strip %s",
	      dir, name, name, name, name);
	free(source);
}

static int setup(void **state)
{
	struct fixture *f = xcalloc(1, sizeof(*f));
	int port, pid;
	char *text;

	fixture_setup((void **)&f->dir);
	*state = f;
	setenv("DEBUGINFOD_URLS", "http://127.0.0.1:1", 1);
	setenv("DEBUGINFOD_CACHE_PATH", f->dir, 1);
	f->usable = !system(
		"ldconfig -p | grep -q libdebuginfod.so.1 && command -v python3 >/dev/null");
	if (!f->usable) {
		print_message("libdebuginfod1 or python3 is not installed\n");
		return 0;
	}
	text = xasprintf("%s/cache", f->dir);
	setenv("DEBUGINFOD_CACHE_PATH", text, 1);
	free(text);
	write_text(f->dir, "server.py", server);
	write_text(f->dir, "requests", "");
	make_program(f->dir, "program", "work");
	make_program(f->dir, "other", "rest");
	f->out = output_of("exec python3 '%s/server.py' '%s'", f->dir, f->dir);
	assert_int_equal(fscanf(f->out, "%d %d", &port, &pid), 2);
	f->server = pid;
	text = xasprintf("http://127.0.0.1:%d", port);
	setenv("DEBUGINFOD_URLS", text, 1);
	free(text);
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	void *dir = f->dir;

	if (f->server)
		kill(f->server, SIGKILL);
	if (f->out)
		pclose(f->out);
	unsetenv("DEBUGINFOD_URLS");
	free(f);
	return fixture_teardown(&dir);
}

static int nr_requests(const struct fixture *f)
{
	FILE *out = output_of("grep -c /debuginfo '%s/requests'", f->dir);
	int nr = -1;

	assert_int_equal(fscanf(out, "%d", &nr), 1);
	pclose(out);
	return nr;
}

/* Adds `nr` frames in a program of the fixture, the first of them in `function`. */
static uint32_t add_frames(struct profile *p, const struct fixture *f, const char *name,
			   const char *function, int nr)
{
	char *path = xasprintf("%s/%s", f->dir, name);
	FILE *out = output_of("nm -D '%s' | awk '$NF == \"%s\" {print $1}'", path, function);
	uint32_t module = file_module(p, path), first;
	unsigned long vaddr;

	assert_int_equal(fscanf(out, "%lx", &vaddr), 1);
	pclose(out);
	first = profile_frame(p, module, vaddr + code_bias(path));
	for (int i = 1; i < nr; i++)
		profile_frame(p, module, vaddr + code_bias(path) + (uint64_t)i);
	free(path);
	return first;
}

static void count_progress(void *context, const char *name, uint64_t done, uint64_t total)
{
	int *nr = context;

	(void)done;
	(void)total;
	*nr += name == NULL;
}

static void run_with(struct profile *p, struct debuginfod *d)
{
	const struct symbolizer_opts opts = { .debuginfod = d, .debug_dir = "/nonexistent" };
	struct symbolizer_stats stats;

	symbolizer_run(p, &opts, &stats);
}

static void fetched_debug_file_gives_lines_and_inlined_functions(void **state)
{
	struct fixture *f = *state;
	struct profile *p = profile_new(), *before = profile_new();
	struct debuginfod *d;
	uint32_t frame;
	int nr_fetched = 0;

	if (!f->usable) {
		profile_free(p);
		profile_free(before);
		skip();
	}
	frame = add_frames(before, f, "program", "work", 1);
	run_with(before, NULL);
	assert_string_equal(frame_lines(before, frame), "work");
	assert_int_equal(nr_requests(f), 0);
	assert_int_equal(debuginfod_open(count_progress, &nr_fetched, &d), 0);
	frame = add_frames(p, f, "program", "work", 1);
	run_with(p, d);
	assert_string_equal(frame_lines(p, frame), "work:3>twice:1");
	assert_int_equal(nr_requests(f), 1);
	assert_int_equal(nr_fetched, 1);
	debuginfod_close(d);
	profile_free(before);
	profile_free(p);
}

static void module_with_few_addresses_is_not_asked_for(void **state)
{
	struct fixture *f = *state;
	struct profile *p = profile_new();
	struct debuginfod *d;
	uint32_t frame;

	if (!f->usable) {
		profile_free(p);
		skip();
	}
	assert_int_equal(debuginfod_open(NULL, NULL, &d), 0);
	add_frames(p, f, "program", "work", 299);
	frame = add_frames(p, f, "other", "rest", 1);
	run_with(p, d);
	assert_int_equal(nr_requests(f), 1);
	assert_string_equal(frame_lines(p, frame), "rest");
	debuginfod_close(d);
	profile_free(p);
}

static void file_of_another_build_is_refused(void **state)
{
	struct fixture *f = *state;
	struct profile *p = profile_new();
	struct debuginfod *d;
	uint32_t frame;

	if (!f->usable) {
		profile_free(p);
		skip();
	}
	shell("cd '%s' && gcc -g -o wrong a.c && for f in www/buildid/*/debuginfo; do "
	      "cp wrong $f; done",
	      f->dir);
	assert_int_equal(debuginfod_open(NULL, NULL, &d), 0);
	frame = add_frames(p, f, "program", "work", 1);
	run_with(p, d);
	assert_string_equal(frame_lines(p, frame), "work");
	assert_int_equal(nr_requests(f), 1);
	debuginfod_close(d);
	profile_free(p);
}

static void server_that_does_not_answer_is_asked_once(void **state)
{
	struct fixture *f = *state;
	struct profile *p = profile_new();
	struct debuginfod *d;
	uint32_t frame;
	uint8_t id[20] = { 1 };

	if (!f->usable) {
		profile_free(p);
		skip();
	}
	kill(f->server, SIGKILL);
	pclose(f->out);
	f->out = NULL;
	f->server = 0;
	assert_int_equal(debuginfod_open(NULL, NULL, &d), 0);
	frame = add_frames(p, f, "program", "work", 1);
	run_with(p, d);
	assert_string_equal(frame_lines(p, frame), "work");
	assert_int_equal(debuginfod_fetch(d, "another", id, sizeof(id)), -ENOENT);
	debuginfod_close(d);
	profile_free(p);
}

/* What a child gets that asks for a debug file and may take max_ns: 0 or -errno. */
static int fetch_in_child(struct debuginfod *d, const uint8_t id[20], uint64_t max_ns)
{
	pid_t pid = fork();
	int status, fd;

	if (!pid) {
		debuginfod_limit(d, max_ns);
		fd = debuginfod_fetch(d, "program", id, 20);
		_exit(fd < 0 ? -fd : 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return -WEXITSTATUS(status);
}

static void slow_file_is_not_fetched_by_later_children(void **state)
{
	struct fixture *f = *state;
	const uint8_t id[20] = { 1 }, other[20] = { 2 };
	struct debuginfod *d;

	if (!f->usable)
		skip();
	write_text(f->dir, "slow", "");
	assert_int_equal(debuginfod_open(NULL, NULL, &d), 0);
	/* A child without time asks nothing, and that says nothing about the file. */
	assert_int_equal(fetch_in_child(d, id, 0), -ENOENT);
	assert_int_equal(nr_requests(f), 0);
	assert_int_equal(fetch_in_child(d, id, NS_PER_S), -ETIME);
	assert_int_equal(nr_requests(f), 1);
	/* No part of it is left. The library's own memory of it is in the same folder. */
	shell("test -d '%s/cache' && test -z \"$(find '%s/cache' -name 'debuginfo.*')\"", f->dir,
	      f->dir);
	shell("rm -rf '%s/cache'", f->dir);
	assert_int_equal(fetch_in_child(d, id, NS_PER_S), -ENOENT);
	assert_int_equal(nr_requests(f), 1);
	assert_int_equal(fetch_in_child(d, other, NS_PER_S), -ETIME);
	assert_int_equal(nr_requests(f), 2);
	debuginfod_close(d);
}

static void without_servers_it_is_an_error(void **state)
{
	struct debuginfod *d;

	(void)state;
	unsetenv("DEBUGINFOD_URLS");
	assert_int_equal(debuginfod_open(NULL, NULL, &d), -EDESTADDRREQ);
	setenv("DEBUGINFOD_URLS", "", 1);
	assert_int_equal(debuginfod_open(NULL, NULL, &d), -EDESTADDRREQ);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			fetched_debug_file_gives_lines_and_inlined_functions, setup, teardown),
		cmocka_unit_test_setup_teardown(module_with_few_addresses_is_not_asked_for, setup,
						teardown),
		cmocka_unit_test_setup_teardown(file_of_another_build_is_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(server_that_does_not_answer_is_asked_once, setup,
						teardown),
		cmocka_unit_test_setup_teardown(slow_file_is_not_fetched_by_later_children, setup,
						teardown),
		cmocka_unit_test(without_servers_it_is_an_error),
	};

	log_set_level(LOG_QUIET);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
