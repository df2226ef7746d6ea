/*
 * ncurses draws the screen and writes only what changed. Giving the terminal back must also work in
 * a signal handler and while another thread draws, so it is done without ncurses, with settings and
 * escapes that were read at the beginning.
 */
#include "cli/top/screen.h"

#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#define NCURSES_NOMACROS 1
#include <ncurses.h>

#include "core/base/alloc.h"
#include "core/base/clean_text.h"
#include "core/base/log.h"
#include "core/rights/privileges.h"
#include "output/text/text.h"

/* Must be last, because it defines macros such as `columns`. */
#include <term.h>

enum { PAIR_CURVE = 1, PAIR_WARNING };

/* What is needed to give the terminal back. */
static struct {
	atomic_bool is_taken;
	struct termios settings;
	char escapes[256];
	size_t nr_escapes;
} terminal;

static bool unicode;
static SCREEN *screen;

/*
 * Has ncurses read only what the system knows of terminals where rights are borrowed: it would read
 * what the caller names, because it asks for user ids and not for capabilities. Returns $HOME where
 * it was taken away, else NULL.
 */
static char *hide_own_terminals(void)
{
	const char *home = getenv("HOME");
	char *kept;

	if (!privileges_are_borrowed())
		return NULL;
	kept = home ? xstrdup(home) : NULL;
	unsetenv("TERMINFO");
	unsetenv("TERMINFO_DIRS");
	unsetenv("HOME");
	return kept;
}

static void restore_home(char *home)
{
	if (home)
		setenv("HOME", home, 1);
	free(home);
}

static bool places_text(void)
{
	char *home = hide_own_terminals();
	int err = setupterm(NULL, STDOUT_FILENO, &(int){ 0 });

	restore_home(home);
	return !err && tigetstr("cup") && tigetstr("cup") != (char *)-1;
}

bool screen_is_possible(char *why, size_t why_size)
{
	const char *term = getenv("TERM");

	if (!isatty(STDOUT_FILENO) || !isatty(STDIN_FILENO)) {
		snprintf(why, why_size, "standard input and output are not both a terminal");
		return false;
	}
	if (!term || !*term || !strcmp(term, "dumb") || !places_text()) {
		snprintf(why, why_size, "the terminal '%.40s' cannot place text", term ? term : "");
		return false;
	}
	return true;
}

static void keep_escape(const char *name)
{
	const char *s = tigetstr(name);
	size_t size;

	if (!s || s == (char *)-1)
		return;
	size = strcspn(s, "$"); /* without $<2>, a delay for slow terminals */
	if (terminal.nr_escapes + size > sizeof(terminal.escapes))
		return;
	memcpy(terminal.escapes + terminal.nr_escapes, s, size);
	terminal.nr_escapes += size;
}

/* Async-signal-safe. */
static void give_back(void)
{
	if (!atomic_exchange(&terminal.is_taken, false))
		return;
	for (size_t at = 0; at < terminal.nr_escapes;) {
		ssize_t n = write(STDOUT_FILENO, terminal.escapes + at, terminal.nr_escapes - at);

		if (n <= 0 && errno != EINTR && errno != EAGAIN)
			break;
		at += n > 0 ? (size_t)n : 0;
	}
	tcsetattr(STDOUT_FILENO, TCSADRAIN, &terminal.settings);
}

/* SA_RESETHAND has restored the default, so raising the signal again ends sprof. */
static void on_crash(int signal)
{
	give_back();
	raise(signal);
}

static void catch_crashes(void)
{
	static const int crashes[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGQUIT };
	const struct sigaction a = { .sa_handler = on_crash, .sa_flags = (int)SA_RESETHAND };

	for (size_t i = 0; i < sizeof(crashes) / sizeof(*crashes); i++)
		sigaction(crashes[i], &a, NULL);
}

static void set_colors(void)
{
	const char *no_color = getenv("NO_COLOR");

	if ((no_color && *no_color) || !has_colors())
		return;
	start_color();
	use_default_colors(); /* keep the terminal's background, dark or light */
	/* 67 is a blue that is readable on black and on white; plain blue is not on black. */
	init_pair(PAIR_CURVE, COLORS >= 256 ? 67 : COLOR_CYAN, -1);
	init_pair(PAIR_WARNING, COLORS >= 256 ? 166 : COLOR_RED, -1);
}

int screen_begin(void)
{
	char *home;

	setlocale(LC_CTYPE, "");
	unicode = !strcmp(nl_langinfo(CODESET), "UTF-8");
	if (tcgetattr(STDOUT_FILENO, &terminal.settings)) {
		log_error(errno, "use the terminal");
		return -errno;
	}
	home = hide_own_terminals();
	screen = newterm(NULL, stdout, stdin);
	restore_home(home);
	if (!screen) {
		log_error(0, "use the terminal: ncurses does not know it");
		return -ENOTTY;
	}
	keep_escape("sgr0");
	keep_escape("cnorm");
	keep_escape("rmkx");
	keep_escape("rmcup");
	atomic_store(&terminal.is_taken, true);
	catch_crashes();
	atexit(give_back);
	signal(SIGTSTP, SIG_IGN); /* ^Z is a key here */
	raw();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	set_escdelay(25);
	set_colors();
	curs_set(0);
	return 0;
}

void screen_end(void)
{
	if (screen && atomic_exchange(&terminal.is_taken, false))
		endwin();
}

void screen_suspend(void)
{
	endwin();
	raise(SIGSTOP); /* raised by this thread, so that it stops at once and draws no more */
	clearok(curscr, TRUE);
	refresh();
	screen_resize();
}

void screen_resize(void)
{
	struct winsize size;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || !size.ws_row || !size.ws_col)
		return;
	if (size.ws_row != LINES || size.ws_col != COLS) {
		resizeterm(size.ws_row, size.ws_col);
		clearok(curscr, TRUE);
	}
}

void screen_redraw(void)
{
	clearok(curscr, TRUE);
}

bool screen_is_unicode(void)
{
	return unicode;
}

int screen_rows(void)
{
	return LINES;
}

int screen_columns(void)
{
	return COLS;
}

static attr_t attributes_of(enum screen_style style)
{
	switch (style) {
	case STYLE_TITLE: return A_BOLD;
	case STYLE_SELECTED: return A_REVERSE;
	case STYLE_WARNING: return A_BOLD | (attr_t)COLOR_PAIR(PAIR_WARNING);
	case STYLE_DIM: return A_DIM;
	case STYLE_CURVE: return (attr_t)COLOR_PAIR(PAIR_CURVE);
	case STYLE_PLAIN: break;
	}
	return A_NORMAL;
}

/* The attributes that an escape of a table ("\033[34m") stands for, and its length. */
static attr_t escape_of(const char *s, size_t n, size_t *ret_size)
{
	size_t end = 1;
	attr_t attributes = A_NORMAL;
	long number;

	while (end < n && s[end] != 'm')
		end++;
	*ret_size = end < n ? end + 1 : n;
	number = n > 2 && s[1] == '[' ? strtol(s + 2, NULL, 10) : 0;
	if (number == 1)
		attributes = A_BOLD;
	else if (number == 2)
		attributes = A_DIM;
	else if (number == 31)
		attributes = attributes_of(STYLE_WARNING);
	else if (number > 31 && number < 38)
		attributes = attributes_of(STYLE_CURVE);
	return attributes;
}

void screen_clear(void)
{
	erase();
}

/* Draws a piece without escapes. Without Unicode, letters that are not ASCII become '?'. */
static void add_piece(const char *s, size_t n)
{
	for (size_t i = 0; !unicode && i < n;) {
		size_t length;
		uint32_t c = text_decode(s + i, n - i, &length);

		addch(c < 0x7f && c >= 0x20 ? (chtype)c : '?');
		i += length;
	}
	if (unicode)
		addnstr(s, (int)n);
}

int screen_text(int row, int column, int width, enum screen_style style, const char *text,
		size_t size)
{
	attr_t base = attributes_of(style), own = A_NORMAL;
	int used = 0;

	if (row < 0 || row >= LINES || column >= COLS)
		return 0;
	width = width > COLS - column ? COLS - column : width;
	move(row, column);
	for (size_t at = 0, n; at < size && used < width; at += n) {
		const char *escape = memchr(text + at, '\033', size - at);
		size_t fits;

		if (text[at] == '\033') {
			own = escape_of(text + at, size - at, &n);
			continue;
		}
		n = escape ? (size_t)(escape - (text + at)) : size - at;
		fits = text_head(text + at, n, (size_t)(width - used));
		attrset(base | (style == STYLE_SELECTED ? own & A_BOLD : own));
		add_piece(text + at, fits);
		used += (int)text_columns(text + at, fits);
		if (fits < n)
			break;
	}
	attrset(base);
	for (; style == STYLE_SELECTED && used < width; used++)
		mvaddch(row, column + used, ' ');
	attrset(A_NORMAL);
	return used;
}

void screen_show(int row, int column)
{
	if (!atomic_load(&terminal.is_taken))
		return;
	curs_set(row >= 0);
	if (row >= 0)
		move(row, column);
	refresh();
}

int screen_key(void)
{
	static const struct {
		int theirs, ours;
	} keys[] = {
		{ KEY_UP, KEY_OF_UP },
		{ KEY_DOWN, KEY_OF_DOWN },
		{ KEY_LEFT, KEY_OF_LEFT },
		{ KEY_RIGHT, KEY_OF_RIGHT },
		{ KEY_PPAGE, KEY_OF_PAGE_UP },
		{ KEY_NPAGE, KEY_OF_PAGE_DOWN },
		{ KEY_HOME, KEY_OF_HOME },
		{ KEY_END, KEY_OF_END },
		{ KEY_BTAB, KEY_OF_BACK_TAB },
		{ KEY_BACKSPACE, KEY_OF_BACKSPACE },
		{ KEY_RESIZE, KEY_OF_RESIZE },
		{ KEY_ENTER, '\n' },
		{ '\r', '\n' },
		{ 0x7f, KEY_OF_BACKSPACE },
		{ '\b', KEY_OF_BACKSPACE },
	};
	struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };
	int key = getch();

	if (key == ERR) {
		/* A closed terminal is always readable, but has no keys. */
		if (poll(&input, 1, 0) > 0 && input.revents & (POLLHUP | POLLERR | POLLNVAL))
			return KEY_OF_CLOSED;
		return KEY_OF_NOTHING;
	}
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		if (keys[i].theirs == key)
			return keys[i].ours;
	return key < 0x100 ? key : KEY_OF_NOTHING;
}
