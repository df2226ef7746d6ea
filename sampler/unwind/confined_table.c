/*
 * The child gets two descriptors, what to read and where to write, and answers with 0 or -errno.
 * Its file is checked here (table_file.h), whatever it answered. Before that it may ask for
 * candidates for the debug file; it is the child that looks which of them belongs to its file.
 */
#include "sampler/unwind/confined_table.h"

#include <errno.h>
#include <stdbool.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/elf_headers.h"
#include "core/sandbox/answer_file.h"
#include "core/sandbox/message.h"
#include "core/sandbox/sandbox.h"
#include "sampler/unwind/debug_frame.h"
#include "sampler/unwind/table_file.h"
#include "sampler/unwind/unwind_table.h"

#define WAIT_MS 60000
#define QUESTIONS_MAX 16
#define CPU_S 20 /* the largest tables take 1 s */
#define MEMORY_MIN (256ull << 20)
#define MEMORY_PART 4 /* of the machine's memory */

/* ---- in the child */

struct asker {
	struct debug_files files;
	int socket;
};

static int ask_for_file(struct debug_files *files, const struct debug_names *names,
			unsigned int candidate)
{
	const struct asker *asker = (const struct asker *)files;
	struct table_word word = { TABLE_WANTS_FILE, candidate, *names };
	int answer, fd = -1;

	if (message_send(asker->socket, &word, sizeof(word), NULL, 0) ||
	    message_receive(asker->socket, &answer, sizeof(answer), &fd, 1) != sizeof(answer))
		return -ENODATA;
	return answer ? answer : fd < 0 ? -ENODATA : fd;
}

static int socket_of_child;

/* Is called where an allocation has failed; the process ends after it. */
static void say_no_memory(void)
{
	const struct table_word word = { .answer = -ENOMEM };

	message_send(socket_of_child, &word, sizeof(word), NULL, 0);
}

static int build_code(int fd, struct rule_set *rules, struct unwind_table **ret_table)
{
	struct elf_source source; /* any bytes; only its size is used */
	uint8_t *code;
	int err = elf_source_of_file(fd, &source);

	if (err)
		return err;
	code = xmalloc(source.size);
	err = elf_source_read(&source, 0, code, source.size);
	return err ? err : unwind_table_build_code(code, source.size, rules, ret_table);
}

static void build(int socket)
{
	struct rule_set *rules = rule_set_new();
	struct asker asker = { { ask_for_file }, socket };
	struct unwind_table *table;
	struct table_word word = { 0 };
	int fds[2], err;
	bool is_code;

	socket_of_child = socket;
	alloc_set_report(say_no_memory);
	if (message_receive(socket, &is_code, sizeof(is_code), fds, 2) != sizeof(is_code))
		return;
	err = is_code ? build_code(fds[0], rules, &table)
		      : unwind_table_build(fds[0], &asker.files, rules, &table);
	if (!err)
		err = table_file_write(fds[1], table, rules);
	word.answer = err;
	message_send(socket, &word, sizeof(word), NULL, 0);
}

/* ---- in the recorder */

/* Opens what the child wants, and hands it over. */
static int serve_file(int socket, const struct table_order *order, struct table_word *word)
{
	struct debug_names *names = &word->names;
	int fd = -ENODATA, answer, err;

	names->link[sizeof(names->link) - 1] = '\0';
	if (order->files && names->build_id_size <= sizeof(names->build_id))
		fd = order->files->open(order->files, names, word->candidate);
	answer = fd < 0 ? fd : 0;
	err = message_send(socket, &answer, sizeof(answer), &fd, fd >= 0);
	if (fd >= 0)
		close(fd);
	return err;
}

int confined_table_answer(int socket, const struct table_order *order)
{
	int err = 0;

	for (int i = 0; !err && i <= QUESTIONS_MAX; i++) {
		struct table_word word;
		ssize_t n;

		err = message_wait(socket, order->cancel_fd, WAIT_MS);
		if (err)
			break;
		n = message_receive(socket, &word, sizeof(word), NULL, 0);
		if (n != sizeof(word))
			return n ? -EBADMSG : -ECHILD;
		if (word.answer != TABLE_WANTS_FILE)
			return word.answer > 0 ? -EBADMSG : word.answer;
		err = serve_file(socket, order, &word);
	}
	return !err ? -EBADMSG : err == -EPIPE ? -ECHILD : err;
}

/* Sends the order and waits for the child's answer. */
static int ask(int socket, const struct table_order *order, const int fds[2])
{
	bool is_code = order->code;
	int err = message_send(socket, &is_code, sizeof(is_code), fds, 2);

	if (err)
		return err == -EPIPE ? -ECHILD : err;
	return confined_table_answer(socket, order);
}

int confined_table_build(const struct sandbox *sandbox, const struct table_order *order,
			 struct rule_set *rules, struct unwind_table **ret_table, int *ret_answer)
{
	const struct sandbox_limits limits = { sandbox_memory(MEMORY_PART, MEMORY_MIN),
					       TABLE_FILE_MAX, CPU_S };
	int fds[2], socket, err;

	socket = sandbox_start(sandbox, build, &limits);
	if (socket < 0)
		return -ECHILD;
	fds[0] = order->code ? answer_file_of(order->code, order->code_size) : order->fd;
	fds[1] = answer_file_new();
	err = fds[0] < 0 ? fds[0] : fds[1] < 0 ? fds[1] : 0;
	if (!err)
		err = ask(socket, order, fds);
	if (!err)
		err = table_file_read(fds[1], order->code_size, rules, ret_table);
	close(socket);
	if (order->code && fds[0] >= 0)
		close(fds[0]);
	if (!err && ret_answer)
		*ret_answer = fds[1];
	else if (fds[1] >= 0)
		close(fds[1]);
	return err;
}
