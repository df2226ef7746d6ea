/*
 * The words of a diff, which are the same in the table, in the picture and in the message of a
 * failed condition.
 */
#ifndef SPROF_DIFF_TEXT_H
#define SPROF_DIFF_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "output/tree/diff.h"

struct buffer;
struct summary;

/* A diff and the two profiles that it compares. */
struct diff_view {
	const struct diff *diff;
	const struct summary *before, *after;
	const char *before_name, *after_name; /* names of the files, any bytes */
	/* What a row is: "Function", "function", "functions". */
	const char *heading, *singular, *plural;
};

/* "35%", or in an absolute diff "1.24 s". */
void diff_text_add_amount(struct buffer *b, const struct diff_view *v, double share,
			  const struct diff_amount *amount);
/* "+5.7%", or in an absolute diff "+560 ms". */
void diff_text_add_change(struct buffer *b, const struct diff_view *v,
			  const struct diff_change *change);
/* "1.1%", or in an absolute diff "80 ms". */
void diff_text_add_margin(struct buffer *b, const struct diff_view *v,
			  const struct diff_change *change);

/*
 * "total 35% -> 41% (+5.7% +- 1.1%)"; "..., within the error of +- 1.3%)" for a change that the
 * samples cannot prove; "self 0%" if it is 0 in both. The arrow and the sign are Unicode if asked
 * for.
 */
void diff_text_add_sentence(struct buffer *b, const struct diff_view *v, const char *what,
			    const struct diff_amount *before, const struct diff_amount *after,
			    const struct diff_change *change, bool unicode);

/* "new", "gone", "more", "less", or "" if the change of `key` is within the error. */
const char *diff_text_verdict(const struct diff_row *row, enum diff_key key);

/* Appends the line "3 functions have more self (1 new), 1 less (0 gone), 7 within ...". */
void diff_text_add_summary(struct buffer *b, const struct diff_view *v, const struct diff_row *rows,
			   uint32_t nr_rows);

/*
 * Where shares are compared although the totals differ by a tenth or more, appends the line "after
 * is 1.80 times before in total (60 -> 108): --absolute compares values".
 */
void diff_text_add_totals(struct buffer *b, const struct diff_view *v);

#endif
