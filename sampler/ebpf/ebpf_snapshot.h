/*
 * Unwinds, in user space, the samples that the kernel side could not walk: registers and a copy of
 * the stack, with the Python frames that the kernel side read at the same moment.
 */
#ifndef SPROF_EBPF_SNAPSHOT_H
#define SPROF_EBPF_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ebpf_files;
struct ebpf_pythons;
struct last_python;
struct mapped_file;
struct ebpf_snapshots;
struct process;
struct sandbox;
struct snapshot_event;
struct stack_event;
struct walked;

/* All must outlive it; `pythons` and the sandbox may be NULL. */
struct ebpf_snapshots *ebpf_snapshots_new(const struct ebpf_files *files,
					  const struct ebpf_pythons *pythons,
					  const struct sandbox *sandbox);
/* A struct ebpf_files.on_release: the file's index will belong to another. */
void ebpf_snapshots_forget(void *snapshots, const struct mapped_file *file);
/* Stacks whose callers were not guessed, see source_unwinder_refused(). NULL is fine. */
uint64_t ebpf_snapshots_refused(const struct ebpf_snapshots *s);
void ebpf_snapshots_free(struct ebpf_snapshots *s); /* NULL is fine */

enum snapshot_depth {
	SNAPSHOT_LEAF, /* nothing is unwound */
	SNAPSHOT_WHOLE,
	SNAPSHOT_MAY_WAIT, /* for a table that is being built */
};

/*
 * Sets the user frames of `ret_walked` to those of the snapshot; frames[], `max` words, holds them.
 * `p` is NULL where the process had ended before it was known. With SNAPSHOT_MAY_WAIT returns the
 * module whose table is missing and being built, and sets nothing then; otherwise 0.
 */
uint64_t ebpf_unwind_snapshot(struct ebpf_snapshots *s, const struct process *p,
			      const struct snapshot_event *e, enum snapshot_depth depth,
			      uint64_t *frames, size_t max, struct walked *ret_walked);

/*
 * Reads and keeps the Python frames of the snapshot, which comes next: the thread waits, and the
 * recording ends. Does nothing for other snapshots.
 */
void ebpf_read_python_stack(struct ebpf_snapshots *s, struct last_python *last,
			    const struct process *p, const struct snapshot_event *e);

/* Keeps the Python frames (EVENT_PYTHON) that go with the snapshot that comes next. */
void ebpf_keep_python_stack(struct ebpf_snapshots *s, const struct stack_event *e);

#endif
