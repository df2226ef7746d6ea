/* The call tree as a table, for spreadsheets and data frames. */
#ifndef SPROF_CSV_WRITER_H
#define SPROF_CSV_WRITER_H

#include "output/export/exporter.h"

extern const struct exporter export_csv, export_tsv;

#endif
