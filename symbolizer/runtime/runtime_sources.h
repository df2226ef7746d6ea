/* What runtimes write down about the code that they make, as symbol sources. */
#ifndef SPROF_RUNTIME_SOURCES_H
#define SPROF_RUNTIME_SOURCES_H

#include "symbolizer/lookup/symbol_source.h"

extern const struct symbol_source jitdump_source, perf_map_source;

#endif
