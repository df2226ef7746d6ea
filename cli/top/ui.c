/*
 * The thread sleeps until a key, a new answer or a message comes. It makes no table larger than the
 * screen and waits for nothing else, so it reacts to a key at once, however much is sampled.
 */
#include "cli/top/ui.h"

#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/top/draw.h"
#include "cli/top/picture.h"
#include "cli/top/screen.h"
#include "cli/top/thread.h"
#include "core/base/alloc.h"
#include "output/select/dimension.h"
#include "output/select/pattern.h"

enum { MAX_INPUT = 1024, CTRL_C = 3, CTRL_L = 12, CTRL_U = 21, CTRL_Z = 26, ESCAPE = 27 };

struct ui {
	struct model *model;
	pthread_t thread;
	atomic_bool ends;
	struct picture picture;
};

static const char *const views[] = { "function", "line", "module", "thread", "process" };

enum { NR_VIEWS = sizeof(views) / sizeof(*views) };

static void ask(struct ui *ui)
{
	model_ask(ui->model, &ui->picture.question);
}

static void open_prompt(struct picture *p, enum prompt prompt, const char *text)
{
	p->prompt = prompt;
	p->input.size = 0;
	buffer_add_string(&p->input, text ? text : "");
}

static void set_focus(struct ui *ui, const char *text)
{
	struct picture *p = &ui->picture;
	struct pattern pattern;

	if (*text) {
		if (pattern_init(&pattern, text, p->why, sizeof(p->why)))
			return;
		pattern_fini(&pattern);
	}
	free(p->question.focus);
	p->question.focus = *text ? xstrdup(text) : NULL;
	ask(ui);
}

static void search(struct picture *p, bool backward)
{
	if (!p->search)
		snprintf(p->why, sizeof(p->why), "/ searches a name");
	else if (!picture_search(p, backward))
		snprintf(p->why, sizeof(p->why), "no row has '%.100s' in its name", p->search);
}

static void take_input(struct ui *ui, const char *text)
{
	struct picture *p = &ui->picture;

	switch (p->prompt) {
	case PROMPT_FOCUS: set_focus(ui, text); break;
	case PROMPT_SEARCH:
		free(p->search);
		p->search = *text ? xstrdup(text) : NULL;
		search(p, false);
		break;
	case PROMPT_SAVE:
		if (*text)
			model_order(ui->model, ORDER_SAVE, text);
		break;
	case PROMPT_QUIT:
	case PROMPT_NONE: break;
	}
}

/* Removes the last letter, which may be several bytes. */
static void remove_letter(struct buffer *b)
{
	while (b->size && (b->data[b->size - 1] & 0xc0) == 0x80)
		b->size--;
	b->size -= b->size ? 1 : 0;
}

static void key_of_prompt(struct ui *ui, int key)
{
	struct picture *p = &ui->picture;

	if (p->prompt == PROMPT_QUIT) {
		if (key == 'e' || key == 'l')
			model_order(ui->model, key == 'e' ? ORDER_QUIT_END : ORDER_QUIT, NULL);
		p->prompt = PROMPT_NONE;
	} else if (key == ESCAPE || key == CTRL_C) {
		p->prompt = PROMPT_NONE;
	} else if (key == '\n') {
		take_input(ui, buffer_cstring(&p->input));
		p->prompt = PROMPT_NONE;
	} else if (key == KEY_OF_BACKSPACE) {
		remove_letter(&p->input);
	} else if (key == CTRL_U) {
		p->input.size = 0;
	} else if (key >= ' ' && key < 0x100 && p->input.size < MAX_INPUT) {
		buffer_add_char(&p->input, (char)key);
	}
}

/* Returns whether the key moves, and how far. */
static bool moves(int key, int64_t *ret)
{
	int64_t page = draw_page_rows();

	switch (key) {
	case 'k':
	case KEY_OF_UP: *ret = -1; return true;
	case 'j':
	case KEY_OF_DOWN: *ret = 1; return true;
	case KEY_OF_PAGE_UP: *ret = -page; return true;
	case KEY_OF_PAGE_DOWN: *ret = page; return true;
	case 'g':
	case KEY_OF_HOME: *ret = -(int64_t)UINT32_MAX; return true;
	case 'G':
	case KEY_OF_END: *ret = UINT32_MAX; return true;
	default: return false;
	}
}

static uint32_t moved(uint32_t from, int64_t by, int64_t last)
{
	int64_t to = from + by;

	to = to > last ? last : to;
	return to < 0 ? 0 : (uint32_t)to;
}

static void move_by(struct picture *p, int64_t by)
{
	if (p->page == PAGE_DETAIL) /* the number of lines is that of the last drawing */
		p->detail_top = moved(p->detail_top, by, (int64_t)p->nr_detail_lines - 1);
	else if (p->page == PAGE_HELP)
		p->help_top = moved(p->help_top, by, 16);
	else
		picture_select(p, moved(p->selected, by, (int64_t)p->ranking.nr_rows - 1));
}

static void set_view(struct ui *ui, size_t view)
{
	struct picture *p = &ui->picture;

	p->question.by = dimension_find(views[view]);
	picture_select(p, 0);
	p->top = 0;
	ask(ui);
}

static void step_view(struct ui *ui, size_t by)
{
	size_t view = 0;

	while (view < NR_VIEWS && strcmp(views[view], ui->picture.question.by->name))
		view++;
	set_view(ui, (view + by) % NR_VIEWS);
}

static void next_column(struct ui *ui)
{
	struct picture *p = &ui->picture;
	unsigned int column;

	if (!p->answer || !p->answer->rows.tree)
		return;
	column = p->answer->rows.tree->column;
	for (unsigned int i = 0; i < NR_COLUMNS; i++) {
		column = (column + 1) % NR_COLUMNS;
		if (p->answer->has_column[column])
			break;
	}
	if (column == p->answer->rows.tree->column)
		snprintf(p->why, sizeof(p->why), "there is no other column: see --clock and --gpu");
	p->question.column_given = true;
	p->question.column = (enum profile_column)column;
	ask(ui);
}

static void set_detail(struct ui *ui, enum live_detail detail)
{
	struct picture *p = &ui->picture;

	if (detail && p->page == PAGE_ROWS) {
		if (p->selected >= p->ranking.nr_rows)
			return;
		free(p->question.detail_name);
		p->question.detail_name = xstrdup(p->ranking.rows[p->selected].function->name);
	}
	p->page = detail ? PAGE_DETAIL : PAGE_ROWS;
	p->detail_top = p->nr_detail_lines = 0;
	p->question.detail = detail;
	ask(ui);
}

static void quit(struct ui *ui)
{
	struct picture *p = &ui->picture;

	if (p->opts->has_program && p->status.state == MODEL_SAMPLING)
		open_prompt(p, PROMPT_QUIT, NULL);
	else
		model_order(ui->model, ORDER_QUIT, NULL);
}

static bool key_of_rows(struct ui *ui, int key)
{
	struct picture *p = &ui->picture;

	switch (key) {
	case '\t': step_view(ui, 1); return true;
	case KEY_OF_BACK_TAB: step_view(ui, NR_VIEWS - 1); return true;
	case '1':
	case '2':
	case '3':
	case '4':
	case '5': set_view(ui, (size_t)(key - '1')); return true;
	case KEY_OF_RIGHT:
	case '\n': set_detail(ui, DETAIL_CALLEES); return true;
	case '/': open_prompt(p, PROMPT_SEARCH, NULL); return true;
	case 'n':
	case 'N': search(p, key == 'N'); return true;
	case 't':
		p->key = p->key == RANKING_SELF ? RANKING_TOTAL : RANKING_SELF;
		picture_rank(p);
		return true;
	default: return false;
	}
}

static bool key_of_detail(struct ui *ui, int key)
{
	enum live_detail now = ui->picture.question.detail;

	switch (key) {
	case '\t':
	case KEY_OF_BACK_TAB:
		set_detail(ui, now == DETAIL_CALLEES ? DETAIL_CALLERS : DETAIL_CALLEES);
		return true;
	case KEY_OF_LEFT:
	case KEY_OF_BACKSPACE:
	case '\n':
	case ESCAPE: set_detail(ui, DETAIL_NONE); return true;
	default: return false;
	}
}

static bool key_of_help(struct ui *ui, int key)
{
	struct picture *p = &ui->picture;
	bool leaves = key == 'q' || key == 'h' || key == '?' || key == ESCAPE || key == '\n';

	if (leaves)
		p->page = p->question.detail ? PAGE_DETAIL : PAGE_ROWS;
	return leaves;
}

/* Keys that do the same on every page. */
static void key_of_all(struct ui *ui, int key)
{
	struct picture *p = &ui->picture;

	switch (key) {
	case 'q':
	case CTRL_C: quit(ui); break;
	case 'h':
	case '?': p->page = PAGE_HELP; break;
	case ' ': model_pause(ui->model, !p->status.paused); break;
	case 'r': model_order(ui->model, ORDER_RESET, NULL); break;
	case 's': open_prompt(p, PROMPT_SAVE, "top.data"); break;
	case 'f': open_prompt(p, PROMPT_FOCUS, p->question.focus); break;
	case 'c': next_column(ui); break;
	case 'i':
		p->question.show_idle = !p->question.show_idle;
		ask(ui);
		break;
	case CTRL_L: screen_redraw(); break;
	case CTRL_Z: screen_suspend(); break;
	default: break;
	}
}

static void handle_key(struct ui *ui, int key)
{
	struct picture *p = &ui->picture;
	int64_t by;
	bool done;

	p->why[0] = '\0';
	if (key == KEY_OF_RESIZE)
		return; /* the picture is drawn again in any case */
	if (p->prompt) {
		key_of_prompt(ui, key);
		return;
	}
	if (p->page == PAGE_HELP)
		done = key_of_help(ui, key);
	else
		done = p->page == PAGE_DETAIL ? key_of_detail(ui, key) : key_of_rows(ui, key);
	if (!done && moves(key, &by))
		move_by(p, by);
	else if (!done)
		key_of_all(ui, key);
}

static void take_news(struct ui *ui)
{
	struct live_answer *answer;

	model_clear_wake(ui->model);
	model_status(ui->model, &ui->picture.status);
	answer = model_take(ui->model);
	if (answer)
		picture_set(&ui->picture, answer);
}

static void *run(void *context)
{
	struct ui *ui = context;
	struct pollfd fds[] = {
		{ .fd = STDIN_FILENO, .events = POLLIN },
		{ .fd = model_wake_fd(ui->model), .events = POLLIN },
	};

	while (!ui->ends) {
		int key;

		take_news(ui);
		draw(&ui->picture);
		if (poll(fds, 2, draw_next_ms(&ui->picture)) < 0 && errno != EINTR)
			break;
		screen_resize();
		model_status(ui->model, &ui->picture.status);
		while ((key = screen_key()) && key != KEY_OF_CLOSED)
			handle_key(ui, key);
		if (key == KEY_OF_CLOSED) {
			model_order(ui->model, ORDER_QUIT, NULL);
			break;
		}
	}
	return NULL;
}

int ui_start(struct model *model, const struct ui_opts *opts, struct ui **ret_ui)
{
	struct ui *ui = xcalloc(1, sizeof(*ui));
	int err;

	ui->model = model;
	picture_init(&ui->picture, opts);
	err = thread_start(&ui->thread, run, ui, true);
	if (!err) {
		*ret_ui = ui;
		return 0;
	}
	picture_fini(&ui->picture);
	free(ui);
	return err;
}

void ui_stop(struct ui *ui)
{
	if (!ui)
		return;
	ui->ends = true;
	model_wake(ui->model);
	pthread_join(ui->thread, NULL);
	picture_fini(&ui->picture);
	free(ui);
}
