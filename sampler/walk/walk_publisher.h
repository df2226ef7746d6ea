/*
 * Unwind rows and mappings for walks that run inside targets (core/portable/walk_tables.h), outside of any
 * source: for libraries that take stacks of their own, as the GPU's does at each launch. And back:
 * from the addresses of such stacks to frames of the sink.
 */
#ifndef SPROF_WALK_PUBLISHER_H
#define SPROF_WALK_PUBLISHER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct sink;
struct walk_publisher;
struct walk_target;

/* `python`: walks find Python frames. NULL: no memory for it; not reported. */
struct walk_publisher *walk_publisher_new(bool python);
void walk_publisher_free(struct walk_publisher *publisher);

/* Reads the mappings of a process and begins to compile their rows. NULL: it has ended. */
struct walk_target *walk_publisher_add(struct walk_publisher *publisher, pid_t pid);
void walk_publisher_remove(struct walk_publisher *publisher, struct walk_target *target);
/* Descriptors that the target maps to read: struct walk_arena and its struct walk_space. Ours. */
int walk_publisher_arena_fd(const struct walk_publisher *publisher);
int walk_target_space_fd(const struct walk_target *target);

/* Publishes rows that are ready; waits for those in hand, that long at most. */
void walk_publisher_take(struct walk_publisher *publisher, int timeout_ms);
/* Looks for mappings that came or went. Where the process has ended, what was there stays known. */
void walk_target_refresh(struct walk_target *target);

/* The sink's frame at an address of the target, or PROFILE_NONE; *ret_path is the path of its module,
 * the publisher's. */
uint32_t walk_target_frame(struct walk_target *target, struct sink *sink, uint64_t address,
			   const char **ret_path);
/*
 * The same for a Python frame: `word` is FRAME_PYTHON, and the target has `size` bytes for its code
 * object, a struct code_record and its line table, which are looked at once for each number.
 */
uint32_t walk_target_python_frame(struct walk_target *target, struct sink *sink, uint64_t word,
				  const void *code, size_t size);
/* As source_ops.open_module, for modules of the sink that walk_target_frame() brought in. */
int walk_publisher_open_module(const struct walk_publisher *publisher, uint32_t module);

#endif
