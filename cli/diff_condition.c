/*
 * Parses and checks the conditions of sprof diff --fail-if. Limits are plain decimals with a point,
 * whatever the locale is, so that a build script works everywhere.
 */
#include "cli/diff_condition.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#include "core/base/buffer.h"
#include "core/base/log.h"

enum { MAX_REPORTED = 10 };

static bool parse_percent(const char *s, double *ret_fraction)
{
	double sign = *s == '-' ? -1 : 1, value = 0, unit = 1;
	bool digits = false, point = false;

	if (*s == '+' || *s == '-')
		s++;
	for (; isdigit((unsigned char)*s) || (*s == '.' && !point); s++) {
		if (*s == '.') {
			point = true;
			continue;
		}
		digits = true;
		value = value * 10 + (*s - '0');
		unit *= point ? 10 : 1;
	}
	*ret_fraction = sign * value / unit / 100;
	return digits && !strcmp(s, "%") && isfinite(*ret_fraction);
}

bool diff_condition_parse(const char *text, struct diff_condition *ret_condition)
{
	struct diff_condition c = { .text = text };
	const char *s = text;

	if (!strncmp(s, "self", 4))
		c.key = DIFF_SELF, s += 4;
	else if (!strncmp(s, "total", 5))
		c.key = DIFF_TOTAL, s += 5;
	else
		return false;
	if (*s != '>' && *s != '<')
		return false;
	c.less = *s == '<';
	if (!parse_percent(s + 1, &c.limit))
		return false;
	*ret_condition = c;
	return true;
}

static void report(const struct diff_condition *c, const struct diff_view *v,
		   const struct diff_row *row)
{
	bool self = c->key == DIFF_SELF;
	struct buffer line = { 0 };

	diff_text_add_sentence(&line, v, self ? "self" : "total",
			       self ? &row->before.self : &row->before.total,
			       self ? &row->after.self : &row->after.total,
			       self ? &row->self : &row->total, false);
	log_error(0, "accept '%s': %s, and %s is to fail", row->function->name,
		  buffer_cstring(&line), c->text);
	buffer_fini(&line);
}

uint32_t diff_condition_check(const struct diff_condition *c, const struct diff_view *v,
			      const struct diff_row *rows, uint32_t nr_rows)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < nr_rows; i++) {
		const struct diff_change *change =
			c->key == DIFF_SELF ? &rows[i].self : &rows[i].total;

		if (!change->significant ||
		    !(c->less ? change->change < c->limit : change->change > c->limit))
			continue;
		if (nr++ < MAX_REPORTED)
			report(c, v, &rows[i]);
	}
	if (nr > MAX_REPORTED)
		log_error(0, "accept %u more function%s, and %s is to fail", nr - MAX_REPORTED,
			  nr - MAX_REPORTED == 1 ? "" : "s", c->text);
	return nr;
}
