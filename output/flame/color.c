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

#include "core/profile/profile.h"
#include "core/base/buffer.h"
#include "output/tree/functions.h"

enum { STEPS = 5, STEP_DEGREES = 3 };

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
	[FUNCTION_WAIT] = { 'w', 250, 44, "waiting" },
};

/* A hash (FNV-1a) of the module, or of the name if there is none: the same on every machine. */
static unsigned step_of(const struct tree_function *f)
{
	const char *s = *f->module ? f->module : f->name;
	uint32_t h = 2166136261u;

	for (; *s; s++)
		h = (h ^ (unsigned char)*s) * 16777619u;
	return (h ^ h >> 16) % STEPS;
}

void color_class(const struct tree_function *f, char ret_class[COLOR_NAME_SIZE])
{
	const struct hue *hue = &hues[f->kind < NR_FUNCTION_KINDS ? f->kind : FUNCTION_UNKNOWN];
	unsigned step = hue->saturation && f->kind != FUNCTION_THREAD ? step_of(f) : STEPS / 2;

	snprintf(ret_class, COLOR_NAME_SIZE, "%c%c", hue->letter, (char)('0' + step));
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

static void add_rules(struct buffer *b, const struct ground *ground)
{
	for (int kind = 0; kind < NR_FUNCTION_KINDS; kind++) {
		const struct hue *h = &hues[kind];
		bool shifts = h->saturation && kind != FUNCTION_THREAD;

		for (int step = shifts ? 0 : STEPS / 2; step < (shifts ? STEPS : STEPS / 2 + 1);
		     step++) {
			double degrees = h->degrees + (step - STEPS / 2) * STEP_DEGREES;
			double saturation = h->saturation / 100.0;

			buffer_printf(b, ".%c%d{fill:", h->letter, step);
			add_color(b, degrees, saturation * ground->box_saturation,
				  kind == FUNCTION_THREAD ? ground->thread_lightness
							  : ground->box_lightness);
			buffer_add_string(b, ";color:");
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

void color_each_kind(void (*f)(int kind, const char *class, const char *name, void *arg), void *arg)
{
	for (int kind = 0; kind < NR_FUNCTION_KINDS; kind++) {
		char class[COLOR_NAME_SIZE] = { hues[kind].letter, '0' + STEPS / 2, '\0' };

		f(kind, class, hues[kind].name, arg);
	}
}
