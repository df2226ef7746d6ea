/* speedscope: the JSON of https://www.speedscope.app/file-format-schema.json. */
#ifndef SPROF_SPEEDSCOPE_WRITER_H
#define SPROF_SPEEDSCOPE_WRITER_H

#include "output/export/exporter.h"

extern const struct exporter export_speedscope;

#endif
