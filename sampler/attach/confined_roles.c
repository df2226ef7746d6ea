/*
 * The child gets two descriptors for each file, what to read and where to write, and answers with
 * one message and an array of functions in the file that it wrote.
 */
#include "sampler/attach/confined_roles.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/full_io.h"
#include "core/sandbox/answer_file.h"
#include "core/sandbox/message.h"
#include "core/sandbox/sandbox.h"

#define TIME_MAX_MS 30000 /* for all files of a process; the largest ones take 0.2 s each */
#define CPU_S 30
#define MEMORY_MIN (256ull << 20)
#define MEMORY_PART 4		 /* of the machine's memory */
#define FUNCTIONS_MAX (1u << 20) /* of all files of a process; a libc has 3000 */

struct role_reader {
	const struct sandbox *sandbox;
	int socket;	 /* -1: the child has not been started, or has ended */
	int err;	 /* why it has ended; 0: it has not */
	uint64_t end_ms; /* of the time for all files */
	uint64_t nr_left;
};

struct role_reader *role_reader_new(const struct sandbox *sandbox)
{
	struct role_reader *r = xcalloc(1, sizeof(*r));

	r->sandbox = sandbox;
	r->socket = -1;
	r->nr_left = FUNCTIONS_MAX;
	return r;
}

static void end_child(struct role_reader *r)
{
	if (r->socket >= 0)
		close(r->socket);
	r->socket = -1;
}

void role_reader_free(struct role_reader *r)
{
	if (r)
		end_child(r);
	free(r);
}

/* ---- in the child */

static int socket_of_child;

/* Is called where an allocation has failed; the process ends after it. */
static void say_no_memory(void)
{
	const struct role_answer answer = { .err = -ENOMEM };

	message_send(socket_of_child, &answer, sizeof(answer), NULL, 0);
}

static void answer_about(int socket, const int fds[2])
{
	struct role_answer answer = { .err = -ENOEXEC };
	struct module_functions f;

	if (!module_functions_read(fds[0], &f)) {
		answer.err = full_write(fds[1], f.ranges, f.nr * sizeof(*f.ranges)) ? -EFBIG : 0;
		answer.flags =
			(f.has_malloc ? ROLES_HAVE_MALLOC : 0) | (f.is_libc ? ROLES_ARE_LIBC : 0);
		memcpy(answer.needed, f.needed, sizeof(answer.needed));
		answer.nr = f.nr;
		module_functions_fini(&f);
	}
	message_send(socket, &answer, sizeof(answer), NULL, 0);
}

static void read_files(int socket)
{
	int fds[2];
	char byte;

	socket_of_child = socket;
	alloc_set_report(say_no_memory);
	while (message_receive(socket, &byte, sizeof(byte), fds, 2) == sizeof(byte)) {
		answer_about(socket, fds);
		close(fds[0]);
		close(fds[1]);
	}
}

/* ---- in the recorder */

int role_answer_take(const struct role_answer *answer, const void *functions, uint64_t size,
		     struct module_functions *ret)
{
	const uint32_t flags = ROLES_HAVE_MALLOC | ROLES_ARE_LIBC;
	const struct function_range *ranges = functions;

	if (answer->err)
		return answer->err == -ENOEXEC || answer->err == -ENOMEM || answer->err == -EFBIG
			       ? answer->err
			       : -EBADMSG;
	if (answer->nr > FUNCTIONS_MAX || size != answer->nr * sizeof(*ranges) ||
	    answer->flags & ~flags)
		return -EBADMSG;
	for (uint64_t i = 0; i < answer->nr; i++)
		if (ranges[i].start >= ranges[i].end ||
		    (i && ranges[i].start < ranges[i - 1].start) ||
		    ranges[i].role <= ROLE_UNNAMED || ranges[i].role > ROLE_FORBIDDEN)
			return -EBADMSG;
	*ret = (struct module_functions){
		.nr = answer->nr,
		.capacity = answer->nr,
		.has_malloc = answer->flags & ROLES_HAVE_MALLOC,
		.is_libc = answer->flags & ROLES_ARE_LIBC,
	};
	memcpy(ret->needed, answer->needed, sizeof(ret->needed));
	if (size) {
		ret->ranges = xmalloc(size);
		memcpy(ret->ranges, ranges, size);
	}
	return 0;
}

/* Has the child read a file, and receives what it says first. */
static int ask(struct role_reader *r, const int fds[2], struct role_answer *ret)
{
	uint64_t now = monotonic_ms();
	ssize_t n;
	int err;

	if (!r->end_ms)
		r->end_ms = now + TIME_MAX_MS;
	err = message_send(r->socket, "", 1, fds, 2);
	if (err)
		return err == -EPIPE ? -ECHILD : err;
	err = message_wait(r->socket, -1, now < r->end_ms ? (int)(r->end_ms - now) : 0);
	if (err)
		return err;
	n = message_receive(r->socket, ret, sizeof(*ret), NULL, 0);
	if (n != sizeof(*ret))
		return n ? -EBADMSG : -ECHILD;
	return 0;
}

/* Nothing is mapped where there are no functions: a file of no bytes cannot be. */
static int take(struct role_reader *r, int fd, const struct role_answer *answer,
		struct module_functions *ret)
{
	uint64_t size = 0;
	void *bytes = NULL;
	int err = 0;

	if (!answer->err && answer->nr > r->nr_left)
		return -EFBIG;
	if (!answer->err && answer->nr)
		err = answer_file_map(fd, sizeof(struct function_range),
				      r->nr_left * sizeof(struct function_range), &bytes, &size);
	if (err)
		return -EBADMSG;
	err = role_answer_take(answer, bytes, size, ret);
	if (bytes)
		munmap(bytes, size);
	if (!err)
		r->nr_left -= ret->nr;
	return err;
}

static int read_confined(struct role_reader *r, int fd, struct module_functions *ret)
{
	const struct sandbox_limits limits = { sandbox_memory(MEMORY_PART, MEMORY_MIN),
					       FUNCTIONS_MAX * sizeof(struct function_range),
					       CPU_S };
	int fds[2] = { fd, answer_file_new() }, err;
	struct role_answer answer;

	if (fds[1] < 0)
		return fds[1];
	if (r->socket < 0)
		r->socket = sandbox_start(r->sandbox, read_files, &limits);
	err = r->socket < 0 ? -ECHILD : ask(r, fds, &answer);
	if (!err)
		err = take(r, fds[1], &answer, ret);
	close(fds[1]);
	return err;
}

int role_reader_read(struct role_reader *r, int fd, struct module_functions *ret)
{
	int err;

	if (!r->sandbox)
		return module_functions_read(fd, ret) ? -ENOEXEC : 0;
	if (r->err)
		return r->err;
	err = read_confined(r, fd, ret);
	if (err && err != -ENOEXEC) {
		r->err = err;
		end_child(r);
	}
	return err;
}
