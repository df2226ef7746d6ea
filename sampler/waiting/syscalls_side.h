/* The BPF programs that count and time system calls. */
#ifndef SPROF_SYSCALLS_SIDE_H
#define SPROF_SYSCALLS_SIDE_H

#include <stddef.h>
#include <stdint.h>

struct bpf_object;
struct sink;
struct sprof_bpf;
struct syscalls_side;

/*
 * Loads the programs; attaches nothing. Calls of threshold_ns and longer become samples; 0: none.
 * `main` is loaded and outlives the result. 0 or -errno.
 */
int syscalls_side_new(const struct sprof_bpf *main, uint64_t threshold_ns,
		      struct syscalls_side **ret);
void syscalls_side_free(struct syscalls_side *s);
/* 0 or -errno. */
int syscalls_side_start(struct syscalls_side *s);
void syscalls_side_stop(struct syscalls_side *s);
/* What its programs have cost: program_cost_ns(). */
uint64_t syscalls_side_cost_ns(const struct syscalls_side *s);
/* What its maps take beside those of `main`: program_memory_bytes(). */
uint64_t syscalls_side_memory_bytes(const struct syscalls_side *s, const struct bpf_object *main);
/* Tells the sink the sums of the segment so far, as far as it does not know them. */
void syscalls_side_tell(struct syscalls_side *s, struct sink *sink);
/* To be called in each round: tells them now and then, for a recorder that is killed. */
void syscalls_side_poll(struct syscalls_side *s, struct sink *sink);
/* A segment begins: the sums begin anew. */
void syscalls_side_turn(struct syscalls_side *s);
/* What a system call is called, also one without a name; `room` may hold it. */
const char *syscalls_side_call_name(uint32_t nr, char *room, size_t size);

#endif
