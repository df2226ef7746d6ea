/* Fractions of a second are parsed here, because strptime() has none. */
#include "core/profile/moment.h"

#include <ctype.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/clock.h"

static bool parse_span(const char *text, uint64_t *ret_ns)
{
	static const struct {
		const char *suffix;
		double ns;
	} units[] = { { "", 1e9 }, { "s", 1e9 },  { "ms", 1e6 },   { "us", 1e3 },
		      { "ns", 1 }, { "m", 60e9 }, { "h", 3600e9 }, { "d", 86400e9 } };
	double value;
	char *end;

	errno = 0;
	value = strtod(text, &end);
	if (errno || end == text || !(value >= 0 && value < 1e7))
		return false;
	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
		if (!strcmp(end, units[i].suffix) && value * units[i].ns < 1e19) {
			*ret_ns = (uint64_t)(value * units[i].ns + 0.5);
			return true;
		}
	return false;
}

static bool parse_day(const char *text, uint64_t *ret_ns)
{
	static const char *const formats[] = { "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S",
					       "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M", "%Y-%m-%d" };
	double fraction = 0;

	for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++) {
		struct tm tm = { .tm_isdst = -1 };
		char *rest = strptime(text, formats[i], &tm);
		time_t s;

		if (!rest)
			continue;
		if (*rest == '.' && i < 2)
			fraction = strtod(rest, &rest);
		if (*rest && strcmp(rest, "Z"))
			continue;
		s = *rest ? timegm(&tm) : mktime(&tm);
		if (s < 0)
			return false;
		*ret_ns = (uint64_t)s * NS_PER_S + (uint64_t)(fraction * (double)NS_PER_S);
		return true;
	}
	return false;
}

bool moment_parse(const char *text, struct moment *ret)
{
	struct moment m = { .kind = MOMENT_AFTER_START };

	if (!strncmp(text, "mark:", 5) && text[5]) {
		*ret = (struct moment){ .kind = MOMENT_OF_MARK, .mark = text + 5 };
		return true;
	}
	if (*text == '-') {
		m.kind = MOMENT_BEFORE_END;
		text++;
	}
	if (!isdigit((unsigned char)*text) && *text != '.')
		return false;
	if (!parse_span(text, &m.ns)) {
		if (m.kind == MOMENT_BEFORE_END || !parse_day(text, &m.ns))
			return false;
		m.kind = MOMENT_OF_DAY;
	}
	*ret = m;
	return true;
}

uint64_t moment_time(const struct moment *m, uint64_t start_ns, uint64_t end_ns)
{
	switch (m->kind) {
	case MOMENT_AFTER_START: return start_ns + m->ns < m->ns ? UINT64_MAX : start_ns + m->ns;
	case MOMENT_BEFORE_END: return end_ns > m->ns ? end_ns - m->ns : 0;
	case MOMENT_OF_DAY: return m->ns;
	case MOMENT_OF_MARK:
	case MOMENT_NOT_SET: break;
	}
	return 0;
}
