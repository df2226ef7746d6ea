/* Collapsed stacks, as collapsed_write() has them: samples of every path. */
#ifndef SPROF_COLLAPSED_WRITER_H
#define SPROF_COLLAPSED_WRITER_H

#include "output/export/exporter.h"

extern const struct exporter export_collapsed;

#endif
