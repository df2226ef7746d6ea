/* Trace events: JSON for chrome://tracing, Perfetto and speedscope. */
#ifndef SPROF_EXPORT_CHROME_H
#define SPROF_EXPORT_CHROME_H

#include "output/exporter.h"

extern const struct exporter export_chrome;

#endif
