/* Reads speedscope's JSON: profiles of samples, and of events that open and close frames. */
#ifndef SPROF_IMPORT_SPEEDSCOPE_H
#define SPROF_IMPORT_SPEEDSCOPE_H

#include "output/importer.h"

extern const struct importer import_speedscope;

#endif
