/*
 * The table of sources, best first: record takes the first one that works here and for its target.
 * A new source is a room that defines a struct source_ops, and a line here.
 */
#include "core/profile/source.h"
#include "sampler/ebpf/source_ebpf.h"
#include "sampler/perf/source_perf.h"
#include "sampler/timer/source_timer.h"

const struct source_ops *const source_table[] = { &source_ebpf, &source_perf, &source_timer, NULL };
