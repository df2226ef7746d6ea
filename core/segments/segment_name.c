/* Times are those of the Gregorian calendar, years 1970 to 9999, without leap seconds. */
#include "core/segments/segment_name.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "core/base/clock.h"

#define LAST_S INT64_C(253402300799) /* 9999-12-31T23:59:59 */

void segment_name(uint64_t realtime_ns, char name[SEGMENT_NAME_SIZE])
{
	time_t s = (time_t)(realtime_ns / NS_PER_S);
	char text[24];
	struct tm tm;

	if (s > LAST_S)
		s = LAST_S;
	gmtime_r(&s, &tm);
	strftime(text, sizeof(text), "%Y%m%dT%H%M%S", &tm);
	snprintf(name, SEGMENT_NAME_SIZE, "sprof-%s.%03" PRIu64 "Z.data", text,
		 realtime_ns % NS_PER_S / NS_PER_MS);
}

bool segment_name_parse(const char *name, uint64_t *ret_realtime_ns)
{
	struct tm tm = { 0 };
	char again[SEGMENT_NAME_SIZE];
	unsigned int ms;
	uint64_t ns;
	time_t s;

	if (strlen(name) >= SEGMENT_NAME_SIZE ||
	    sscanf(name, "sprof-%4d%2d%2dT%2d%2d%2d.%3uZ.data", &tm.tm_year, &tm.tm_mon,
		   &tm.tm_mday, &tm.tm_hour, &tm.tm_min, &tm.tm_sec, &ms) != 7)
		return false;
	tm.tm_year -= 1900;
	tm.tm_mon -= 1;
	s = timegm(&tm);
	if (s < 0)
		return false;
	ns = (uint64_t)s * NS_PER_S + ms * NS_PER_MS;
	/* sscanf() accepts more: the name must be the one that we would give. */
	segment_name(ns, again);
	if (strcmp(name, again))
		return false;
	*ret_realtime_ns = ns;
	return true;
}
