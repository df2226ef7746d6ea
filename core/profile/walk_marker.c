/*
 * The ends of walks are finer than the markers: whatever a reader of the profile could not act upon
 * differently is "no unwind rule". Values come from rings that a target writes and may be anything.
 */
#include "core/profile/walk_marker.h"

#include "core/portable/frames.h"
#include "core/profile/profile.h"

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
