/* Reads speedscope's JSON: profiles of samples, and of events that open and close frames. */
#ifndef SPROF_SPEEDSCOPE_READER_H
#define SPROF_SPEEDSCOPE_READER_H

#include "output/import/importer.h"

extern const struct importer import_speedscope;

#endif
