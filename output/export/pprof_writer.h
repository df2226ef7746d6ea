/* pprof: profile.proto of github.com/google/pprof, gzipped. */
#ifndef SPROF_PPROF_WRITER_H
#define SPROF_PPROF_WRITER_H

#include "output/export/exporter.h"

extern const struct exporter export_pprof;

#endif
