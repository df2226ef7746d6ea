/* The processed profile format of profiler.firefox.com, version 48. */
#ifndef SPROF_EXPORT_FIREFOX_H
#define SPROF_EXPORT_FIREFOX_H

#include "output/exporter.h"

extern const struct exporter export_firefox;

#endif
