/* Collapsed stacks, as folded_write() has them: samples of every path. */
#ifndef SPROF_EXPORT_COLLAPSED_H
#define SPROF_EXPORT_COLLAPSED_H

#include "output/exporter.h"

extern const struct exporter export_collapsed;

#endif
