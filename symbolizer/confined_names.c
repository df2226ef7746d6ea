/*
 * The child runs the same code as a process without a sandbox would, on a profile of its own that
 * has only the frames it was asked about, and gets its files from the recorder.
 */
#include "symbolizer/confined_names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/buffer.h"
#include "core/base/elf_headers.h"
#include "core/base/full_io.h"
#include "core/base/log.h"
#include "core/rights/safe_open.h"
#include "core/profile/profile.h"
#include "core/sandbox/answer_file.h"
#include "core/sandbox/message.h"
#include "core/sandbox/sandbox.h"
#include "symbolizer/lookup/file_requests.h"
#include "symbolizer/runtime/jitdump.h"
#include "symbolizer/module_names.h"
#include "symbolizer/name_runs.h"
#include "symbolizer/names_answer.h"
#include "symbolizer/lookup/names_budget.h"
#include "symbolizer/runtime/perf_map.h"
#include "symbolizer/symbol_module.h"

#define ANSWER_MAX (64ull << 20)
#define CPU_S 1200u /* of all threads together, should the recorder not stop waiting before */
#define MEMORY_MIN (512ull << 20)
#define MEMORY_PART 2 /* of the machine's memory */

/* The first message to the child. */
struct order {
	struct profile_module module;  /* without strings */
	uint64_t nr_addresses, prefix; /* see struct handed_files */
	bool has_fd[2], is_kept, matters, no_inlines, with_runs;
	char path[PATH_MAX];
	char debug_dir[PATH_MAX]; /* "": the default one */
};

/* ---- in the child */

static bool receive_order(int socket, struct order *order, int fds[2], int *addresses, int *answer)
{
	int got[2], files[2], nr = 0;
	char byte;

	if (message_receive(socket, order, sizeof(*order), got, 2) != sizeof(*order) ||
	    message_receive(socket, &byte, 1, files, 2) != 1)
		return false;
	for (int i = 0; i < 2; i++)
		fds[i] = order->has_fd[i] ? got[nr++] : -ENOENT;
	*addresses = files[0];
	*answer = files[1];
	return true;
}

/* Adds the frames to name, in the order of the addresses. */
static struct wanted_name *add_frames(struct profile *p, uint32_t module, int fd, uint64_t nr)
{
	struct wanted_name *wants = xcalloc(nr + 1, sizeof(*wants));
	uint64_t *addresses = xcalloc(nr + 1, sizeof(*addresses));
	const struct elf_source source = { .fd = fd, .size = nr * sizeof(*addresses) };

	if (elf_source_read(&source, 0, addresses, source.size))
		_exit(1);
	for (size_t i = 0; i < nr; i++)
		wants[i] = (struct wanted_name){
			.module = module,
			.frame = profile_frame(p, module, addresses[i]),
			.address = addresses[i],
		};
	free(addresses);
	return wants;
}

static void find_names(int socket)
{
	struct profile *p = profile_new();
	struct symbolizer_opts opts = { 0 };
	struct handed_files files = { 0 };
	struct symbol_module module;
	struct buffer bytes = { 0 };
	struct wanted_name *wants;
	struct file_asker asker;
	int addresses, answer;
	struct order order;
	size_t nr;

	if (!receive_order(socket, &order, files.fds, &addresses, &answer))
		return;
	file_asker_init(&asker, socket);
	order.module.path = profile_cstring(p, order.path);
	opts.no_inlines = order.no_inlines;
	opts.debug_dir = *order.debug_dir ? order.debug_dir : NULL;
	files.module = profile_module(p, &order.module);
	files.is_kept = order.is_kept;
	files.prefix = order.prefix;
	files.broker = &asker.broker;
	nr = order.nr_addresses;
	wants = add_frames(p, files.module, addresses, nr);
	if (!symbol_module_init_handed(&module, p, order.matters, &opts, &files)) {
		if (order.with_runs)
			nr = name_runs_widen(p, &module, &wants, nr);
		module_names_find(p, files.module, &module, wants, nr);
	}
	names_answer_write(&bytes, p, order.nr_addresses);
	if (!full_write(answer, bytes.data, bytes.size))
		file_asker_finish(&asker);
}

/* ---- in the recorder */

/* What one module's child works on. */
struct dialog {
	struct profile *profile;
	const struct wanted_name *wants;
	size_t nr;
	const struct symbolizer_opts *opts;
	struct names_budget *budget;
	bool is_others; /* is a file of it another user's? */
	struct order order;
	int addresses, answer; /* files in memory */
};

/* Opens the files of the module that the child is handed at once. Returns their number. */
static size_t open_files(struct dialog *d, int fds[2])
{
	uint32_t id = d->wants[0].module;
	const struct profile_module *m = &d->profile->modules[id];
	size_t nr = 0;

	for (int i = 0; i < 2; i++) {
		int fd = -ENOENT;

		if (m->kind == MODULE_JIT)
			fd = i ? perf_map_open(m->pid) : jitdump_open(m->pid);
		else if (i == 0)
			fd = symbol_module_open(d->profile, id, d->opts, &d->order.is_kept);
		d->order.has_fd[i] = fd >= 0;
		if (fd >= 0)
			fds[nr++] = fd;
	}
	d->is_others = false;
	for (size_t i = 0; i < nr; i++)
		d->is_others |= names_budget_is_others(fds[i]);
	return nr;
}

static int send_order(struct dialog *d, int socket, struct file_server *server, int fds[2],
		      size_t nr)
{
	const int files[2] = { d->addresses, d->answer };
	int err = -ENOENT;

	for (size_t i = 0; i < nr; i++)
		file_server_count(server, fds[i]);

	server->trust = debug_trust_new(nr ? fds[0] : -1, server->root, server->own_root, false);
	if (nr)
		err = message_send(socket, &d->order, sizeof(d->order), fds, nr);
	if (!err)
		err = message_send(socket, "", 1, files, 2);
	return err == -EPIPE ? -ECHILD : err;
}

static int take_answer(struct dialog *d, size_t *ret_named)
{
	enum function_kind kind =
		d->order.module.kind == MODULE_JIT ? FUNCTION_JIT : FUNCTION_NATIVE;
	uint64_t size;
	void *bytes;
	int err = answer_file_map(d->answer, 1, ANSWER_MAX, &bytes, &size);

	if (err)
		return err;
	err = names_answer_read(bytes, size, d->profile, kind, d->wants, d->nr, d->order.with_runs,
				ret_named);
	munmap(bytes, size);
	return err;
}

/* The child's files; its time and, if a file is another user's, the budget of all those. */
static int serve_child(struct dialog *d, int socket, int fds[2], size_t nr)
{
	struct file_server server = { .opts = d->opts, .path = d->order.path, .root = -1 };
	uint32_t id = d->wants[0].module;
	size_t prefix = 0;
	int err;

	server.max_ns = d->is_others ? d->budget->others_left_ns : 0;
	server.own_root = safe_open_root_of(0);
	if (d->order.module.kind == MODULE_ELF)
		server.root = symbol_module_root(id, d->opts, &prefix);
	d->order.prefix = prefix < strlen(d->order.path) ? prefix : 0;
	err = send_order(d, socket, &server, fds, nr);
	if (!err)
		err = file_server_run(&server, socket);
	if (d->is_others)
		names_budget_take(d->budget, server.waited_ns);
	file_server_fini(&server);
	if (server.own_root >= 0)
		close(server.own_root);
	if (server.root >= 0)
		close(server.root);
	return err;
}

/* Has one child do the work. -EDQUOT: nothing is left of the budget for other users' files. */
static int start_child(struct dialog *d, int fds[2], size_t nr, size_t *ret_named)
{
	uint64_t others_s = d->budget->others_left_ns / 1000000000 + 1;
	const struct sandbox_limits limits = {
		sandbox_memory(MEMORY_PART, MEMORY_MIN),
		ANSWER_MAX,
		d->is_others && others_s < CPU_S ? (uint32_t)others_s : CPU_S,
	};
	int socket, err;

	if (d->is_others && !d->budget->others_left_ns)
		return -EDQUOT;
	socket = sandbox_start(d->opts->sandbox, find_names, &limits);
	if (socket < 0)
		return -ECHILD;
	d->answer = answer_file_new();
	err = d->answer < 0 ? d->answer : serve_child(d, socket, fds, nr);
	if (!err)
		err = take_answer(d, ret_named);
	if (d->answer >= 0)
		close(d->answer);
	close(socket);
	return err;
}

static int try_child(struct dialog *d, size_t *ret_named)
{
	int fds[2], err;
	size_t nr = open_files(d, fds);

	err = start_child(d, fds, nr, ret_named);
	while (nr)
		close(fds[--nr]);
	return err;
}

static void fill_order(struct dialog *d, bool matters)
{
	const struct profile_module *m = &d->profile->modules[d->wants[0].module];

	d->order.module = *m;
	d->order.module.path = 0;
	d->order.nr_addresses = d->nr;
	d->order.matters = matters;
	d->order.no_inlines = d->opts->no_inlines;
	d->order.with_runs = d->opts->with_runs && m->kind == MODULE_ELF;
	strncpy(d->order.path, profile_str(d->profile, m->path), sizeof(d->order.path) - 1);
	if (d->opts->debug_dir)
		strncpy(d->order.debug_dir, d->opts->debug_dir, sizeof(d->order.debug_dir) - 1);
}

size_t confined_names_find(struct profile *p, const struct wanted_name *wants, size_t nr,
			   bool matters, const struct symbolizer_opts *opts,
			   struct names_budget *budget)
{
	struct dialog d = {
		.profile = p, .wants = wants, .nr = nr, .opts = opts, .budget = budget
	};
	uint64_t *addresses = xcalloc(nr, sizeof(*addresses));
	/* A flight recorder meets the same files in each segment: it says so once. */
	bool is_limited = sandbox_memory_max(opts->sandbox);
	size_t named = 0;
	int err;

	for (size_t i = 0; i < nr; i++)
		addresses[i] = wants[i].address;
	d.addresses = answer_file_of(addresses, nr * sizeof(*addresses));
	free(addresses);
	if (d.addresses < 0)
		return 0;
	fill_order(&d, matters);
	err = try_child(&d, &named);
	if ((err == -ECHILD || err == -ETIMEDOUT) && !d.order.no_inlines &&
	    d.order.module.kind == MODULE_ELF && (!d.is_others || budget->others_left_ns)) {
		if (err == -ECHILD && is_limited)
			budget->nr_limited++;
		else
			log_warning("'%s': the process that reads its debug information %s; only "
				    "its symbol tables are read",
				    d.order.path, err == -ECHILD ? "died" : "took too long");
		d.order.no_inlines = true;
		err = try_child(&d, &named);
	}
	if (err == -ECHILD && is_limited)
		budget->nr_limited++;
	else if (err == -ECHILD || err == -ETIMEDOUT || err == -EBADMSG)
		log_warning("no names of '%s': %s", d.order.path, sandbox_failure(err));
	if (err == -EDQUOT && !budget->told) {
		log_warning("no names of '%s' and further files of other users: the time for all "
			    "of them is used up",
			    d.order.path);
		budget->told = true;
	}
	close(d.addresses);
	return named;
}
