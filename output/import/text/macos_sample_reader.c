/*
 * Reads the report of macOS's sample(1), as far as "Call graph:", a tree of functions with the
 * number of samples in which each was on the stack:
 *
 *	    825 Thread_15758523   DispatchQueue_1: com.apple.main-thread  (serial)
 *	    + 825 main  (in rg) + 41  [0x10384b549]  main.rs:12
 *	    +   618 read  (in libsystem_kernel.dylib) + 10  [0x7fff739051ee]
 *
 * What a function has beyond the functions below it is its own. The report says nothing of when a
 * sample was taken, and counts threads that wait as those that run.
 */
#include "output/import/importer.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/log.h"
#include "core/profile/profile.h"
#include "output/import/input_file.h"
#include "output/import/named_frames.h"
#include "output/import/text/call_tree.h"
#include "output/tree/tree.h"

enum { BASE_INDENT = 4, INDENT = 2 };

struct level {
	uint64_t samples, below; /* of the function; of those that it called */
	uint32_t stack;
};

struct reader {
	struct profile *p;
	const char *name;
	struct call_tree tree;
	struct level *levels; /* of the path to the last line, the thread first */
	size_t nr_levels, capacity;
	uint32_t pid, thread;
	bool in_graph;
	uint64_t total, nr_good, nr_bad;
};

/* Ends the functions deeper than `depth`: what is left of each is its own. */
static void leave(struct reader *r, size_t depth)
{
	while (r->nr_levels > depth) {
		const struct level *l = &r->levels[--r->nr_levels];
		struct profile_sample s = { .thread = r->thread,
					    .stack = l->stack,
					    .column = COLUMN_COUNT };

		s.weight = l->samples > l->below ? l->samples - l->below : 0;
		if (!s.weight)
			continue;
		if (s.weight >= TREE_MAX_TOTAL - r->total) {
			r->nr_bad++;
			continue;
		}
		r->total += s.weight;
		profile_add_sample(r->p, &s);
	}
}

static void enter(struct reader *r, uint64_t samples, uint32_t stack)
{
	if (r->nr_levels && r->levels[r->nr_levels - 1].below <= TREE_MAX_TOTAL)
		r->levels[r->nr_levels - 1].below += samples;
	r->levels = xgrow(r->levels, &r->capacity, r->nr_levels + 1, sizeof(*r->levels));
	r->levels[r->nr_levels++] = (struct level){ .samples = samples, .stack = stack };
}

/* "Thread_15758523   DispatchQueue_1: com.apple.main-thread  (serial)", "Thread_1: worker" */
static uint32_t thread_of(struct reader *r, const char *s)
{
	const char *name = strstr(s, ": "), *end;
	uint32_t tid = (uint32_t)strtoull(s + strlen("Thread_"), NULL, 10);

	name = name ? name + 2 : s;
	end = strstr(name, "  ");
	return profile_thread(
		r->p, r->pid, tid,
		profile_string(r->p, name, end ? (size_t)(end - name) : strlen(name)));
}

/* "main  (in rg) + 41  [0x10384b549]  main.rs:12"; a name may hold blanks and brackets. */
static uint32_t frame_of(struct reader *r, char *s)
{
	struct import_function f = { .module = PROFILE_NONE };
	char *in = strstr(s, "  (in "), *close = in ? strchr(in, ')') : NULL;
	char *source = in ? strstr(in, "]  ") : NULL, *colon = source ? strrchr(source, ':') : NULL;

	if (colon && colon > source + 3) {
		f.line = (uint32_t)strtoul(colon + 1, NULL, 10);
		f.file = profile_string(r->p, source + 3, (size_t)(colon - source - 3));
	}
	if (close) {
		*in = *close = '\0';
		if (strcmp(in + 6, "<unknown binary>"))
			f.module = import_module(r->p, in + 6, "", &f.kind);
	}
	if (!strcmp(s, "???"))
		return import_unnamed_frame(r->p, f.module, 0);
	f.name = f.system_name = profile_cstring(r->p, s);
	return import_frame(r->p, &f, 1);
}

/* A line of the call graph; false if it is not one. */
static bool read_row(struct reader *r, char *line)
{
	size_t indent = strspn(line, " +!:|"), depth;
	char *name;
	uint64_t samples;

	if (indent < BASE_INDENT || (indent - BASE_INDENT) % INDENT ||
	    !isdigit((unsigned char)line[indent]))
		return false;
	depth = (indent - BASE_INDENT) / INDENT;
	samples = strtoull(line + indent, &name, 10);
	if (*name != ' ' || depth > r->nr_levels || samples >= TREE_MAX_TOTAL)
		return false;
	name++;
	leave(r, depth);
	if (!depth) {
		r->thread = strncmp(name, "Thread_", 7) ? PROFILE_NONE : thread_of(r, name);
		enter(r, samples, profile_stack(r->p, NULL, 0));
	} else {
		call_tree_enter(&r->tree, depth - 1, frame_of(r, name));
		enter(r, samples, call_tree_stack(&r->tree));
	}
	return true;
}

/* "Analysis of sampling rg (pid 64751) every 1 millisecond", "Path:            /bin/rg" */
static void read_header(struct reader *r, const char *line)
{
	const char *pid = strstr(line, "(pid ");

	if (!strncmp(line, "Analysis of sampling ", 21) && pid)
		r->pid = (uint32_t)strtoul(pid + 5, NULL, 10);
	else if (!strncmp(line, "Path:", 5))
		r->p->meta.command = profile_cstring(r->p, line + 5 + strspn(line + 5, " \t"));
}

/* False at the end of the call graph. */
static bool read_line(void *reader, char *line)
{
	struct reader *r = reader;

	if (!r->in_graph) {
		read_header(r, line);
		r->in_graph = !strncmp(line, "Call graph:", 11);
		return true;
	}
	if (!*line || !strncmp(line, "Total number in stack", 21))
		return false;
	++*(read_row(r, line) ? &r->nr_good : &r->nr_bad);
	return true;
}

static int finish(struct reader *r)
{
	leave(r, 0);
	if (!r->p->nr_samples || r->nr_bad > r->nr_good) {
		log_error(0, "read '%s': it is a report of sample without a call graph", r->name);
		return -EINVAL;
	}
	import_left_out(r->name, "lines left out because sample does not print such", r->nr_bad);
	import_describe(r->p, r->name, "sample of macOS");
	return 0;
}

static int macos_sample_read(FILE *f, const char *name, const struct import_opts *opts,
			     struct profile **ret_profile)
{
	struct reader r = { .p = profile_new(), .name = name, .thread = PROFILE_NONE };
	int err;

	(void)opts;
	r.tree.p = r.p;
	err = import_text(f, name, read_line, &r, &r.nr_bad);
	if (!err)
		err = finish(&r);
	call_tree_fini(&r.tree);
	free(r.levels);
	return import_end(r.p, err, ret_profile);
}

static bool macos_sample_is(const char *data, size_t size)
{
	return size > 21 && !memcmp(data, "Analysis of sampling ", 21);
}

const struct importer import_macos_sample = {
	.name = "sample of macOS",
	.is = macos_sample_is,
	.read = macos_sample_read,
};
