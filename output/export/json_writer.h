/* Everything a profile holds, as JSON: docs/export-json.md is the format. */
#ifndef SPROF_JSON_WRITER_H
#define SPROF_JSON_WRITER_H

#include "output/export/exporter.h"

extern const struct exporter export_json;

#endif
