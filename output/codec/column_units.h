/* The names that exported files use for the units of columns. */
#ifndef SPROF_COLUMN_UNITS_H
#define SPROF_COLUMN_UNITS_H

/* "nanoseconds", "bytes" or "count" for an enum profile_column. */
const char *export_column_unit(unsigned int column);

#endif
