/*
 * The names of markers, today and in older recordings, and the marker for each end of a walk. The
 * address of a marker for repeated frames holds enum marker in 8 bits, the number of frames in 8,
 * and how often in 16.
 */
#include "core/profile/markers.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "core/portable/frames.h"
#include "core/profile/profile.h"

const char *marker_name(enum marker marker)
{
	static const char *const names[NR_MARKERS] = {
		[MARKER_UNKNOWN] = "[unknown]",
		[MARKER_NO_RULE] = "[no unwind rule]",
		[MARKER_READ_FAULT] = "[stack not readable]",
		[MARKER_BAD_STACK] = "[bad stack pointer]",
		[MARKER_TOO_DEEP] = "[incomplete: too deep]",
		[MARKER_SNAPSHOT_END] = "[incomplete: end of stack copy]",
		[MARKER_COMPAT_32BIT] = "[32-bit program]",
		[MARKER_NO_KERNEL_STACK] = "[no kernel stack]",
		[MARKER_NO_LAUNCH] = "[launch not seen]",
		[MARKER_PYTHON] = "[Python frames not readable]",
		[MARKER_PARSER_FAILED] = "[unwind rules not readable]",
		[MARKER_OVER_LIMIT] = "[incomplete: over a limit]",
		[MARKER_TOO_LONG] = "[incomplete: too long to walk]",
		[MARKER_LEFT_OUT] = "[incomplete: frames left out]",
		[MARKER_REPEATED] = "[repeated frames]",
		[MARKER_GUESSED] = "[incomplete: guessed callers]",
		[MARKER_NO_TABLE] = "[incomplete: no unwind table yet]",
	};

	return (unsigned int)marker < NR_MARKERS ? names[marker] : "[marker]";
}

int marker_from_name(const char *name, size_t size)
{
	static const char *const former_names[NR_MARKERS] = {
		[MARKER_TOO_DEEP] = "[truncated: too deep]",
		[MARKER_SNAPSHOT_END] = "[truncated: end of stack copy]",
	};

	for (int i = 0; i < NR_MARKERS; i++) {
		const char *now = marker_name((enum marker)i), *former = former_names[i];

		if ((size == strlen(now) && !memcmp(name, now, size)) ||
		    (former && size == strlen(former) && !memcmp(name, former, size)))
			return i;
	}
	return repeat_marker_is_name(name, size) ? MARKER_REPEATED : -1;
}

/*
 * There are more ends than markers: ends that make no difference to a reader are "no unwind rule".
 * A value may be anything, as it comes from a ring that a target writes.
 */
int walk_marker(unsigned int end)
{
	switch (end) {
	case END_ROOT:
	case END_NO_USER: return -1;
	case END_NO_MAP: return MARKER_UNKNOWN;
	case END_READ_FAULT: return MARKER_READ_FAULT;
	case END_BAD_STACK: return MARKER_BAD_STACK;
	case END_TOO_DEEP: return MARKER_TOO_DEEP;
	case END_TOO_LONG: return MARKER_TOO_LONG;
	case END_COMPAT: return MARKER_COMPAT_32BIT;
	case END_OVER_LIMIT:
	case END_COPIED: return MARKER_OVER_LIMIT;
	case END_PENDING:
	case END_STALE:
	case END_NO_TABLE: return MARKER_NO_TABLE;
	default: return MARKER_NO_RULE;
	}
}

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
