/* The address holds enum marker in 8 bits, the number of frames in 8, and how often in 16. */
#include "core/profile/repeat_marker.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "core/profile/profile.h"

#define MAX_TIMES 0xffffu

static uint32_t frames_of(uint64_t address)
{
	return address >> 8 & 0xff;
}

static uint32_t times_of(uint64_t address)
{
	return address >> 16 & MAX_TIMES;
}

uint64_t repeat_marker(uint32_t nr_frames, uint32_t times)
{
	return MARKER_REPEATED | nr_frames << 8 | (times < MAX_TIMES ? times : MAX_TIMES) << 16;
}

bool repeat_marker_is(uint64_t address)
{
	return (address & 0xff) == MARKER_REPEATED && !(address >> 32) && frames_of(address) &&
	       times_of(address);
}

/* The largest power of two that is at most the number of times. */
static uint32_t floor_of(uint64_t address)
{
	return 1u << (31 - __builtin_clz(times_of(address)));
}

uint64_t repeat_marker_class(uint64_t address)
{
	return repeat_marker(frames_of(address), floor_of(address));
}

void repeat_marker_name(uint64_t address, char *buf, size_t size)
{
	uint32_t nr = frames_of(address), from = floor_of(address);
	const char *plural = nr == 1 ? "" : "s";

	if (from == 1)
		snprintf(buf, size, "[%u frame%s repeated once]", nr, plural);
	else
		snprintf(buf, size, "[%u frame%s repeated %u-%u times]", nr, plural, from,
			 2 * from - 1);
}

bool repeat_marker_is_name(const char *name, size_t size)
{
	static const char end[] = " times]", once[] = " repeated once]";
	size_t digits = 1;

	while (digits < size && isdigit((unsigned char)name[digits]))
		digits++;
	if (size < sizeof(once) + 7 || name[0] != '[' || digits == 1 || digits > 4)
		return false;
	return (!memcmp(name + digits, " frame repeated ", 16) ||
		!memcmp(name + digits, " frames repeated ", 17)) &&
	       (!memcmp(name + size - (sizeof(end) - 1), end, sizeof(end) - 1) ||
		!memcmp(name + size - (sizeof(once) - 1), once, sizeof(once) - 1));
}
