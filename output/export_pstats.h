/* pstats: what cProfile writes. -EDOM where the profile holds counts and no times. */
#ifndef SPROF_EXPORT_PSTATS_H
#define SPROF_EXPORT_PSTATS_H

#include "output/exporter.h"

extern const struct exporter export_pstats;

#endif
