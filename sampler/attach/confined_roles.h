/*
 * Reads the functions of files by their roles (critical_functions.h) in a child process without
 * rights (core/sandbox), because symbol tables of targets are untrusted. One child reads the files
 * of one process, one after another: a file that takes it over can falsify only what is said of the
 * process that has mapped it.
 */
#ifndef SPROF_CONFINED_ROLES_H
#define SPROF_CONFINED_ROLES_H

#include <stddef.h>
#include <stdint.h>

#include "sampler/attach/critical_functions.h"

struct role_reader;
struct sandbox;

/* The sandbox must outlive it; NULL: this process reads. */
struct role_reader *role_reader_new(const struct sandbox *sandbox);
/* Ends the child. NULL is fine. */
void role_reader_free(struct role_reader *reader);

/*
 * Reads one file, which stays open. 0; -ENOEXEC: it is no ELF file whose symbols can be read. All
 * else is about the child, which has ended then, and is returned for every further file: -ECHILD,
 * -ETIMEDOUT, -EBADMSG and -ENOMEM as sandbox_failure() has them; -EFBIG: the files have more
 * functions than are kept of one process.
 */
int role_reader_read(struct role_reader *reader, int fd, struct module_functions *ret_functions);

/* What the child says of a file, before its functions. */
struct role_answer {
	int32_t err; /* 0, -ENOEXEC, -ENOMEM or -EFBIG */
	uint32_t flags;
	uint64_t needed[NR_NEEDED_FUNCTIONS];
	uint64_t nr; /* functions */
};
enum { ROLES_HAVE_MALLOC = 1, ROLES_ARE_LIBC = 2 };

/*
 * Checks an answer and the `size` bytes of functions that came with it, and takes both over. 0, the
 * error in the answer, or -EBADMSG.
 */
int role_answer_take(const struct role_answer *answer, const void *functions, uint64_t size,
		     struct module_functions *ret_functions);

#endif
