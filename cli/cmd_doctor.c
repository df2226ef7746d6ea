/*
 * sprof doctor: says which sources of samples work on this host, and whether GPUs can be recorded,
 * why the others do not, and which command fixes that. Each source answers for itself (struct
 * source, probe), and cli/info/gpu_facts.c for the GPUs; this file only prints.
 */
#include "cli/commands.h"

#include <argp.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/gpu/record_gpu.h"
#include "cli/info/gpu_facts.h"
#include "cli/info/gpu_needs.h"
#include "cli/info/host_facts.h"
#include "cli/options/parse_args.h"
#include "cli/options/terminal.h"
#include "cli/options/whole_number.h"
#include "core/base/buffer.h"
#include "core/base/log.h"
#include "core/rights/privileges.h"
#include "core/untrusted/remote_read.h"
#include "core/untrusted/target_mounts.h"
#include "core/profile/source.h"
#include "output/report/grid.h"
#include "output/text/text.h"
#include "sampler/attach/own_library.h"
#include "sampler/ebpf/source_ebpf.h"
#include "sampler/timer/source_timer.h"
#include "sampler/waiting/waiting_way.h"

enum { KEY_JSON = 256 };

#define VERSION 2 /* of the JSON object */

/* What a source says about this host. */
struct finding {
	bool ok;
	char why[256], hint[256]; /* "" where the source works; no hint where no command helps */
};

static const struct argp_option options[] = {
	{ "pid", 'p', "PID", 0, "Also say how this process can be sampled", 0 },
	{ "json", KEY_JSON, NULL, 0, "For programs: one JSON object, see sprof-doctor(1)", 0 },
	{ 0 },
};

struct asked {
	bool json;
	pid_t pid; /* 0: no process */
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct asked *asked = state->input;

	switch (key) {
	case KEY_JSON: asked->json = true; return 0;
	case 'p': pid_argument(arg, state, &asked->pid); return 0;
	case ARGP_KEY_ARG: argp_error(state, "doctor takes no arguments, not '%s'", arg); return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.doc = "Says which ways to take samples work here, why the others do not, and what fixes "
	       "that."
	       "\vExamples:\n"
	       "  sprof doctor\n"
	       "  sudo sprof doctor\n"
	       "  sprof doctor -p 1234\n"
	       "  sprof doctor --json | jq .sources\n",
};

static struct finding examine(const struct source_ops *ops)
{
	struct finding f = { .ok = false };

	f.ok = ops->probe(f.why, sizeof(f.why), f.hint, sizeof(f.hint));
	if (f.ok)
		f.why[0] = f.hint[0] = '\0';
	return f;
}

static const char *describe(const struct timer_way *way)
{
	if (way->prearmed)
		return "OK: pre-armed, libsprof.so is loaded and sleeps until sprof record -p "
		       "wakes it";
	if (!way->ok)
		return way->why;
	if (!strcmp(way->seccomp, "shared"))
		return "OK: by ptrace, under the container's seccomp filter, which allows what "
		       "that takes";
	if (!strcmp(way->seccomp, "read"))
		return "OK: by ptrace, its seccomp filter allows what that takes";
	return "OK: by ptrace";
}

/* Borrowed rights are used only for a process that the caller may read without them. */
static void probe_process(pid_t pid, struct timer_way *ret_way)
{
	enum rights before = privileges_use(RIGHTS_OF_CALLER);

	if (privileges_caller_may_read(pid))
		privileges_use(before);
	source_timer_probe_process(pid, source_table, ret_way);
	privileges_use(before);
}

/* Returns whether there is a GPU, so that what it needs has answers too. */
static bool find_gpu(struct gpu_facts *ret, struct gpu_facts ret_needs[NR_GPU_NEEDS])
{
	char *library = own_library_find(GPU_LIBRARY);

	gpu_facts_of_host("", library != NULL, ret);
	free(library);
	if (ret->ok)
		gpu_needs_of_host("", privileges_have(CAP_SYS_PTRACE), ret_needs);
	return ret->ok;
}

/* Reads the maps with the caller's own rights: the process may be another user's. */
static void find_gpu_of(pid_t pid, const struct timer_way *way, struct gpu_facts *ret)
{
	int root = target_mounts_open_root(pid);
	enum rights before;

	*ret = (struct gpu_facts){ 0 };
	if (root >= 0)
		close(root);
	if (root == -ETIMEDOUT) /* its maps would not come either */
		return;
	before = privileges_use(RIGHTS_OF_CALLER);
	gpu_facts_of_process("", pid, way->ok, way->why, ret);
	privileges_use(before);
}

/* The text is tables of names and answers, without headings. */
static void begin_table(struct grid *g)
{
	static const struct grid_column columns[] = { { NULL, "", true }, { NULL, "", true } };

	grid_init(g, columns, 2);
}

static void end_table(struct buffer *b, struct grid *g)
{
	grid_write_text(b, g, 0);
	grid_fini(g);
}

/* An empty `hint`: there is nothing to fix, or no command fixes it. */
static void add_answer(struct grid *g, const char *name, const char *answer, const char *hint)
{
	grid_text(g, name);
	grid_text(g, answer);
	if (!*hint)
		return;
	grid_text(g, "");
	buffer_add_string(grid_cell(g), "fix: ");
	buffer_add_string(&g->text, hint);
}

static bool can_follow_waits(const char **ret_text)
{
	struct waiting_kernel kernel;

	waiting_kernel_examine(&kernel);
	*ret_text = waiting_way_text(kernel.way);
	return kernel.way != WAITING_CANNOT;
}

static void add_waits(struct grid *g)
{
	const char *text;
	bool ok = can_follow_waits(&text);

	grid_text(g, "waits");
	buffer_add_string(grid_cell(g), ok ? "OK: " : "");
	buffer_add_string(&g->text, text);
}

static void print_process(struct buffer *b, pid_t pid)
{
	struct timer_way way;
	struct gpu_facts gpu;
	struct grid g;

	probe_process(pid, &way);
	find_gpu_of(pid, &way, &gpu);
	buffer_printf(b, "\nprocess %d\n", (int)pid);
	begin_table(&g);
	add_answer(&g, "timer", describe(&way), way.hint);
	add_answer(&g, "gpu", gpu.what, gpu.hint);
	end_table(b, &g);
}

static void print_facts(struct buffer *b)
{
	char value[256];
	struct grid g;

	begin_table(&g);
	for (const struct host_fact *fact = host_facts; fact->key; fact++) {
		fact->read(value, sizeof(value));
		add_answer(&g, fact->name, value, "");
	}
	end_table(b, &g);
}

/* Returns whether any source works. */
static bool print_text(struct buffer *b, pid_t pid)
{
	struct gpu_facts gpu, needs[NR_GPU_NEEDS];
	bool any = false, any_gpu;
	struct grid g;

	begin_table(&g);
	for (size_t i = 0; source_table[i]; i++) {
		const struct finding f = examine(source_table[i]);

		any |= f.ok;
		add_answer(&g, source_table[i]->name, f.ok ? "OK" : f.why, f.hint);
		if (f.ok && source_table[i] == &source_ebpf)
			add_waits(&g);
	}
	any_gpu = find_gpu(&gpu, needs);
	add_answer(&g, "gpu", gpu.what, gpu.hint);
	for (int i = 0; any_gpu && i < NR_GPU_NEEDS; i++)
		add_answer(&g, gpu_need_names[i], needs[i].what, needs[i].hint);
	end_table(b, &g);
	if (pid)
		print_process(b, pid);
	buffer_add_char(b, '\n');
	print_facts(b);
	return any;
}

static void add_member(struct buffer *b, const char *key, const char *value)
{
	text_add_json(b, key);
	buffer_add_char(b, ':');
	text_add_json(b, value);
}

/* `before`: what precedes the key in JSON. */
static void add_gpu(struct buffer *b, const char *before, const char *key,
		    const struct gpu_facts *gpu)
{
	buffer_printf(b, "%s\"%s\":{\"ok\":%s,", before, key, gpu->ok ? "true" : "false");
	add_member(b, gpu->ok ? "state" : "reason", gpu->what);
	buffer_add_char(b, ',');
	add_member(b, "fix", gpu->hint);
	buffer_add_char(b, '}');
}

static void add_process(struct buffer *b, pid_t pid)
{
	struct timer_way way;
	struct gpu_facts gpu;

	probe_process(pid, &way);
	find_gpu_of(pid, &way, &gpu);
	buffer_printf(b, ",\"process\":{\"pid\":%d,\"prearmed\":%s,\"ok\":%s,", (int)pid,
		      way.prearmed ? "true" : "false", way.ok ? "true" : "false");
	add_member(b, "seccomp", way.seccomp);
	buffer_add_char(b, ',');
	add_member(b, "reason", way.why);
	buffer_add_char(b, ',');
	add_member(b, "fix", way.hint);
	add_gpu(b, ",", "gpu", &gpu);
	buffer_add_char(b, '}');
}

/* Returns whether any source works. */
static bool print_json(struct buffer *b, pid_t pid)
{
	struct gpu_facts gpu, needs[NR_GPU_NEEDS];
	bool any = false, any_gpu, waits;
	const char *text;
	char value[256];

	buffer_printf(b, "{\"version\":%d,\"sources\":[", VERSION);
	for (size_t i = 0; source_table[i]; i++) {
		const struct finding f = examine(source_table[i]);

		any |= f.ok;
		buffer_add_string(b, i ? ",{" : "{");
		add_member(b, "name", source_table[i]->name);
		buffer_printf(b, ",\"ok\":%s,", f.ok ? "true" : "false");
		add_member(b, "reason", f.why);
		buffer_add_char(b, ',');
		add_member(b, "fix", f.hint);
		buffer_add_char(b, '}');
	}
	buffer_add_char(b, ']');
	waits = can_follow_waits(&text);
	buffer_printf(b, ",\"waits\":{\"ok\":%s,", waits ? "true" : "false");
	add_member(b, waits ? "state" : "reason", text);
	buffer_add_char(b, '}');
	any_gpu = find_gpu(&gpu, needs);
	add_gpu(b, ",", "gpu", &gpu);
	buffer_add_string(b, ",\"gpu_needs\":{");
	for (int i = 0; any_gpu && i < NR_GPU_NEEDS; i++)
		add_gpu(b, i ? "," : "", gpu_need_keys[i], &needs[i]);
	buffer_add_char(b, '}');
	if (pid)
		add_process(b, pid);
	buffer_add_string(b, ",\"facts\":{");
	for (const struct host_fact *fact = host_facts; fact->key; fact++) {
		fact->read(value, sizeof(value));
		if (fact != host_facts)
			buffer_add_char(b, ',');
		add_member(b, fact->key, value);
	}
	buffer_add_string(b, "}}\n");
	return any;
}

static int doctor_main(int argc, char **argv)
{
	struct buffer b = { 0 };
	const struct terminal terminal = terminal_of(NULL);
	struct asked asked = { 0 };
	bool any;

	parse_args(&argp, argc, argv, &asked);
	privileges_use(RIGHTS_BORROWED); /* as sprof record, for which the answers hold */
	if (remote_read_start())
		log_debug("no process that reads others: a hostile one may hold this up");
	any = asked.json ? print_json(&b, asked.pid) : print_text(&b, asked.pid);
	privileges_use(RIGHTS_OF_CALLER);
	remote_read_end();
	if (!asked.json)
		terminal_fold(&terminal, &b);
	fwrite(b.data, 1, b.size, stdout);
	buffer_fini(&b);
	return any ? 0 : 1;
}

const struct command cmd_doctor = {
	.name = "doctor",
	.argp = &argp,
	.help = "say which sources of samples work here, and what fixes the others",
	.samples = true,
	.main = doctor_main,
};
