/* Reads pprof: profile.proto of github.com/google/pprof, with or without gzip. */
#ifndef SPROF_IMPORT_PPROF_H
#define SPROF_IMPORT_PPROF_H

#include "output/importer.h"

extern const struct importer import_pprof;

#endif
