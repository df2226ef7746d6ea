/*
 * One text per limit is enough: a program that hits a limit usually hits it thousands of times, and
 * the count says how often.
 */
#include "sampler/sink/limits.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/profile/source.h"

void limits_fini(struct limits *l)
{
	for (int i = 0; i < NR_LIMITS; i++)
		free(l->of[i].text);
}

void limit_hit(struct limits *l, enum limit limit, const char *format, ...)
{
	char text[256];
	va_list ap;

	l->of[limit].nr++;
	if (l->of[limit].text)
		return;
	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	l->of[limit].text = xstrdup(text);
}

void limit_set(struct limits *l, enum limit limit, uint64_t nr, const char *text)
{
	l->of[limit].nr = nr;
	if (nr && !l->of[limit].text)
		l->of[limit].text = xstrdup(text);
}

uint64_t limits_total(const struct limits *l)
{
	uint64_t nr = 0;

	for (int i = 0; i < NR_LIMITS; i++)
		nr += l->of[i].nr;
	return nr;
}

void limits_tell(struct limits *l, struct sink *sink)
{
	for (int i = 0; i < NR_LIMITS; i++) {
		struct fact_limit row = { .limit = (uint64_t)i, .count = l->of[i].nr };
		const char *text = l->of[i].text;

		if (!text || l->of[i].nr == l->of[i].nr_told)
			continue;
		row.text = sink->string(sink, text, strlen(text));
		sink->fact(sink, FACT_LIMIT, &row);
		l->of[i].nr_told = l->of[i].nr;
	}
}
