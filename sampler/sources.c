/* The sources, best first. */
#include "core/profile/source.h"
#include "sampler/ebpf/source_ebpf.h"
#include "sampler/perf/source_perf.h"
#include "sampler/timer/source_timer.h"

const struct source_ops *const source_table[] = { &source_ebpf, &source_perf, &source_timer, NULL };
