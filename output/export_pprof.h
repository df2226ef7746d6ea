/* pprof: profile.proto of github.com/google/pprof, gzipped. */
#ifndef SPROF_EXPORT_PPROF_H
#define SPROF_EXPORT_PPROF_H

#include "output/exporter.h"

extern const struct exporter export_pprof;

#endif
