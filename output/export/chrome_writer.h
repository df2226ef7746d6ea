/* Trace events: JSON for chrome://tracing, Perfetto and speedscope. */
#ifndef SPROF_CHROME_WRITER_H
#define SPROF_CHROME_WRITER_H

#include "output/export/exporter.h"

extern const struct exporter export_chrome;

#endif
