/*
 * A moment as a user names it: a time after a recording began, or before it ended, or a time of
 * day, or a mark.
 */
#ifndef SPROF_MOMENT_H
#define SPROF_MOMENT_H

#include <stdbool.h>
#include <stdint.h>

enum moment_kind {
	MOMENT_NOT_SET,
	MOMENT_AFTER_START,
	MOMENT_BEFORE_END,
	MOMENT_OF_DAY, /* Unix time */
	MOMENT_OF_MARK,
};

struct moment {
	enum moment_kind kind;
	uint64_t ns;
	const char *mark; /* text of MOMENT_OF_MARK, borrowed; its time must be looked up */
};

/*
 * "10", "2.5s", "250ms", "2m", "1h", "1d": after the start; the same with a minus: before the end;
 * "2026-11-23T19:05", "2026-11-23 19:05:30.5", with "Z" behind it in UTC, else in local time: a
 * time of day; "mark:TEXT": when sprof mark was called with that text. False: other text.
 */
bool moment_parse(const char *text, struct moment *ret);

/* The time of a moment in a recording from start_ns to end_ns; all on the same clock. */
uint64_t moment_time(const struct moment *m, uint64_t start_ns, uint64_t end_ns);

#endif
