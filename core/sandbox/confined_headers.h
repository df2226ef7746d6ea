/*
 * Reads of an ELF file what a recorder needs when it sees a mapping of it: executable segments and
 * build-id. The file is a target's, so a child process without rights reads it. There is one child
 * for all files of a user, because a child for each file would cost more than the reading. A file
 * that takes a child over could then lie about files that others map too, so this process compares
 * each answer with the file, of which it reads fixed sizes only.
 */
#ifndef SPROF_CONFINED_HEADERS_H
#define SPROF_CONFINED_HEADERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/build_id.h"

struct sandbox;

#define CODE_SEGMENTS_MAX 1024u /* further ones are left out; linkers make one or two */

struct code_segment {
	uint64_t offset, size, vaddr; /* of an executable PT_LOAD: file offset, file bytes */
};

struct code_headers {
	uint8_t build_id[BUILD_ID_MAX];
	size_t build_id_size;
	uint64_t build_id_at;	       /* offset in the file */
	struct code_segment *segments; /* the caller's, to free(); NULL: there are none */
	size_t nr_segments;
};

#define HEADER_READERS 8u /* children at once; the oldest ends where there are more users */

struct header_reader {
	const struct sandbox *sandbox; /* NULL: this process reads */
	struct {
		uint32_t user;
		int socket; /* 0: there is no child */
	} children[HEADER_READERS];
	uint32_t next;
	uint64_t late_ns, late_at_ns; /* lost in waits without an answer, as of that time */
};

/*
 * Reads a file of a user. 0; -ENOEXEC: no ELF file of this machine; -ECHILD: the child died;
 * -ETIMEDOUT: it took too long; -EBADMSG: it answered nonsense. The descriptor stays the caller's.
 * A NULL reader is this process.
 */
int code_headers_read(struct header_reader *reader, uint32_t user, int fd,
		      struct code_headers *ret_headers);
/* Ends the children. */
void header_reader_fini(struct header_reader *reader);

/*
 * Are these all executable segments of the file, and is this a build-id note in it? With NULL: does
 * the file have no readable program headers?
 */
bool code_headers_are_true(int fd, const struct code_headers *headers);

/* Checks the form of a child's answer and takes it over. 0, -ENOEXEC or -EBADMSG. */
int code_headers_take(const void *answer, size_t size, struct code_headers *ret_headers);

#endif
