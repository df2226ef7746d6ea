/*
 * What a child that walks stacks asks of the recorder: mappings of the process, which it keeps
 * while they mean the same, and descriptors of files, each once.
 */
#ifndef SPROF_WALK_QUESTIONS_H
#define SPROF_WALK_QUESTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/sandbox/sandbox.h"
#include "sampler/walk/snapshot_unwind.h"

/* What the child says: it wants to know a mapping or a file, or the stack is walked. */
enum walk_word_kind { WALK_DONE, WALK_WANTS_MAPPING, WALK_WANTS_FILE };
struct walk_word {
	uint32_t kind;	/* enum walk_word_kind */
	int32_t marker; /* WALK_DONE: as in struct snapshot_result */
	uint64_t key;	/* an address, or the number of a module that it was told of */
	uint64_t nr, gap;
	/* WALK_DONE: nr frames follow, and nr stack pointers, none with a gap. */
};

/* ---- in the child */

struct walk_asker {
	int socket;
	uint64_t space; /* that the mappings are of */
	struct snapshot_mapping *mappings;
	size_t nr, capacity;
};

/* The addresses of the next walk are of that space. */
void walk_asker_enter(struct walk_asker *asker, uint64_t space);
/* snapshot_ops.find_mapping and open_module of a walk_asker. The process ends with the recorder. */
bool walk_ask_mapping(void *asker, uint64_t address, struct snapshot_mapping *ret);
bool walk_ask_file(void *asker, uint64_t module, struct snapshot_file *ret);

/* ---- in the recorder */

/* A module that the child was told of. */
struct told_module {
	uint64_t key;
	bool handed_over;
};

/* What one child knows. */
struct walk_told {
	struct told_module *modules;
	size_t nr, capacity;
};

/* A child that walks stacks, and the file in memory that they go through. */
struct walk_child {
	int socket, stack_fd; /* -1: there is none */
	struct walk_told told;
};

#define WALK_NO_CHILD ((struct walk_child){ .socket = -1, .stack_fd = -1 })

/*
 * Starts the job, with `cpu_s` seconds of CPU time, and hands it ops->by_header with the file. A
 * child that reads nothing holds up who sends for a tenth of a second: -EAGAIN. After an error the
 * caller ends the child.
 */
int walk_child_start(struct walk_child *child, const struct sandbox *sandbox, sandbox_job *job,
		     unsigned int cpu_s, const struct snapshot_ops *ops);
/* Closes what it has; it can be started again. */
void walk_child_end(struct walk_child *child);
/* Ends and frees it. */
void walk_child_fini(struct walk_child *child);
/*
 * Answers the questions of the child by find_mapping and open_module until it says WALK_DONE.
 * `message` has room for `capacity` bytes; the word and what follows are *ret_size. 0; -ETIMEDOUT;
 * -ECHILD: the child died; -EBADMSG: it says or wants what it may not.
 */
int walk_questions_answer(int socket, const struct snapshot_ops *ops, void *context,
			  struct walk_told *told, uint64_t end_ms, void *message, size_t capacity,
			  size_t *ret_size);
/* The child is told of the number anew if it is mapped again. false: it was never told. */
bool walk_told_forget(struct walk_told *told, uint64_t key);

#endif
