/* The selected row is remembered by name and module: every answer changes its place. */
#include "cli/top/picture.h"

#include <stdlib.h>
#include <string.h>

#include "cli/top/ui.h"
#include "core/base/alloc.h"

void picture_init(struct picture *p, const struct ui_opts *opts)
{
	*p = (struct picture){ .opts = opts, .key = opts->key };
	live_question_copy(&p->question, opts->question);
}

void picture_fini(struct picture *p)
{
	ranking_fini(&p->ranking);
	live_answer_free(p->answer);
	live_question_fini(&p->question);
	buffer_fini(&p->input);
	free(p->selected_name);
	free(p->selected_module);
	free(p->search);
}

/* Finds the selected row again. If it is gone, selects the row at its place. */
static void follow(struct picture *p)
{
	const struct ranking *r = &p->ranking;

	for (uint32_t i = 0; p->selected_name && i < r->nr_rows; i++)
		if (!strcmp(r->rows[i].function->name, p->selected_name) &&
		    !strcmp(r->rows[i].function->module, p->selected_module)) {
			p->selected = i;
			return;
		}
	if (!p->selected_name)
		p->selected = 0;
	if (p->selected >= r->nr_rows)
		p->selected = r->nr_rows ? r->nr_rows - 1 : 0;
}

void picture_rank(struct picture *p)
{
	ranking_fini(&p->ranking);
	if (p->answer && p->answer->rows.tree)
		ranking_init(&p->ranking, p->answer->rows.tree, p->key);
	follow(p);
}

void picture_set(struct picture *p, struct live_answer *answer)
{
	ranking_fini(&p->ranking); /* points into the old answer */
	live_answer_free(p->answer);
	p->answer = answer;
	picture_rank(p);
}

void picture_select(struct picture *p, uint32_t row)
{
	const struct tree_function *f;

	free(p->selected_name);
	free(p->selected_module);
	p->selected_name = p->selected_module = NULL;
	p->selected = row;
	if (!row || row >= p->ranking.nr_rows)
		return;
	f = p->ranking.rows[row].function;
	p->selected_name = xstrdup(f->name);
	p->selected_module = xstrdup(f->module);
}

bool picture_search(struct picture *p, bool backward)
{
	uint32_t nr = p->ranking.nr_rows;

	for (uint32_t i = 1; i <= nr && p->search; i++) {
		uint32_t row = (p->selected + (backward ? nr - i % nr : i)) % nr;

		if (strcasestr(p->ranking.rows[row].function->name, p->search)) {
			picture_select(p, row);
			return true;
		}
	}
	return false;
}
