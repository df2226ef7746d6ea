/*
 * Makes answers in the steps of sprof report, in its order: reasons of waits, idle waits, the
 * filter, wall-clock time, the tree of the stacks as they were recorded, and then the rows.
 */
#include "output/live/answer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/buffer.h"
#include "core/profile/column.h"
#include "output/select/dimension.h"
#include "output/select/direction.h"
#include "output/select/filter.h"
#include "output/select/idle.h"
#include "output/select/pattern.h"
#include "output/select/reasons.h"

enum { NAME_MAX_SIZE = 2048 /* bytes of a name that are compared */ };

static char *copy_of(const char *s)
{
	return s ? xstrdup(s) : NULL;
}

void live_question_copy(struct live_question *to, const struct live_question *from)
{
	*to = *from;
	to->focus = copy_of(from->focus);
	to->detail_name = copy_of(from->detail_name);
}

void live_question_fini(struct live_question *q)
{
	free(q->focus);
	free(q->detail_name);
	q->focus = q->detail_name = NULL;
}

/* If the filter fails, the profile is left as it is, and a->why says so. */
static void filter_profile(struct live_answer *a, struct profile *p)
{
	struct filter *filter = filter_new();

	if (!filter_add_rule(filter, FILTER_FOCUS, a->question.focus, a->why, sizeof(a->why)))
		filter_apply_to_stacks(filter, p);
	filter_free(filter);
}

static void select_samples(struct live_answer *a, struct profile *p)
{
	struct idle *idle = a->question.show_idle ? idle_new() : NULL;

	reasons_refine(p);
	if (idle)
		idle_show(idle);
	idle_fold(p, idle);
	idle_free(idle);
	if (a->question.focus)
		filter_profile(a, p);
	columns_add_wall(p);
}

static bool build(struct live_answer *a, struct live_tree *t)
{
	const struct live_question *q = &a->question;
	const struct tree_opts opts = {
		.gil = true,
		.column_given = q->column_given && a->has_column[q->column],
		.column = q->column,
	};

	tree_free(t->tree);
	t->tree = NULL;
	if (tree_new(t->profile, &opts, &t->tree)) {
		snprintf(a->why, sizeof(a->why), "the numbers are too large to be added up");
		return false;
	}
	summary_init(&t->summary, t->profile, t->tree, "");
	return true;
}

/* Builds the tree again after its stacks were rewritten, with the counts of `before` about them. */
static bool rebuild(struct live_answer *a, struct live_tree *t, const struct summary *before)
{
	const struct summary kept = *before;

	if (!build(a, t))
		return false;
	summary_keep_trust(&t->summary, &kept);
	return true;
}

/* Does a row stand for a part of the samples, such as a thread, and not of the stacks? */
static bool is_owner(const struct dimension *by)
{
	return !strcmp(by->name, "thread") || !strcmp(by->name, "process");
}

/* A pattern that fits one name alone. */
static bool exact_pattern(struct pattern *ret, const char *name)
{
	struct buffer b = { 0 };
	size_t size = strlen(name);
	int err;

	buffer_add_char(&b, '^');
	for (size_t i = 0; i < size && i < NAME_MAX_SIZE; i++) {
		if (strchr("\\^$.[]|()*+?{}", name[i]))
			buffer_add_char(&b, '\\');
		buffer_add_char(&b, name[i]);
	}
	if (size <= NAME_MAX_SIZE)
		buffer_add_char(&b, '$');
	ret->field = PATTERN_NAME;
	err = regcomp(&ret->regex, buffer_cstring(&b), REG_EXTENDED | REG_NOSUB);
	buffer_fini(&b);
	return !err;
}

static void add_detail(struct live_answer *a)
{
	const struct live_question *q = &a->question;
	struct pattern pattern;

	if (!exact_pattern(&pattern, q->detail_name))
		return;
	if (is_owner(q->by))
		q->by->draw(a->detail.profile);
	else
		q->by->apply(a->detail.profile);
	if (q->detail == DETAIL_CALLERS && !is_owner(q->by))
		direction_callers(a->detail.profile, &pattern);
	else
		direction_callees(a->detail.profile, &pattern);
	pattern_fini(&pattern);
	rebuild(a, &a->detail, &a->rows.summary);
}

struct live_answer *live_answer_new(const struct live_question *question, struct profile *profile,
				    const struct live_state *state)
{
	struct live_answer *a = xcalloc(1, sizeof(*a));

	live_question_copy(&a->question, question);
	a->state = *state;
	a->rows.profile = profile;
	select_samples(a, profile);
	columns_present(profile, a->has_column);
	if (!build(a, &a->rows))
		return a;
	if (question->detail && question->detail_name) {
		a->detail.profile = profile_new();
		live_profile_copy(profile, a->detail.profile);
		a->detail.profile->meta.first_column = profile->meta.first_column;
		add_detail(a);
	}
	question->by->apply(profile);
	if (question->by != dimension_table)
		rebuild(a, &a->rows, &a->rows.summary);
	return a;
}

void live_answer_free(struct live_answer *a)
{
	if (!a)
		return;
	tree_free(a->rows.tree);
	tree_free(a->detail.tree);
	profile_free(a->rows.profile);
	profile_free(a->detail.profile);
	live_question_fini(&a->question);
	free(a);
}
