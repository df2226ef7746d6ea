/*
 * The palette. In light mode boxes are light and caps are dark, in dark mode the reverse. All boxes
 * of code have the same lightness and so have all caps, so that no kind looks more important than
 * another. Threads are no code, and are paler.
 */
#include "output/flame/color.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "core/base/path.h"
#include "core/profile/profile.h"
#include "core/base/buffer.h"
#include "output/tree/tree.h"

enum { STEPS = 5, STEP_DEGREES = 3, WAIT_DEGREES = 7, TEXTURE = 8 };
enum { WAIT_LOCK = 0, WAIT_OTHER = 2 }; /* in wait_groups */

/* Colours of changes: steps of strength in each direction, and the hues in degrees. */
enum { LEVELS = 4, LESS_DEGREES = 212, MORE_DEGREES = 26 };

struct hue {
	char letter;
	short degrees;
	unsigned char saturation; /* percent, of the box; caps have more */
	const char *name;
};

static const struct hue hues[NR_FUNCTION_KINDS] = {
	[FUNCTION_NATIVE] = { 'n', 212, 62, "native" },
	[FUNCTION_KERNEL] = { 'k', 28, 68, "kernel" },
	[FUNCTION_JIT] = { 'j', 150, 46, "JIT" },
	[FUNCTION_MARKER] = { 'x', 0, 0, "incomplete stack" },
	[FUNCTION_THREAD] = { 't', 212, 12, "thread" },
	[FUNCTION_PYTHON] = { 'p', 92, 46, "Python" },
	[FUNCTION_GPU] = { 'g', 285, 52, "GPU" },
	[FUNCTION_RANGE] = { 'r', 335, 56, "range" },
	[FUNCTION_UNKNOWN] = { 'u', 0, 0, "unnamed" },
	[FUNCTION_WAIT] = { 'w', 264, 48, "waiting" },
};

/* Waits by what they are for: each group has a hue and a texture of its own. */
static const struct wait_group {
	const char *name, *texture; /* an SVG path in a square of TEXTURE pixels */
	const char *const *reasons;
} wait_groups[STEPS] = {
	{ "waiting: lock", "M-1 1l2-2M0 8l8-8M7 9l2-2",
	  (const char *const[]){ "lock wait", "kernel lock wait", "file lock wait", "GIL wait",
				 NULL } },
	{ "disk, pipe, socket", "M2 1v2M6 5v2",
	  (const char *const[]){ "pipe wait", "socket wait", "disk wait", "page fault",
				 "terminal wait", NULL } },
	{ "other wait", "M-1 7l2 2M0 0l8 8M7-1l2 2",
	  (const char *const[]){ "other wait", "child wait", "signal wait", "stopped", "GPU wait",
				 NULL } },
	{ "sleep, poll", "M0 2h8M0 6h8", (const char *const[]){ "sleep", "poll wait", NULL } },
	{ "wait for a CPU", "M2 0v8M6 0v8",
	  (const char *const[]){ "CPU wait", "preempted", "new thread", "throttled by its cgroup",
				 NULL } },
};

/* Reason, object and waker; more such frames in a row are only in files that others wrote. */
enum { WAIT_FRAMES = 8 };

/* -1: not the name of a reason. */
static int group_of_reason(const char *name)
{
	for (int i = 0; i < STEPS; i++)
		for (const char *const *reason = wait_groups[i].reasons; *reason; reason++)
			if (!strcmp(name, *reason))
				return i;
	return -1;
}

/* A name that is no reason is that of an object, as with --by lock. */
static int group_of_wait(const char *name)
{
	int group = group_of_reason(name);

	if (group >= 0)
		return group;
	return begins_with(name, "lock ") || !strcmp(name, "GIL") || !strcmp(name, "unknown lock")
		       ? WAIT_LOCK
		       : WAIT_OTHER;
}

/* Not a wait itself: the frames of another thread begin there. */
static bool joins_waits(const struct tree_function *f)
{
	return f->kind == FUNCTION_WAIT && !strcmp(f->name, WAITED_BEFORE);
}

static bool is_wait(const struct tree *tree, uint32_t node)
{
	const struct tree_function *f = tree_function_of(tree, node);

	return f->kind == FUNCTION_WAIT && !joins_waits(f);
}

/* The frame of a wait that is nearest to the root decides, as an object may have any name. */
static int wait_group_of(const struct tree *tree, uint32_t node)
{
	uint32_t top = node;

	for (int i = 0; i < WAIT_FRAMES && is_wait(tree, tree->nodes[top].parent); i++)
		top = tree->nodes[top].parent;
	return group_of_wait(tree_function_of(tree, top)->name);
}

/* A hash (FNV-1a) of the module, or of the name if there is none: the same on every machine. */
static unsigned step_of(const struct tree_function *f)
{
	const char *s = *f->module ? f->module : f->name;
	uint32_t h = 2166136261u;

	for (; *s; s++)
		h = (h ^ (unsigned char)*s) * 16777619u;
	return (h ^ h >> 16) % STEPS;
}

static void write_class(const struct tree_function *f, unsigned step,
			char ret_class[COLOR_NAME_SIZE])
{
	const struct hue *hue = &hues[f->kind < NR_FUNCTION_KINDS ? f->kind : FUNCTION_UNKNOWN];

	if (joins_waits(f)) {
		hue = &hues[FUNCTION_THREAD];
		step = STEPS / 2;
	}
	snprintf(ret_class, COLOR_NAME_SIZE, "%c%c", hue->letter, (char)('0' + step));
}

void color_class(const struct tree *tree, uint32_t node, char ret_class[COLOR_NAME_SIZE])
{
	const struct tree_function *f = tree_function_of(tree, node);

	if (f->kind == FUNCTION_WAIT)
		write_class(f, (unsigned)wait_group_of(tree, node), ret_class);
	else
		color_function_class(f, ret_class);
}

void color_function_class(const struct tree_function *f, char ret_class[COLOR_NAME_SIZE])
{
	const struct hue *hue = &hues[f->kind < NR_FUNCTION_KINDS ? f->kind : FUNCTION_UNKNOWN];
	unsigned step = hue->saturation && f->kind != FUNCTION_THREAD ? step_of(f) : STEPS / 2;

	if (f->kind == FUNCTION_WAIT)
		step = (unsigned)group_of_wait(f->name);
	write_class(f, step, ret_class);
}

bool color_is_reason(const struct tree_function *f)
{
	return f->kind == FUNCTION_WAIT && (group_of_reason(f->name) >= 0 || joins_waits(f));
}

/* One channel of HSL -> sRGB (CSS Color 4, section 7.1); n is 0, 8, 4 for red, green, blue. */
static unsigned channel(double n, double hue, double saturation, double lightness)
{
	double k = fmod(n + hue / 30, 12);
	double a = saturation * fmin(lightness, 1 - lightness);

	return (unsigned)lround(255 * (lightness - a * fmax(-1, fmin(fmin(k - 3, 9 - k), 1))));
}

static void add_color(struct buffer *b, double hue, double saturation, double lightness)
{
	hue = fmod(hue + 360, 360);
	buffer_printf(b, "#%02x%02x%02x", channel(0, hue, saturation, lightness),
		      channel(8, hue, saturation, lightness),
		      channel(4, hue, saturation, lightness));
}

struct ground {
	double box_lightness, box_saturation; /* saturation: a factor for that of the kind */
	double cap_lightness, cap_saturation;
	double thread_lightness;
};

/* The fill of a box; that of a wait is its texture, which is too fine for a slim box. */
static void add_fill(struct buffer *b, int kind, int step, double degrees, double saturation,
		     double lightness)
{
	const struct hue *h = &hues[kind];

	if (kind == FUNCTION_WAIT)
		buffer_printf(b,
			      ".%c%d{fill:url(#sprof-w%d)}.%c%d .s,.sprof .wf%d{fill:", h->letter,
			      step, step, h->letter, step, step);
	else
		buffer_printf(b, ".%c%d{fill:", h->letter, step);
	add_color(b, degrees, saturation, lightness);
	if (kind == FUNCTION_WAIT)
		buffer_printf(b, "}.%c%d,.sprof .wl%d{", h->letter, step, step);
	else
		buffer_add_char(b, ';');
}

static void add_rules(struct buffer *b, const struct ground *ground)
{
	for (int kind = 0; kind < NR_FUNCTION_KINDS; kind++) {
		const struct hue *h = &hues[kind];
		bool shifts = h->saturation && kind != FUNCTION_THREAD;
		int by = kind == FUNCTION_WAIT ? WAIT_DEGREES : STEP_DEGREES;

		for (int step = shifts ? 0 : STEPS / 2; step < (shifts ? STEPS : STEPS / 2 + 1);
		     step++) {
			double degrees = h->degrees + (step - STEPS / 2) * by;
			double saturation = h->saturation / 100.0;

			add_fill(b, kind, step, degrees, saturation * ground->box_saturation,
				 kind == FUNCTION_THREAD ? ground->thread_lightness
							 : ground->box_lightness);
			buffer_add_string(b, "color:");
			add_color(b, degrees, saturation * ground->cap_saturation,
				  ground->cap_lightness);
			buffer_add_string(b, "}\n");
		}
	}
}

void color_add_css(struct buffer *b)
{
	static const struct ground light = { 0.80, 1, 0.38, 1.2, 0.91 };
	static const struct ground dark = { 0.27, 0.62, 0.62, 1, 0.17 };

	add_rules(b, &light);
	buffer_add_string(b, "@media (prefers-color-scheme:dark){\n");
	add_rules(b, &dark);
	buffer_add_string(b, "}\n");
}

void color_change_class(char letter, int level, char ret_class[COLOR_NAME_SIZE])
{
	snprintf(ret_class, COLOR_NAME_SIZE, "%c%c", letter, (char)('0' + LEVELS + level));
}

/* The lightness by size of the change; larger changes have stronger colours. */
struct change_ground {
	double box[LEVELS + 1], cap[LEVELS + 1];
	double box_saturation, cap_saturation;
};

static void add_change_rules(struct buffer *b, const struct change_ground *ground)
{
	for (int level = -LEVELS; level <= LEVELS; level++) {
		int size = level < 0 ? -level : level;
		double hue = level < 0 ? LESS_DEGREES : MORE_DEGREES;

		buffer_printf(b, ".d%d{fill:", LEVELS + level);
		add_color(b, hue, size ? ground->box_saturation : 0, ground->box[size]);
		buffer_printf(b, "}.sprof .q%d{fill:", LEVELS + level);
		add_color(b, hue, size ? ground->cap_saturation : 0, ground->cap[size]);
		buffer_add_string(b, "}\n");
	}
}

void color_add_change_css(struct buffer *b)
{
	static const struct change_ground light = {
		{ .86, .87, .80, .73, .66 }, { .62, .55, .48, .42, .36 }, .85, .85
	};
	static const struct change_ground dark = {
		{ .24, .23, .27, .31, .35 }, { .48, .58, .64, .70, .76 }, .62, .90
	};

	add_change_rules(b, &light);
	buffer_add_string(b, "@media (prefers-color-scheme:dark){\n");
	add_change_rules(b, &dark);
	buffer_add_string(b, "}\n");
}

void color_add_textures(struct buffer *b)
{
	for (int i = 0; i < STEPS; i++)
		buffer_printf(b,
			      "<pattern id=\"sprof-w%d\" width=\"%d\" height=\"%d\" "
			      "patternUnits=\"userSpaceOnUse\"><path class=\"wf%d\" "
			      "d=\"M0 0h%dv%dH0z\"/><path class=\"wl wl%d\" d=\"%s\"/></pattern>",
			      i, TEXTURE, TEXTURE, i, TEXTURE, TEXTURE, i, wait_groups[i].texture);
}

void color_each_class(void (*f)(int kind, const char *class, const char *name, void *arg),
		      void *arg)
{
	for (int kind = 0; kind < NR_FUNCTION_KINDS; kind++) {
		char class[COLOR_NAME_SIZE] = { hues[kind].letter, '0' + STEPS / 2, '\0' };

		if (kind != FUNCTION_WAIT)
			f(kind, class, hues[kind].name, arg);
	}
	for (int i = 0; i < STEPS; i++) {
		char class[COLOR_NAME_SIZE] = { 'w', (char)('0' + i), '\0' };

		f(FUNCTION_WAIT, class, wait_groups[i].name, arg);
	}
}

bool color_has_class(const struct tree *tree, int kind, const char *class)
{
	const struct tree_functions *functions = &tree->functions;
	char is[COLOR_NAME_SIZE];
	size_t i = 1; /* after the root, which every tree has */

	while (i < functions->nr && functions->list[i].kind != kind)
		i++;
	if (i >= functions->nr || kind != FUNCTION_WAIT)
		return i < functions->nr;
	for (uint32_t node = 1; node < tree->nr_nodes; node++) {
		if (!is_wait(tree, node))
			continue;
		color_class(tree, node, is);
		if (!strcmp(is, class))
			return true;
	}
	/* In nodes that an outline leaves out, a reason is known by its name alone. */
	for (i = 1; tree->outline && i < functions->nr; i++)
		if (functions->list[i].kind == FUNCTION_WAIT &&
		    group_of_reason(functions->list[i].name) == class[1] - '0')
			return true;
	return false;
}
