/*
 * The perf events that make the samples: one per CPU, never per task (those slow every context
 * switch of the target), each running the BPF program.
 */
#ifndef SPROF_CPU_EVENTS_H
#define SPROF_CPU_EVENTS_H

#include <stdint.h>

struct cpu_events;

/*
 * Decides what is counted: "cpu-clock", "cycles", or "auto" for cycles where the host has them.
 * Opens nothing yet. -EOPNOTSUPP: there are no cycles here.
 */
int cpu_events_new(const char *event, uint32_t freq_hz, struct cpu_events **ret_events);
void cpu_events_free(struct cpu_events *events); /* NULL is fine */

const char *cpu_events_name(const struct cpu_events *events);
uint64_t cpu_events_period_ns(const struct cpu_events *events);
/* What a sample stands for, where the event itself does not count ns; else 0. */
uint64_t cpu_events_fixed_weight_ns(const struct cpu_events *events);

/* Opens the events, disabled, on all CPUs that are online, and attaches the program. 0 or -errno. */
int cpu_events_open(struct cpu_events *events, int program_fd);
int cpu_events_enable(struct cpu_events *events);
void cpu_events_disable(struct cpu_events *events);

/*
 * How often the kernel stopped an event until its next tick, because it came too fast, since this
 * was last asked.
 */
uint64_t cpu_events_read_throttles(struct cpu_events *events);

/*
 * To be called often; every so often it moves the period by up to 3%, so that a program whose work
 * repeats with a multiple of it is not always met in the same place, nor all CPUs at once. Each move
 * costs half a sample of each CPU.
 */
void cpu_events_jitter(struct cpu_events *events, uint64_t now_ns);

#endif
