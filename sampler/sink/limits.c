/*
 * One text per limit is enough: a program that hits a limit usually hits it thousands of times, and
 * the count says how often.
 */
#include "sampler/sink/limits.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/profile/source.h"
#include "sampler/target/kept_files.h"
#include "sampler/target/mapped_file.h"

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

void limits_set_files(struct limits *l, struct file_table *files)
{
	const struct file_refusals r = file_table_refusals(files);
	char text[160];

	snprintf(text, sizeof(text),
		 "user %u maps more than %u files: stacks end in the code of further ones", r.user,
		 FILE_OVER_LIMIT / 2);
	limit_set(l, LIMIT_USER_FILES, r.nr_user_full, text);
	snprintf(text, sizeof(text),
		 "more than %u mapped files: stacks end in the code of further ones",
		 FILE_OVER_LIMIT);
	limit_set(l, LIMIT_FILES, r.nr_full, text);
	snprintf(text, sizeof(text),
		 "more than %d files were sampled and deleted: the functions of some have no names",
		 KEPT_DELETED_MAX);
	limit_set(l, LIMIT_DELETED_FILES, r.nr_names_lost, text);
}

void limits_set_guesses(struct limits *l, uint64_t nr_refused)
{
	limit_set(l, LIMIT_GUESSES, nr_refused,
		  "guesses of callers for one process or user took too long: stacks end where no "
		  "rule leads on");
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
		row.text = sink_cstring(sink, text);
		sink->fact(sink, FACT_LIMIT, &row);
		l->of[i].nr_told = l->of[i].nr;
	}
}
