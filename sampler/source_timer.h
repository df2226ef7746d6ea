/* The source of samples that timer signals inside the targets take. */
#ifndef SPROF_SOURCE_TIMER_H
#define SPROF_SOURCE_TIMER_H

#include "core/source.h"

extern const struct source_ops source_timer;

#endif
