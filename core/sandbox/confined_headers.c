/*
 * A child is handed file after file and answers each in one message: a head, and the segments. The
 * numbers in it are only ever compared and added, so any are safe; the sizes are checked. Where a
 * child dies that has read other files before, a new one gets the file: it may not be to blame.
 */
#include "core/sandbox/confined_headers.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/elf_headers.h"
#include "core/sandbox/message.h"
#include "core/sandbox/sandbox.h"

#define WAIT_MS 2000
#define SHORT_WAIT_MS 100
#define MAX_TIMEOUTS 3
#define CPU_S 60 /* some 20 us for a file */
#define MEMORY_BYTES (64ull << 20)

struct answer {
	int32_t err; /* 0 or -errno */
	uint32_t build_id_size;
	uint8_t build_id[BUILD_ID_MAX];
	uint64_t nr_segments;
	struct code_segment segments[CODE_SEGMENTS_MAX];
};
#define HEAD_SIZE offsetof(struct answer, segments)

static int read_headers(int fd, struct code_headers *ret)
{
	struct code_headers h = { .nr_segments = 0 };
	struct elf_headers headers;
	struct elf_source source;

	if (fd < 0 || elf_source_of_file(fd, &source) || elf_headers_read(&source, &headers))
		return -ENOEXEC;
	h.segments = xcalloc(headers.nr_segments + 1, sizeof(*h.segments));
	for (size_t i = 0; i < headers.nr_segments && h.nr_segments < CODE_SEGMENTS_MAX; i++) {
		const Elf64_Phdr *ph = &headers.segments[i];

		if (ph->p_type == PT_LOAD && (ph->p_flags & PF_X))
			h.segments[h.nr_segments++] = (struct code_segment){
				.offset = ph->p_offset,
				.size = ph->p_filesz,
				.vaddr = ph->p_vaddr,
			};
	}
	h.build_id_size = elf_headers_build_id(&source, &headers, h.build_id);
	elf_headers_fini(&headers);
	*ret = h;
	return 0;
}

/* ---- in the child */

static void answer_about(int socket, int fd)
{
	struct answer answer = { 0 };
	struct code_headers h;

	answer.err = read_headers(fd, &h);
	if (!answer.err) {
		answer.build_id_size = (uint32_t)h.build_id_size;
		memcpy(answer.build_id, h.build_id, sizeof(answer.build_id));
		answer.nr_segments = h.nr_segments;
		memcpy(answer.segments, h.segments, h.nr_segments * sizeof(*h.segments));
		free(h.segments);
	}
	message_send(socket, &answer, HEAD_SIZE + answer.nr_segments * sizeof(struct code_segment),
		     NULL, 0);
}

static void read_files(int socket)
{
	char byte;
	int fd;

	while (message_receive(socket, &byte, sizeof(byte), &fd, 1) == sizeof(byte)) {
		answer_about(socket, fd);
		close(fd);
	}
}

/* ---- in the recorder */

int code_headers_take(const void *answer, size_t size, struct code_headers *ret)
{
	struct answer head;

	if (size < HEAD_SIZE)
		return -EBADMSG;
	memcpy(&head, answer, HEAD_SIZE);
	if (head.err)
		return head.err == -ENOEXEC ? -ENOEXEC : -EBADMSG;
	if (head.build_id_size > BUILD_ID_MAX || head.nr_segments > CODE_SEGMENTS_MAX ||
	    size != HEAD_SIZE + head.nr_segments * sizeof(struct code_segment))
		return -EBADMSG;
	*ret = (struct code_headers){
		.build_id_size = head.build_id_size,
		.nr_segments = head.nr_segments,
		.segments = xcalloc(head.nr_segments + 1, sizeof(struct code_segment)),
	};
	memcpy(ret->build_id, head.build_id, sizeof(ret->build_id));
	memcpy(ret->segments, (const char *)answer + HEAD_SIZE,
	       head.nr_segments * sizeof(struct code_segment));
	return 0;
}

static int ask(struct header_reader *reader, int socket, int fd, struct code_headers *ret)
{
	struct answer answer;
	ssize_t n;
	int err;

	err = message_send(socket, "", 1, &fd, 1);
	if (err)
		return err == -EPIPE ? -ECHILD : err;
	err = message_wait(socket, -1,
			   reader->nr_timeouts < MAX_TIMEOUTS ? WAIT_MS : SHORT_WAIT_MS);
	reader->nr_timeouts += err == -ETIMEDOUT;
	if (err)
		return err;
	n = message_receive(socket, &answer, sizeof(answer), NULL, 0);
	if (n <= 0)
		return n == -EMSGSIZE ? -EBADMSG : -ECHILD;
	return code_headers_take(&answer, (size_t)n, ret);
}

static void end_child(struct header_reader *reader, uint32_t i)
{
	if (reader->children[i].socket > 0)
		close(reader->children[i].socket);
	reader->children[i].socket = 0;
}

void header_reader_fini(struct header_reader *reader)
{
	for (uint32_t i = 0; i < HEADER_READERS; i++)
		end_child(reader, i);
}

/* The child of a user. *ret_new: it has read nothing yet. -ECHILD: there is none. */
static int child_of(struct header_reader *reader, uint32_t user, bool *ret_new)
{
	static const struct sandbox_limits limits = { MEMORY_BYTES, 0, CPU_S };
	uint32_t i = 0;

	while (i < HEADER_READERS &&
	       !(reader->children[i].socket > 0 && reader->children[i].user == user))
		i++;
	*ret_new = i == HEADER_READERS;
	if (!*ret_new)
		return (int)i;
	i = reader->next++ % HEADER_READERS;
	end_child(reader, i);
	reader->children[i].user = user;
	reader->children[i].socket = sandbox_start(reader->sandbox, read_files, &limits);
	return reader->children[i].socket < 0 ? -ECHILD : (int)i;
}

int code_headers_read(struct header_reader *reader, uint32_t user, int fd, struct code_headers *ret)
{
	bool is_new;
	int err, i;

	if (fd < 0)
		return -ENOEXEC;
	if (!reader || !reader->sandbox)
		return read_headers(fd, ret);
	do {
		i = child_of(reader, user, &is_new);
		if (i < 0)
			return i;
		err = ask(reader, reader->children[i].socket, fd, ret);
		if (err && err != -ENOEXEC) /* it is not asked again */
			end_child(reader, (uint32_t)i);
	} while (err == -ECHILD && !is_new);
	return err;
}
