/*
 * Names the unit of a column. pprof and speedscope use the same words, so one spelling serves all.
 */
#include "output/codec/column_units.h"

#include "core/profile/column.h"

const char *export_column_unit(unsigned int column)
{
	switch ((enum column_unit)column_table[column].unit) {
	case UNIT_NS: return "nanoseconds";
	case UNIT_BYTES: return "bytes";
	case UNIT_COUNT: break;
	}
	return "count";
}
