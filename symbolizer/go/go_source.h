/* The Go linker's table of functions as a symbol source. */
#ifndef SPROF_GO_SOURCE_H
#define SPROF_GO_SOURCE_H

#include "symbolizer/lookup/symbol_source.h"

extern const struct symbol_source go_source;

#endif
