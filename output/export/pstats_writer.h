/* pstats: what cProfile writes. -EDOM where the profile holds counts and no times. */
#ifndef SPROF_PSTATS_WRITER_H
#define SPROF_PSTATS_WRITER_H

#include "output/export/exporter.h"

extern const struct exporter export_pstats;

#endif
