/*
 * The child waits for each answer, so one message on the socket is all that is under way.
 */
#include "sampler/walk/confined/walk_questions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/sandbox/answer_file.h"
#include "core/sandbox/message.h"

#define SEND_US 100000
#define MEMORY_MIN (512ull << 20) /* a large .eh_frame, and the list of its functions */
#define MEMORY_PART 4		  /* of the machine's memory */
#define QUESTIONS_MAX 16384u	  /* of one walk */

struct mapping_answer {
	uint64_t found;
	struct snapshot_mapping mapping;
};

/* ---- in the child */

static void say(const struct walk_asker *w, enum walk_word_kind kind, uint64_t key)
{
	const struct walk_word word = { .kind = kind, .key = key };

	if (message_send(w->socket, &word, sizeof(word), NULL, 0))
		_exit(0); /* the recorder has ended */
}

void walk_asker_enter(struct walk_asker *w, uint64_t space)
{
	if (space != w->space)
		w->nr = 0;
	w->space = space;
}

bool walk_ask_mapping(void *context, uint64_t address, struct snapshot_mapping *ret)
{
	struct walk_asker *w = context;
	struct mapping_answer answer;

	for (size_t i = 0; i < w->nr; i++)
		if (address >= w->mappings[i].start && address < w->mappings[i].end) {
			*ret = w->mappings[i];
			return true;
		}
	say(w, WALK_WANTS_MAPPING, address);
	if (message_receive(w->socket, &answer, sizeof(answer), NULL, 0) != sizeof(answer))
		_exit(0);
	if (!answer.found)
		return false;
	w->mappings = xgrow(w->mappings, &w->capacity, w->nr + 1, sizeof(*w->mappings));
	w->mappings[w->nr++] = *ret = answer.mapping;
	return true;
}

bool walk_ask_file(void *context, uint64_t module, struct snapshot_file *ret)
{
	struct walk_asker *w = context;
	char byte;
	int fd;

	say(w, WALK_WANTS_FILE, module);
	if (message_receive(w->socket, &byte, sizeof(byte), &fd, 1) != sizeof(byte))
		_exit(0);
	*ret = (struct snapshot_file){ .fd = fd };
	return fd >= 0;
}

/* ---- in the recorder */

int walk_child_start(struct walk_child *c, const struct sandbox *sandbox, sandbox_job *job,
		     unsigned int cpu_s, const struct snapshot_ops *ops)
{
	const struct sandbox_limits limits = { sandbox_memory(MEMORY_PART, MEMORY_MIN), 0, cpu_s };
	const struct timeval limit = { .tv_usec = SEND_US };

	c->stack_fd = answer_file_new();
	if (c->stack_fd < 0)
		return c->stack_fd;
	c->socket = sandbox_start(sandbox, job, &limits);
	if (c->socket < 0)
		return -ECHILD;
	setsockopt(c->socket, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	return message_send(c->socket, &ops->by_header, sizeof(ops->by_header), &c->stack_fd, 1);
}

void walk_child_end(struct walk_child *c)
{
	if (c->socket >= 0)
		close(c->socket);
	if (c->stack_fd >= 0)
		close(c->stack_fd);
	c->socket = c->stack_fd = -1;
	c->told.nr = 0;
}

void walk_child_fini(struct walk_child *c)
{
	walk_child_end(c);
	free(c->told.modules);
}

static struct told_module *find_told(const struct walk_told *told, uint64_t key)
{
	for (size_t i = 0; i < told->nr; i++)
		if (told->modules[i].key == key)
			return &told->modules[i];
	return NULL;
}

bool walk_told_forget(struct walk_told *told, uint64_t key)
{
	struct told_module *module = find_told(told, key);

	if (!module)
		return false;
	*module = told->modules[--told->nr];
	return true;
}

static int tell_mapping(int socket, const struct snapshot_ops *ops, void *context,
			struct walk_told *told, uint64_t address)
{
	struct mapping_answer answer = { 0 };

	answer.found = ops->find_mapping(context, address, &answer.mapping);
	if (answer.found && answer.mapping.module && !find_told(told, answer.mapping.module)) {
		told->modules =
			xgrow(told->modules, &told->capacity, told->nr + 1, sizeof(*told->modules));
		told->modules[told->nr++] = (struct told_module){ answer.mapping.module, false };
	}
	return message_send(socket, &answer, sizeof(answer), NULL, 0);
}

/* Only numbers that this process has given away are numbers of modules. */
static int hand_over(int socket, const struct snapshot_ops *ops, void *context,
		     const struct walk_told *told, uint64_t key)
{
	struct told_module *module = find_told(told, key);
	struct snapshot_file file;
	int fd = -1, err;

	if (!module || module->handed_over)
		return -EBADMSG;
	module->handed_over = true;
	if (ops->open_module(context, key, &file))
		fd = file.memory ? answer_file_of(file.memory, file.size) : file.fd;
	else
		file.memory = NULL;
	err = message_send(socket, "", 1, &fd, fd >= 0);
	if (file.memory && fd >= 0)
		close(fd);
	return err;
}

/* Receives the next word of the child, of *ret_size bytes with what follows it. */
static int hear(int socket, uint64_t end_ms, void *message, size_t capacity, struct walk_word *ret,
		size_t *ret_size)
{
	uint64_t now = monotonic_ms();
	int err = message_wait(socket, -1, now < end_ms ? (int)(end_ms - now) : 0);
	ssize_t n;

	if (err)
		return err;
	n = message_receive(socket, message, capacity, NULL, 0);
	if (n < (ssize_t)sizeof(*ret))
		return n > 0 || n == -EMSGSIZE ? -EBADMSG : -ECHILD;
	memcpy(ret, message, sizeof(*ret));
	*ret_size = (size_t)n;
	return 0;
}

int walk_questions_answer(int socket, const struct snapshot_ops *ops, void *context,
			  struct walk_told *told, uint64_t end_ms, void *message, size_t capacity,
			  size_t *ret_size)
{
	struct walk_word word;
	int err = 0;

	for (uint32_t i = 0; i < QUESTIONS_MAX && !err; i++) {
		err = hear(socket, end_ms, message, capacity, &word, ret_size);
		if (err)
			break;
		switch (word.kind) {
		case WALK_DONE: return 0;
		case WALK_WANTS_MAPPING:
			err = tell_mapping(socket, ops, context, told, word.key);
			break;
		case WALK_WANTS_FILE: err = hand_over(socket, ops, context, told, word.key); break;
		default: return -EBADMSG;
		}
	}
	if (!err)
		return -EBADMSG;
	if (err == -EAGAIN)
		return -ETIMEDOUT;
	return err == -EPIPE || err == -ECONNRESET ? -ECHILD : err;
}
