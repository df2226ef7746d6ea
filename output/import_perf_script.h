/* Reads what `perf script` prints. */
#ifndef SPROF_IMPORT_PERF_SCRIPT_H
#define SPROF_IMPORT_PERF_SCRIPT_H

#include "output/importer.h"

extern const struct importer import_perf_script;

#endif
