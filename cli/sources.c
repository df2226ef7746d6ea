/* The sources, best first. */
#include "core/profile/source.h"
#include "sampler/source_ebpf.h"
#include "sampler/source_perf.h"
#include "sampler/source_timer.h"

const struct source_ops *const source_table[] = { &source_ebpf, &source_perf, &source_timer, NULL };
