/* Everything a profile holds, as JSON: docs/export-json.md is the format. */
#ifndef SPROF_EXPORT_JSON_H
#define SPROF_EXPORT_JSON_H

#include "output/exporter.h"

extern const struct exporter export_json;

#endif
