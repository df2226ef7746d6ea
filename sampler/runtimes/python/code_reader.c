/*
 * Records come in batches, because a question costs two switches between processes, and most code
 * objects of a stack are new together. A child ends when others need its place, and after a few
 * seconds: then another process may have got the number of one that a child was taken over by.
 */
#include "sampler/runtimes/python/code_reader.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/buffer.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/portable/pycode.h"
#include "core/sandbox/message.h"
#include "core/sandbox/sandbox.h"
#include "sampler/runtimes/python/code_decode.h"

#define CHILDREN 16
#define CHILD_NS 5000000000ull
#define WAIT_MS 1000	 /* for the answer to a question; less after slow answers, */
#define SHORT_WAIT_MS 20 /* but not less than this */
#define SLOW_MS 100
#define MAX_FAILURES 4 /* of one process, which is not asked about any more then */
#define CPU_S 60
#define MEMORY_BYTES (64ull << 20)
#define QUESTION_MAX (CODE_BATCH_BYTES + CODE_BATCH * 8)
_Static_assert(CODE_BATCH_BYTES >= sizeof(struct code_record) + CODE_MAX_LINETABLE,
	       "the largest record fits");

struct child {
	uint64_t group;
	uint64_t started_ns; /* 0: this place is free */
	int socket;	     /* -1: it has ended */
	int nr_failures;
};

struct code_reader {
	const struct sandbox *sandbox;
	struct child children[CHILDREN];
	uint32_t next;
	int wait_ms;
	bool warned;
	uint8_t question[QUESTION_MAX];
	uint8_t answer[DECODED_MAX];
};

struct code_reader *code_reader_new(const struct sandbox *sandbox)
{
	struct code_reader *r = xcalloc(1, sizeof(*r));

	r->sandbox = sandbox;
	r->wait_ms = WAIT_MS;
	for (int i = 0; i < CHILDREN; i++)
		r->children[i].socket = -1;
	return r;
}

static void end_child(struct child *child)
{
	if (child->socket >= 0)
		close(child->socket);
	child->socket = -1;
}

void code_reader_free(struct code_reader *r)
{
	for (int i = 0; r && i < CHILDREN; i++)
		end_child(&r->children[i]);
	free(r);
}

/* ---- in the child: a question is sizes and records, an answer is a message for each */

/* false: the question makes no sense, or nothing hears the answer. */
static bool answer_one(int socket, const uint8_t **at, const uint8_t *end)
{
	struct buffer b = { 0 };
	uint64_t size;
	int err;

	if (end - *at < (ptrdiff_t)sizeof(size))
		return false;
	memcpy(&size, *at, sizeof(size));
	*at += sizeof(size);
	if (size < sizeof(struct code_record) || size > (size_t)(end - *at))
		return false;
	code_decode((const struct code_record *)*at, size, &b);
	*at += (size + 7) & ~7ull;
	err = message_send(socket, b.data, b.size, NULL, 0);
	buffer_fini(&b);
	return !err;
}

static void read_codes(int socket)
{
	static uint64_t question[QUESTION_MAX / 8];
	ssize_t n;

	while ((n = message_receive(socket, question, sizeof(question), NULL, 0)) > 0) {
		const uint8_t *at = (const uint8_t *)question, *end = at + n;

		while (at < end)
			if (!answer_one(socket, &at, end))
				return;
	}
}

/* ---- in the recorder */

static int ask(struct code_reader *r, int socket, const struct code_bytes *records, size_t nr)
{
	size_t at = 0;
	int err;

	for (size_t i = 0; i < nr; i++) {
		uint64_t size = records[i].size, padded = (size + 7) & ~7ull;

		if (padded > sizeof(r->question) - at - sizeof(size))
			return -EMSGSIZE;
		memcpy(r->question + at, &size, sizeof(size));
		memcpy(r->question + at + sizeof(size), records[i].record, size);
		memset(r->question + at + sizeof(size) + size, 0, padded - size);
		at += sizeof(size) + padded;
	}
	err = message_send(socket, r->question, at, NULL, 0);
	return err == -EPIPE || err == -ECONNRESET ? -ECHILD : err;
}

static int take(struct code_reader *r, int socket, uint64_t end_ms, struct decoded_code *ret)
{
	uint64_t now = monotonic_ms();
	int err = message_wait(socket, -1, now < end_ms ? (int)(end_ms - now) : 0);
	ssize_t n;

	if (err)
		return err;
	n = message_receive(socket, r->answer, sizeof(r->answer), NULL, 0);
	if (n <= 0)
		return n == -EMSGSIZE ? -EBADMSG : -ECHILD;
	return decoded_code_take(r->answer, (size_t)n, ret) == (size_t)n ? 0 : -EBADMSG;
}

/*
 * Takes the answers to a question. Children that were taken over could all be slow: each slow one
 * halves the time that the next has, and each quick one doubles it.
 */
static int take_all(struct code_reader *r, int socket, size_t nr, struct decoded_code *ret)
{
	uint64_t start = monotonic_ms(), took;
	size_t done = 0;
	int err = 0;

	while (!err && done < nr) {
		err = take(r, socket, start + (uint64_t)r->wait_ms, &ret[done]);
		done += !err;
	}
	took = monotonic_ms() - start;
	if (took >= SLOW_MS && r->wait_ms / 2 >= SHORT_WAIT_MS)
		r->wait_ms /= 2;
	else if (took < SHORT_WAIT_MS && r->wait_ms * 2 <= WAIT_MS)
		r->wait_ms *= 2;
	while (err && done)
		decoded_code_fini(&ret[--done]);
	return err;
}

/* The child of a process, a new one where it has none. NULL: it has failed too often. */
static struct child *child_of(struct code_reader *r, uint64_t group)
{
	static const struct sandbox_limits limits = { MEMORY_BYTES, 0, CPU_S };
	uint64_t now = monotonic_ns();
	struct child *c = NULL;

	for (int i = 0; i < CHILDREN && !c; i++)
		if (r->children[i].started_ns && r->children[i].group == group)
			c = &r->children[i];
	if (!c) {
		c = &r->children[r->next++ % CHILDREN];
		end_child(c);
		*c = (struct child){ .group = group, .socket = -1 };
	}
	if (c->nr_failures >= MAX_FAILURES)
		return NULL;
	if (c->socket >= 0 && now - c->started_ns > CHILD_NS)
		end_child(c);
	if (c->socket < 0) {
		c->started_ns = now;
		c->socket = sandbox_start(r->sandbox, read_codes, &limits);
	}
	return c;
}

static void decode_here(const struct code_bytes *records, size_t nr, struct decoded_code *ret)
{
	for (size_t i = 0; i < nr; i++) {
		struct buffer b = { 0 };

		code_decode(records[i].record, records[i].size, &b);
		if (!decoded_code_take(b.data, b.size, &ret[i]))
			abort();
		buffer_fini(&b);
	}
}

static void warn(struct code_reader *r, uint64_t group, int err)
{
	if (!r->warned)
		log_warning("names of Python functions of process %llu are missing: the process "
			    "that decodes them %s",
			    (unsigned long long)group,
			    err == -ETIMEDOUT ? "took too long"
			    : err == -EBADMSG ? "answered nonsense"
					      : "died");
	r->warned = true;
}

int code_reader_read(struct code_reader *r, uint64_t group, const struct code_bytes *records,
		     size_t nr, struct decoded_code *ret_codes)
{
	struct child *c;
	int err;

	if (!r || !r->sandbox) {
		decode_here(records, nr, ret_codes);
		return 0;
	}
	c = child_of(r, group);
	if (!c)
		return -ECHILD;
	err = c->socket < 0 ? -ECHILD : ask(r, c->socket, records, nr);
	if (!err)
		err = take_all(r, c->socket, nr, ret_codes);
	if (!err)
		return 0;
	end_child(c);
	c->nr_failures += nr == 1;
	if (nr == 1)
		warn(r, group, err);
	return err;
}
