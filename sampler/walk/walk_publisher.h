/*
 * Publishes unwind rows and mappings (core/portable/walk_tables.h) to agents that walk stacks of
 * their own, apart from any source, as the GPU agent does at each launch; and turns the addresses
 * of such stacks into frames of the sink.
 */
#ifndef SPROF_WALK_PUBLISHER_H
#define SPROF_WALK_PUBLISHER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sampler/sink/stack_ids.h"

struct code_record;
struct py_layout;
struct sink;
struct walked;
struct walk_publisher;
struct sandbox;
struct table_cache;
struct walk_target;

/*
 * `python`: walks find Python frames. Files are parsed in the sandbox, which must outlive the
 * publisher (NULL: in this process), and tables are kept in the cache (NULL: nowhere), which must
 * too. 0 or -errno, not reported; -EFBIG: ulimit -f does not let us have that much shared memory.
 */
int walk_publisher_new(bool python, const struct sandbox *sandbox, struct table_cache *cache,
		       struct walk_publisher **ret);
void walk_publisher_free(struct walk_publisher *publisher);

/* Reads the mappings of a process and begins to compile their rows. NULL: it has ended. */
struct walk_target *walk_publisher_add(struct walk_publisher *publisher, pid_t pid);
/* Forgets a process that has ended, or that walks no more. NULL is fine. */
void walk_target_free(struct walk_target *target);
/* Descriptors of struct walk_arena and of the target's struct walk_space; the publisher's. */
int walk_publisher_arena_fd(const struct walk_publisher *publisher);
int walk_target_space_fd(const struct walk_target *target);

/* Publishes finished rows; waits at most timeout_ms for those that are being built. */
void walk_publisher_take(struct walk_publisher *publisher, int timeout_ms);
/* Reads the mappings again. Once the process has ended, its last ones stay known. */
void walk_target_refresh(struct walk_target *target);

/*
 * The sink's module at an address of the target, or PROFILE_NONE; *ret_path is its path, the
 * publisher's, and *ret_address the address of a frame there.
 */
uint32_t walk_target_module(struct walk_target *target, struct sink *sink, uint64_t address,
			    const char **ret_path, uint64_t *ret_address);
/*
 * The sink's frame at an address of the target, or PROFILE_NONE; *ret_path is the path of its
 * module, the publisher's.
 */
uint32_t walk_target_frame(struct walk_target *target, struct sink *sink, uint64_t address,
			   const char **ret_path);
/*
 * The sink's stack of addresses that the target has walked itself; *ret_thread becomes the sink's
 * id of that thread of it.
 */
struct known_stack walk_target_stack(struct walk_target *target, struct sink *sink,
				     const struct walked *walked, pid_t tid, uint32_t *ret_thread);
/*
 * The same for a Python frame: `word` has FRAME_PYTHON, `code` is a struct code_record and a line
 * table of `size` bytes together, as the target sent them. They are read once for each number.
 */
uint32_t walk_target_python_frame(struct walk_target *target, struct sink *sink, uint64_t word,
				  const void *code, size_t size);
/*
 * Takes a struct code_record and its line table, `size` bytes as the target sent them; stacks of
 * walk_target_stack() may have its number from then on. false: the table of them was full and was
 * emptied first, so the target must forget what it has sent.
 */
bool walk_target_add_code(struct walk_target *target, const struct code_record *code, size_t size);
/* Where things are in the target's Python interpreter, as published; .runtime 0: it has none. */
const struct py_layout *walk_target_python(const struct walk_target *target);
/* As source_ops.open_module, for the modules of walk_target_frame(). */
int walk_publisher_open_module(const struct walk_publisher *publisher, uint32_t module);
int walk_publisher_open_root(const struct walk_publisher *publisher, uint32_t module,
			     size_t *ret_prefix);

#endif
