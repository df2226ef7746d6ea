/* speedscope: the JSON of https://www.speedscope.app/file-format-schema.json. */
#ifndef SPROF_EXPORT_SPEEDSCOPE_H
#define SPROF_EXPORT_SPEEDSCOPE_H

#include "output/exporter.h"

extern const struct exporter export_speedscope;

#endif
