/* callgrind: the format of https://valgrind.org/docs/manual/cl-format.html. */
#ifndef SPROF_EXPORT_CALLGRIND_H
#define SPROF_EXPORT_CALLGRIND_H

#include "output/exporter.h"

extern const struct exporter export_callgrind;

#endif
