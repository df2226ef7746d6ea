/* The BPF program that follows who wakes the threads whose waits are followed. */
#ifndef SPROF_WAKERS_SIDE_H
#define SPROF_WAKERS_SIDE_H

#include <stdint.h>

struct bpf_object;
struct sprof_bpf;
struct waiting_bpf;
struct wakers_side;

/*
 * Loads the program; attaches nothing. Both objects are loaded and outlive the result. 0 or
 * -errno.
 */
int wakers_side_new(const struct sprof_bpf *main, const struct waiting_bpf *waiting,
		    struct wakers_side **ret);
void wakers_side_free(struct wakers_side *w);
/* 0 or -errno. */
int wakers_side_start(struct wakers_side *w);
void wakers_side_stop(struct wakers_side *w);
/* What its program has cost: program_cost_ns(). NULL: nothing. */
uint64_t wakers_side_cost_ns(const struct wakers_side *w);
/* What its maps take beside those of `main`: program_memory_bytes(). NULL: nothing. */
uint64_t wakers_side_memory_bytes(const struct wakers_side *w, const struct bpf_object *main);

#endif
