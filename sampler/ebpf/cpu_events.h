/*
 * The perf events that trigger the samples: one per CPU, never per task (those slow every context
 * switch of the target). Each runs the BPF program.
 */
#ifndef SPROF_CPU_EVENTS_H
#define SPROF_CPU_EVENTS_H

#include <stdint.h>

struct cpu_events;

/*
 * `event` is "cycles", or "cpu-clock" or "auto" for the timer. Opens nothing yet. 0, or -EOPNOTSUPP
 * where cycles were asked for and the host cannot count them.
 */
int cpu_events_new(const char *event, uint32_t freq_hz, struct cpu_events **ret_events);
void cpu_events_free(struct cpu_events *events); /* NULL is fine */

const char *cpu_events_name(const struct cpu_events *events);
uint64_t cpu_events_period_ns(const struct cpu_events *events);
/* From now on that many samples a second, of each CPU. 0 or -errno: some CPUs may have the old. */
int cpu_events_set_rate(struct cpu_events *events, uint32_t freq_hz);

/* Opens the events, disabled, on all online CPUs, and attaches the BPF program. 0 or -errno. */
int cpu_events_open(struct cpu_events *events, int program_fd);
int cpu_events_enable(struct cpu_events *events);
void cpu_events_disable(struct cpu_events *events);

/*
 * How often since the last call the kernel stopped an event until its next tick because it came too
 * fast.
 */
uint64_t cpu_events_read_throttles(struct cpu_events *events);

/*
 * To be called in each round. Every two seconds it changes the period by up to 3%: otherwise a
 * program whose work repeats at a multiple of the period would always be sampled in the same place,
 * and all CPUs at once. Each change costs half a sample of each CPU.
 */
void cpu_events_jitter(struct cpu_events *events, uint64_t now_ns);

#endif
