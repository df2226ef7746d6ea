/*
 * Names of the files of a folder of segments: sprof-YYYYMMDDTHHMMSS.mmmZ.data, the time of day
 * (UTC) when the segment began. They sort by that time.
 */
#ifndef SPROF_SEGMENT_NAME_H
#define SPROF_SEGMENT_NAME_H

#include <stdbool.h>
#include <stdint.h>

#define SEGMENT_NAME_SIZE 40 /* with the NUL */

/* `realtime_ns` is Unix time; fractions of a millisecond are dropped. */
void segment_name(uint64_t realtime_ns, char name[SEGMENT_NAME_SIZE]);
/* Returns false if it is not the name of a segment. *ret_realtime_ns is exact to a millisecond. */
bool segment_name_parse(const char *name, uint64_t *ret_realtime_ns);

#endif
