/*
 * Child processes without any right, for code that parses what others wrote: ELF files, DWARF, the
 * maps and dumps that runtimes write. A parser that a hostile file takes over finds itself in a
 * process that owns nothing but one socket and the descriptors it was handed. It can open, connect,
 * trace, signal or start nothing, and its time and memory are limited. If it dies, only its own
 * answer is missing.
 *
 * A small process, the starter, is forked before sprof gains or maps anything, so children inherit
 * neither memory nor descriptors of the recorder. A child is forked for each file and does one job:
 * a hostile file cannot falsify the answer about another one.
 */
#ifndef SPROF_SANDBOX_H
#define SPROF_SANDBOX_H

#include <stdint.h>

struct sandbox;

/*
 * What a child does. It answers through `socket` (message.h); the process ends when it returns. It
 * has no open files, and nothing of what the caller did after sandbox_new().
 */
typedef void sandbox_job(int socket);

struct sandbox_limits {
	uint64_t memory_bytes; /* that it may allocate */
	uint64_t file_bytes;   /* size limit of a file that it writes */
	uint32_t cpu_s;	       /* of all its threads together */
};

/* A limit of memory: the machine's divided by `part`, but at least `min` bytes. */
uint64_t sandbox_memory(uint64_t part, uint64_t min);

/*
 * Starts the starter. To be called early: with one thread, before files are opened and memory is
 * filled. 0 or -errno, not reported.
 */
int sandbox_new(struct sandbox **ret_sandbox);
/* Ends the starter and all children that still run. NULL is fine. */
void sandbox_free(struct sandbox *sandbox);

/*
 * From now on no child that this process starts may allocate more than `bytes`, or write a file
 * (also in memory) of more than half of it, whatever its own limits say. 0: only these apply.
 */
void sandbox_set_memory(struct sandbox *sandbox, uint64_t bytes);
/* What was set; 0: nothing, or there is no sandbox. */
uint64_t sandbox_memory_max(const struct sandbox *sandbox);

/*
 * Has a new child run `job`. Returns our end of its socket, which is close-on-exec and the
 * caller's, or -errno. The child's death reads as the end of the socket. Several threads may call
 * it.
 */
int sandbox_start(const struct sandbox *sandbox, sandbox_job *job,
		  const struct sandbox_limits *limits);

/*
 * Says in words why a child gave no answer about a file: -ECHILD, it died; -ETIMEDOUT; -EBADMSG, it
 * answered nonsense; -ENOMEM, it would have needed more than its limit. NULL for what follows from
 * the file alone.
 */
const char *sandbox_failure(int err);

#endif
