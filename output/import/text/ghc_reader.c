/*
 * Reads the report of GHC's profiler, PROGRAM.prof, of `+RTS -p` and `+RTS -P`: the second of its
 * tables, a tree of cost centres, each with its share of the time and of the memory allocated, and
 * with -P how many ticks and bytes that is:
 *
 *	COST CENTRE MODULE SRC            no. entries %time %alloc %time %alloc ticks bytes
 *	MAIN        MAIN   <built-in>     168       0   2.6    0.0 100.0  100.0     5   456
 *	 main       Main   Main.hs:6:1-11 336       1  97.4  100.0  97.4  100.0   193  8300
 *
 * A tick is a sample. How often a cost centre was entered has no place in a profile.
 */
#include "output/import/importer.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buffer.h"
#include "core/base/log.h"
#include "core/profile/profile.h"
#include "output/import/input_file.h"
#include "output/import/named_frames.h"
#include "output/import/text/call_tree.h"
#include "output/tree/tree.h"

#define MAX_TICKS ((uint64_t)1 << 22) /* samples made; what is beyond becomes one sample each */

enum { NR_PERCENT = 6, NR_EXACT = 8 }; /* numbers of a row, without and with ticks and bytes */

struct reader {
	struct profile *p;
	const char *name;
	struct call_tree tree;
	bool in_tree, exact;
	double total_ticks, total_bytes; /* of the header */
	uint64_t tick_us, nr_ticks;
	double ns, bytes; /* so far */
	uint64_t nr_good, nr_bad;
};

/* "total time  =        0.02 secs   (23 ticks @ 1000 us, 1 processor)"; numbers have commas. */
static double number_after(const char *line, const char *mark)
{
	const char *at = strstr(line, mark);
	double number = 0;

	if (!at)
		return 0;
	for (at += strlen(mark); *at == ' ' || *at == ',' || isdigit((unsigned char)*at); at++)
		if (isdigit((unsigned char)*at))
			number = number * 10 + (*at - '0');
		else if (*at == ' ' && number > 0)
			break;
	return number;
}

static void read_header(struct reader *r, const char *line)
{
	const char *s = line + strspn(line, " \t");

	if (!strncmp(s, "total time", 10)) {
		double us = number_after(s, " @ ");

		r->total_ticks = number_after(s, "(");
		r->tick_us = us >= 1 && us <= 1e6 ? (uint64_t)us : 1000;
	} else if (!strncmp(s, "total alloc", 11)) {
		r->total_bytes = number_after(s, "=");
	} else if (strstr(s, " +RTS ") || strstr(s, "-RTS")) {
		r->p->meta.command = profile_cstring(r->p, s);
	} else if (!strncmp(s, "COST CENTRE", 11) && strstr(s, " no. ")) {
		r->in_tree = true;
		r->exact = strstr(s, " ticks ") != NULL;
	}
}

/* Cuts `nr` numbers off the end of the line; false if it does not end in as many. */
static bool take_numbers(char *line, size_t nr, double *numbers)
{
	size_t n = strlen(line);

	while (nr--) {
		size_t start;

		while (n && isspace((unsigned char)line[n - 1]))
			n--;
		for (start = n; start && strchr("0123456789.", line[start - 1]); start--)
			;
		if (start == n || !start || !isspace((unsigned char)line[start - 1]))
			return false;
		line[n] = '\0';
		numbers[nr] = strtod(line + start, NULL);
		n = start;
	}
	line[n] = '\0';
	return true;
}

/* "src/A.hs:95:11-83" or "src/A.hs:(108,1)-(120,56)"; "<built-in>" is no place. */
static void take_place(struct reader *r, const char *s, struct import_function *f)
{
	const char *colon = strstr(s, ".hs:");

	if (*s == '<' || !colon)
		return;
	colon += 3;
	f->file = profile_string(r->p, s, (size_t)(colon - s));
	f->start_line = (uint32_t)strtoul(colon + 1 + (colon[1] == '('), NULL, 10);
}

/* "Module.costCentre", as GHC writes a qualified name. */
static uint32_t frame_of(struct reader *r, char *row)
{
	struct import_function f = { .module = PROFILE_NONE };
	char *centre = strsep(&row, " \t"), *module;
	struct buffer name = { 0 };

	if (row)
		row += strspn(row, " \t");
	module = row ? strsep(&row, " \t") : NULL;
	if (row)
		take_place(r, row + strspn(row, " \t"), &f);
	buffer_printf(&name, "%s%s%s", module ? module : "", module && *module ? "." : "", centre);
	f.name = f.system_name = profile_cstring(r->p, buffer_cstring(&name));
	buffer_fini(&name);
	return import_frame(r->p, &f, 1);
}

static bool add_costs(struct reader *r, double ticks, double bytes)
{
	struct profile_sample s = { .thread = PROFILE_NONE, .column = COLUMN_CPU };
	double ns = ticks * (double)r->tick_us * 1e3, before = r->bytes;
	uint64_t nr = 0;

	if (!(ticks >= 0 && bytes >= 0 && r->ns + ns < (double)TREE_MAX_TOTAL &&
	      before + bytes < (double)TREE_MAX_TOTAL))
		return false;
	s.stack = call_tree_stack(&r->tree);
	s.weight = r->tick_us * 1000;
	nr = (uint64_t)llround(ticks);
	if (r->nr_ticks + nr > MAX_TICKS) {
		s.weight *= nr;
		nr = 1;
	}
	r->nr_ticks += nr;
	r->ns += ns;
	while (nr--)
		profile_add_sample(r->p, &s);
	r->bytes += bytes;
	s.column = COLUMN_ALLOCATED;
	s.weight = (uint64_t)(llround(r->bytes) - llround(before));
	if (s.weight)
		profile_add_sample(r->p, &s);
	return true;
}

/* A row of the tree; false if it is not one. */
static bool read_row(struct reader *r, char *line)
{
	double n[NR_EXACT];
	size_t depth = strspn(line, " ");

	if (!take_numbers(line, r->exact ? NR_EXACT : NR_PERCENT, n) || depth > r->tree.depth ||
	    !line[depth])
		return false;
	call_tree_enter(&r->tree, depth, frame_of(r, line + depth));
	if (r->exact)
		return add_costs(r, n[6], n[7]);
	return add_costs(r, n[2] / 100 * r->total_ticks, n[3] / 100 * r->total_bytes);
}

static bool read_line(void *reader, char *line)
{
	struct reader *r = reader;

	if (!r->in_tree)
		read_header(r, line);
	else if (line[strspn(line, " \t")])
		++*(read_row(r, line) ? &r->nr_good : &r->nr_bad);
	return true;
}

static int finish(struct reader *r)
{
	struct profile *p = r->p;

	if (!p->nr_samples || r->nr_bad > r->nr_good) {
		log_error(0, "read '%s': it is a report of GHC without costs in a tree", r->name);
		return -EINVAL;
	}
	import_left_out(r->name, "lines left out because GHC does not print such", r->nr_bad);
	if (!r->exact)
		log_warning("'%s': it has percentages only, so times and bytes are rounded "
			    "(+RTS -P prints them)",
			    r->name);
	p->meta.freq_hz = (uint32_t)((1000000 + r->tick_us / 2) / r->tick_us);
	import_describe(p, r->name, "GHC");
	return 0;
}

static int ghc_read(FILE *f, const char *name, const struct import_opts *opts,
		    struct profile **ret_profile)
{
	struct reader r = { .p = profile_new(), .name = name, .tick_us = 1000 };
	int err;

	(void)opts;
	r.tree.p = r.p;
	err = import_text(f, name, read_line, &r, &r.nr_bad);
	if (!err)
		err = finish(&r);
	call_tree_fini(&r.tree);
	return import_end(r.p, err, ret_profile);
}

/* The first line is the date and "Time and Allocation Profiling Report  (Final)". */
static bool ghc_is(const char *data, size_t size)
{
	const char *newline = memchr(data, '\n', size);
	size_t n = newline ? (size_t)(newline - data) : 0;

	return memmem(data, n, "Time and Allocation Profiling Report", 36);
}

const struct importer import_ghc = {
	.name = "GHC",
	.is = ghc_is,
	.read = ghc_read,
};
