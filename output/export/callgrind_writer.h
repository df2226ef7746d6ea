/* callgrind: the format of https://valgrind.org/docs/manual/cl-format.html. */
#ifndef SPROF_CALLGRIND_WRITER_H
#define SPROF_CALLGRIND_WRITER_H

#include "output/export/exporter.h"

extern const struct exporter export_callgrind;

#endif
