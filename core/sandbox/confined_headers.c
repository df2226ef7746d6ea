/*
 * A child gets one file after another, and answers each with one message: a head, and the segments.
 * Sizes in it are checked; other numbers are only compared and added, so any value is safe, and
 * they are compared with the file. If a child dies, lies or does not answer, a new one gets the
 * file, because a file that it read before may be to blame.
 */
#include "core/sandbox/confined_headers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/elf_headers.h"
#include "core/sandbox/message.h"
#include "core/sandbox/sandbox.h"

#define WAIT_MS 2000
#define SHORT_WAIT_MS 100 /* once so much time was lost in waits without an answer; */
#define MAX_LATE_NS 5000000000ull
#define LATE_SHARE 100 /* a hundredth of the elapsed time is taken off it */
#define CPU_S 60       /* some 20 us for a file */
#define MEMORY_BYTES (64ull << 20)
#define PHDRS_SIZE_MAX 65536 /* as core/base/elf_headers.c reads */

struct answer {
	int32_t err; /* 0 or -errno */
	uint32_t build_id_size;
	uint8_t build_id[BUILD_ID_MAX];
	uint64_t build_id_at;
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
	h.build_id_size = elf_headers_find_build_id(&source, &headers, h.build_id, &h.build_id_at);
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
		answer.build_id_at = h.build_id_at;
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
		.build_id_at = head.build_id_at,
		.nr_segments = head.nr_segments,
		.segments = xcalloc(head.nr_segments + 1, sizeof(struct code_segment)),
	};
	memcpy(ret->build_id, head.build_id, sizeof(ret->build_id));
	memcpy(ret->segments, (const char *)answer + HEAD_SIZE,
	       head.nr_segments * sizeof(struct code_segment));
	return 0;
}

/* Reads exactly `size` bytes of a file. */
static bool read_at(int fd, uint64_t offset, void *to, size_t size)
{
	const struct elf_source source = { .fd = fd, .size = INT64_MAX };

	return !elf_source_read(&source, offset, to, size);
}

static bool is_build_id_note(int fd, const struct code_headers *h)
{
	struct {
		Elf64_Nhdr head;
		char name[4];
		uint8_t id[BUILD_ID_MAX];
	} note;
	const size_t before = offsetof(__typeof__(note), id);

	return !h->build_id_size ||
	       (h->build_id_at >= before && h->build_id_at < INT64_MAX &&
		read_at(fd, h->build_id_at - before, &note, before + h->build_id_size) &&
		note.head.n_namesz == sizeof(note.name) && !memcmp(note.name, "GNU", 4) &&
		note.head.n_descsz == h->build_id_size && note.head.n_type == NT_GNU_BUILD_ID &&
		!memcmp(note.id, h->build_id, h->build_id_size));
}

static bool is_segment(const Elf64_Phdr *ph, const struct code_segment *s)
{
	return ph->p_offset == s->offset && ph->p_filesz == s->size && ph->p_vaddr == s->vaddr;
}

/* Segments must be in the order of the file, so that one pass also finds missing ones. */
bool code_headers_are_true(int fd, const struct code_headers *h)
{
	Elf64_Ehdr header;
	Elf64_Phdr ph[16];
	size_t nr = 0, nr_read;

	if (!read_at(fd, 0, &header, sizeof(header)) || memcmp(header.e_ident, ELFMAG, SELFMAG) ||
	    header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
	    (header.e_phnum && header.e_phentsize != sizeof(*ph)) ||
	    header.e_phnum > PHDRS_SIZE_MAX / sizeof(*ph))
		return !h;
	for (size_t i = 0; i < header.e_phnum; i += nr_read) {
		nr_read = header.e_phnum - i < 16 ? header.e_phnum - i : 16;
		if (header.e_phoff > INT64_MAX / 2 ||
		    !read_at(fd, header.e_phoff + i * sizeof(*ph), ph, nr_read * sizeof(*ph)))
			return !h;
		for (size_t k = 0; k < nr_read && h && nr < CODE_SEGMENTS_MAX; k++)
			if (ph[k].p_type == PT_LOAD && (ph[k].p_flags & PF_X) &&
			    (nr >= h->nr_segments || !is_segment(&ph[k], &h->segments[nr++])))
				return false;
	}
	return h && nr == h->nr_segments && is_build_id_note(fd, h);
}

/* Waits for an answer; on a busy machine one may be late, but many cost no more than a few. */
static int wait_for(struct header_reader *r, int socket)
{
	uint64_t now = monotonic_ns(), forgiven = (now - r->late_at_ns) / LATE_SHARE;
	int err;

	r->late_ns -= forgiven < r->late_ns ? forgiven : r->late_ns;
	r->late_at_ns = now;
	err = message_wait(socket, -1, r->late_ns < MAX_LATE_NS ? WAIT_MS : SHORT_WAIT_MS);
	if (err == -ETIMEDOUT)
		r->late_ns += monotonic_ns() - now;
	return err;
}

static int ask(struct header_reader *reader, int socket, int fd, struct code_headers *ret)
{
	struct answer answer;
	ssize_t n;
	int err;

	err = message_send(socket, "", 1, &fd, 1);
	if (err)
		return err == -EPIPE ? -ECHILD : err;
	err = wait_for(reader, socket);
	if (err)
		return err;
	n = message_receive(socket, &answer, sizeof(answer), NULL, 0);
	if (n <= 0)
		return n == -EMSGSIZE ? -EBADMSG : -ECHILD;
	err = code_headers_take(&answer, (size_t)n, ret);
	if (err == -ENOEXEC)
		return code_headers_are_true(fd, NULL) ? -ENOEXEC : -EBADMSG;
	if (!err && !code_headers_are_true(fd, ret)) {
		free(ret->segments);
		return -EBADMSG;
	}
	return err;
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

/* Returns the number of a user's child, or -ECHILD. *ret_new: it has read nothing yet. */
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
		if (err && err != -ENOEXEC) /* this child is not asked again */
			end_child(reader, (uint32_t)i);
	} while ((err == -ECHILD || err == -EBADMSG || err == -ETIMEDOUT) && !is_new);
	return err;
}
