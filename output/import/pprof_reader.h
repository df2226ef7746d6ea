/* Reads pprof: profile.proto of github.com/google/pprof, with or without gzip. */
#ifndef SPROF_PPROF_READER_H
#define SPROF_PPROF_READER_H

#include "output/import/importer.h"

extern const struct importer import_pprof;

#endif
