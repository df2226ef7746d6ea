/*
 * The child is handed the file, the globs and a file in memory for its answer, and asks for debug
 * files as the child of confined_names does. An answer is a row for each function: offset, glob,
 * kind, size of the name, and the name.
 */
#include "symbolizer/confined_functions.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/buffer.h"
#include "core/base/clock.h"
#include "core/base/cursor.h"
#include "core/base/full_io.h"
#include "core/rights/safe_open.h"
#include "core/sandbox/answer_file.h"
#include "core/sandbox/message.h"
#include "core/sandbox/sandbox.h"
#include "core/untrusted/target_mounts.h"
#include "symbolizer/lookup/debug_file.h"
#include "symbolizer/lookup/file_requests.h"

#define ANSWER_MAX (64ull << 20)
#define GLOBS_MAX 4096u
#define CPU_S 60 /* the largest symbol tables take 2 s */
#define TIME_MAX_NS (120ull * 1000 * 1000 * 1000)
#define MEMORY_MIN (512ull << 20)
#define MEMORY_PART 4 /* of the machine's memory */

/* The first message to the child; a message for each glob follows. */
struct order {
	size_t nr_globs;
	char path[PATH_MAX];
};

struct row {
	uint64_t offset;
	uint32_t glob;
	uint16_t is_resolver, is_local;
	uint64_t size, name_size;
};

/* ---- in the child */

static bool receive_globs(int socket, char **globs, size_t nr)
{
	char text[PATH_MAX];

	for (size_t i = 0; i < nr; i++) {
		ssize_t n = message_receive(socket, text, sizeof(text), NULL, 0);

		if (n <= 0)
			return false;
		globs[i] = strndup(text, (size_t)n);
	}
	return true;
}

static void write_answer(int answer, const struct named_function *functions, size_t nr)
{
	struct buffer b = { 0 };

	for (size_t i = 0; i < nr; i++) {
		const struct row row = {
			.offset = functions[i].offset,
			.size = functions[i].size,
			.glob = (uint32_t)functions[i].glob,
			.is_resolver = functions[i].is_resolver,
			.is_local = functions[i].is_local,
			.name_size = strlen(functions[i].name),
		};

		buffer_add(&b, &row, sizeof(row));
		buffer_add(&b, functions[i].name, row.name_size);
	}
	if (full_write(answer, b.data, b.size))
		_exit(1);
}

static void find_functions(int socket)
{
	const struct symbolizer_opts opts = { 0 };
	struct symbol_module module = { .opts = &opts, .kind = MODULE_ELF };
	struct named_function *functions;
	struct file_asker asker;
	struct order order;
	char **globs;
	int fds[2];
	size_t nr;

	if (message_receive(socket, &order, sizeof(order), fds, 2) != sizeof(order))
		return;
	globs = xcalloc(order.nr_globs, sizeof(*globs));
	if (!receive_globs(socket, globs, order.nr_globs) || elf_image_open(fds[0], &module.image))
		return;
	file_asker_init(&asker, socket);
	module.path = module.path_in_root = order.path;
	module.root.broker = module.own_root.broker = &asker.broker;
	module.root.fd = module.own_root.fd = -1;
	module.own_root.is_own = true;
	debug_file_find(&module);
	function_names_search(&module, (const char *const *)globs, order.nr_globs, &functions, &nr);
	write_answer(fds[1], functions, nr);
	file_asker_finish(&asker);
}

/* ---- in the recorder */

int functions_answer_read(const void *bytes, uint64_t size, size_t nr_globs,
			  struct named_function **ret_functions, size_t *ret_nr)
{
	struct cursor c = cursor_at(bytes, size, 0);
	struct named_function *found = NULL;
	size_t nr = 0, capacity = 0;

	while (cursor_left(&c)) {
		const uint8_t *at = cursor_take(&c, sizeof(struct row)), *name;
		struct row row;

		if (!at)
			goto bad;
		memcpy(&row, at, sizeof(row));
		name = cursor_take(&c, row.name_size);
		if (!name || row.glob >= nr_globs || memchr(name, 0, row.name_size) ||
		    (nr && row.offset <= found[nr - 1].offset))
			goto bad;
		found = xgrow(found, &capacity, nr + 1, sizeof(*found));
		found[nr++] = (struct named_function){
			.name = strndup((const char *)name, row.name_size),
			.offset = row.offset,
			.size = row.size,
			.glob = row.glob,
			.is_resolver = row.is_resolver,
			.is_local = row.is_local,
		};
	}
	*ret_functions = found;
	*ret_nr = nr;
	return 0;
bad:
	function_names_free(found, nr);
	return -EBADMSG;
}

static int send_order(int socket, const char *path, const int fds[2], const char *const *globs,
		      size_t nr_globs)
{
	struct order order = { .nr_globs = nr_globs };
	int err;

	strncpy(order.path, path, sizeof(order.path) - 1);
	err = message_send(socket, &order, sizeof(order), fds, 2);
	for (size_t i = 0; i < nr_globs && !err; i++)
		err = message_send(socket, globs[i], strlen(globs[i]), NULL, 0);
	return err == -EPIPE ? -ECHILD : err;
}

static int take_answer(int answer, size_t nr_globs, struct named_function **ret_functions,
		       size_t *ret_nr)
{
	uint64_t size;
	void *bytes;
	int err;

	*ret_functions = NULL;
	*ret_nr = 0;
	if (!lseek(answer, 0, SEEK_END)) /* nothing has such a name */
		return 0;
	err = answer_file_map(answer, 1, ANSWER_MAX, &bytes, &size);
	if (err)
		return err;
	err = functions_answer_read(bytes, size, nr_globs, ret_functions, ret_nr);
	munmap(bytes, size);
	return err;
}

static bool may_be_asked(const char *path, const char *const *globs, size_t nr_globs)
{
	bool may = nr_globs <= GLOBS_MAX && strlen(path) < PATH_MAX;

	for (size_t i = 0; i < nr_globs && may; i++)
		may = *globs[i] && strlen(globs[i]) < PATH_MAX;
	return may;
}

struct functions_search {
	char *path;
	size_t nr_globs;
	int socket, answer;
	uint64_t end_ns;
	struct symbolizer_opts opts;
	struct file_server server;
};

void functions_search_free(struct functions_search *s)
{
	if (!s)
		return;
	if (s->socket >= 0)
		close(s->socket); /* a child whose peer is gone is killed by what it writes next */
	if (s->answer >= 0)
		close(s->answer);
	if (s->server.root >= 0)
		close(s->server.root);
	file_server_fini(&s->server);
	if (s->server.own_root >= 0)
		close(s->server.own_root);
	free(s->path);
	free(s);
}

int functions_search_start(const struct sandbox *sandbox, int fd, pid_t pid, const char *path,
			   const char *const *globs, size_t nr_globs,
			   struct functions_search **ret_search)
{
	const struct sandbox_limits limits = { sandbox_memory(MEMORY_PART, MEMORY_MIN), ANSWER_MAX,
					       CPU_S };
	struct functions_search *s;
	int fds[2], err = 0;

	if (!may_be_asked(path, globs, nr_globs))
		return -ENAMETOOLONG;
	s = xcalloc(1, sizeof(*s));
	s->path = xstrdup(path);
	s->nr_globs = nr_globs;
	s->end_ns = monotonic_ns() + TIME_MAX_NS;
	s->server = (struct file_server){
		.opts = &s->opts,
		.path = s->path,
		.root = pid ? target_mounts_open_root(pid) : safe_open_root_of(0),
		.own_root = safe_open_root_of(0),
	};
	s->server.trust = debug_trust_new(fd, s->server.root, s->server.own_root, true);
	s->answer = answer_file_new();
	s->socket = sandbox_start(sandbox, find_functions, &limits);
	fds[0] = fd;
	fds[1] = s->answer;
	if (s->socket < 0)
		err = -ECHILD;
	else if (s->answer < 0)
		err = s->answer;
	/* The child reads its order before it reads the file: this waits for no hostile code. */
	err = err ? err : send_order(s->socket, path, fds, globs, nr_globs);
	if (!err && fcntl(s->socket, F_SETFL, O_NONBLOCK))
		err = -errno;
	if (err)
		functions_search_free(s);
	else
		*ret_search = s;
	return err;
}

int functions_search_socket(const struct functions_search *s)
{
	return s->socket;
}

int functions_search_go_on(struct functions_search *s, struct named_function **ret_functions,
			   size_t *ret_nr)
{
	int err = file_server_go_on(&s->server, s->socket);

	if (err == -EAGAIN && monotonic_ns() > s->end_ns)
		return -ETIMEDOUT;
	return err ? err : take_answer(s->answer, s->nr_globs, ret_functions, ret_nr);
}
