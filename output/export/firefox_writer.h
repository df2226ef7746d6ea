/* The processed profile format of profiler.firefox.com, version 48. */
#ifndef SPROF_FIREFOX_WRITER_H
#define SPROF_FIREFOX_WRITER_H

#include "output/export/exporter.h"

extern const struct exporter export_firefox;

#endif
