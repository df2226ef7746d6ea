/* The call tree as a table, for spreadsheets and data frames. */
#ifndef SPROF_EXPORT_CSV_H
#define SPROF_EXPORT_CSV_H

#include "output/exporter.h"

extern const struct exporter export_csv, export_tsv;

#endif
