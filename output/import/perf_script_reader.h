/* Reads what `perf script` prints. */
#ifndef SPROF_PERF_SCRIPT_READER_H
#define SPROF_PERF_SCRIPT_READER_H

#include "output/import/importer.h"

extern const struct importer import_perf_script;

#endif
