/*
 * Puts the changes of a diff into words and numbers. Shares are compared unless the diff is
 * absolute; then values are.
 */
#include "output/report/diff_text.h"

#include <math.h>

#include "core/base/buffer.h"
#include "output/text/number.h"
#include "output/tree/summary.h"

/* In an absolute diff, fractions are of this value. */
static double whole_of(const struct diff *d)
{
	return (double)(d->whole_before.value ? d->whole_before.value : d->whole_after.value);
}

void diff_text_add_amount(struct buffer *b, const struct diff_view *v, double share,
			  const struct diff_amount *amount)
{
	static const uint64_t unit = 1000000000;

	if (v->diff->absolute)
		summary_add_value(b, v->after, amount->value);
	else
		number_add_percent(b, (uint64_t)llround(share * (double)unit), unit);
}

void diff_text_add_change(struct buffer *b, const struct diff_view *v,
			  const struct diff_change *change)
{
	if (!v->diff->absolute) {
		number_add_change(b, change->change);
		return;
	}
	buffer_add_char(b, change->change < 0 ? '-' : '+');
	summary_add_value(b, v->after, (uint64_t)llround(fabs(change->change) * whole_of(v->diff)));
}

void diff_text_add_margin(struct buffer *b, const struct diff_view *v,
			  const struct diff_change *change)
{
	static const uint64_t unit = 1000000000;

	if (v->diff->absolute)
		summary_add_value(b, v->after,
				  (uint64_t)llround(change->margin * whole_of(v->diff)));
	else
		number_add_percent(b, (uint64_t)llround(change->margin * (double)unit), unit);
}

void diff_text_add_sentence(struct buffer *b, const struct diff_view *v, const char *what,
			    const struct diff_amount *before, const struct diff_amount *after,
			    const struct diff_change *change, bool unicode)
{
	const char *plus_minus = unicode ? "\xc2\xb1 " : "+- ";

	buffer_printf(b, "%s ", what);
	diff_text_add_amount(b, v, change->before, before);
	if (!before->samples && !after->samples)
		return;
	buffer_add_string(b, unicode ? " \xe2\x86\x92 " : " -> ");
	diff_text_add_amount(b, v, change->after, after);
	buffer_add_string(b, " (");
	diff_text_add_change(b, v, change);
	if (!v->diff->exact) {
		buffer_add_string(b, change->significant ? " " : ", within the error of ");
		buffer_add_string(b, plus_minus);
		diff_text_add_margin(b, v, change);
	}
	buffer_add_char(b, ')');
}

const char *diff_text_verdict(const struct diff_row *row, enum diff_key key)
{
	const struct diff_change *c = key == DIFF_SELF ? &row->self : &row->total;

	if (!row->before.total.samples && row->total.significant)
		return "new";
	if (!row->after.total.samples && row->total.significant)
		return "gone";
	if (!c->significant)
		return "";
	return c->change > 0 ? "more" : "less";
}

static void add_count(struct buffer *b, const char *separator, uint32_t nr, const char *one,
		      const char *many)
{
	buffer_printf(b, "%s%u %s", separator, nr, nr == 1 ? one : many);
}

void diff_text_add_summary(struct buffer *b, const struct diff_view *v, const struct diff_row *rows,
			   uint32_t nr_rows)
{
	uint32_t more = 0, less = 0, created = 0, gone = 0, within = 0;

	for (uint32_t i = 0; i < nr_rows; i++) {
		const struct diff_row *row = &rows[i];
		const char *verdict = diff_text_verdict(row, DIFF_SELF);

		more += row->self.significant && row->self.change > 0;
		less += row->self.significant && row->self.change < 0;
		within += !row->self.significant;
		created += row->self.significant && verdict[0] == 'n';
		gone += row->self.significant && verdict[0] == 'g';
	}
	add_count(b, "", more, v->singular, v->plural);
	buffer_add_string(b, more == 1 ? " has more self" : " have more self");
	add_count(b, " (", created, "new), ", "new), ");
	add_count(b, "", less, "less", "less");
	add_count(b, " (", gone, "gone), ", "gone), ");
	add_count(b, "", within, "within the sampling error", "within the sampling error");
}

void diff_text_add_totals(struct buffer *b, const struct diff_view *v)
{
	uint64_t before = v->before->total, after = v->after->total;
	double ratio = before ? (double)after / (double)before : 1;

	if (v->diff->absolute || !before || !after || (ratio < 1.1 && ratio > 1 / 1.1))
		return;
	buffer_printf(b, "after is %.2f times before in total (", ratio);
	summary_add_value(b, v->before, before);
	buffer_add_string(b, " -> ");
	summary_add_value(b, v->after, after);
	buffer_add_string(b, "): --absolute compares values\n");
}
