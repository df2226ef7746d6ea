/* Which CPU samples sprof record keeps: those after --delay, and of the part that --capture-range names. */
#ifndef SPROF_GATE_H
#define SPROF_GATE_H

#include <stdint.h>

struct record_gate;
struct record_gpu;
struct sink;

/*
 * In front of `to`: `begin_ns` (CLOCK_MONOTONIC) is when recording begins, `gpu` (NULL: none) knows the windows of
 * capture. Both, and `to`, stay the caller's.
 */
struct record_gate *record_gate_new(struct sink *to, uint64_t begin_ns,
				    const struct record_gpu *gpu);
void record_gate_free(struct record_gate *gate); /* NULL is fine */
struct sink *record_gate_sink(struct record_gate *gate);

#endif
