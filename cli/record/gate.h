/*
 * Which samples sprof record keeps: those after --delay, and only inside the ranges that
 * --capture-range names.
 */
#ifndef SPROF_GATE_H
#define SPROF_GATE_H

#include <stdint.h>

struct record_gate;
struct record_gpu;
struct sink;

/*
 * Returns a gate in front of `to`. Recording begins at `begin_ns` (CLOCK_MONOTONIC); `gpu` (NULL:
 * none) knows the windows of capture. The caller keeps `gpu` and `to`.
 */
struct record_gate *record_gate_new(struct sink *to, uint64_t begin_ns,
				    const struct record_gpu *gpu);
/* Changes when recording begins. No sample may have passed before. */
void record_gate_begin(struct record_gate *gate, uint64_t begin_ns);
void record_gate_free(struct record_gate *gate); /* NULL is fine */
struct sink *record_gate_sink(struct record_gate *gate);

#endif
