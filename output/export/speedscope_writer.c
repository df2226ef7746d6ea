/*
 * Writes speedscope's JSON (https://www.speedscope.app/file-format-schema.json): one "sampled"
 * profile per thread and column, its samples in order of time. Objects "sprof", which speedscope
 * ignores, hold what the format has no field for, so that an import restores it: { kind, module,
 * inlined } of a frame, { column, pid, tid, thread } of a profile.
 */
#include "output/export/exporter.h"

#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/base/buffer.h"
#include "core/profile/column.h"
#include "core/profile/hosts.h"
#include "core/profile/profile.h"
#include "output/codec/column_units.h"
#include "output/tree/naming.h"
#include "output/tree/ranking.h"
#include "output/text/text.h"
#include "output/export/thread_tracks.h"

/* The file has one frame for a function, and another for the function when it was inlined. */
static uint32_t frame_of(uint32_t code)
{
	return FRAME_FUNCTION(code) * 2 + (code & CODE_INLINED ? 1 : 0);
}

struct writer {
	const struct profile *p;
	struct buffer *b;
	struct tree_functions names;
	const char **paths; /* by function: the full path of its module */
	uint32_t *number;   /* by frame_of(): index in the file + 1, 0 = not used */
};

static void add_frame(struct writer *w, uint32_t function, bool inlined)
{
	const struct tree_function *f = &w->names.list[function];
	struct buffer *b = w->b;

	text_add_json_field(b, "{\"name\":", f->name);
	if (*f->file)
		text_add_json_field(b, ",\"file\":", f->file);
	if (f->line)
		buffer_printf(b, ",\"line\":%u", f->line);
	buffer_printf(b, ",\"sprof\":{\"kind\":\"%s\"", ranking_kind_name(f->kind));
	if (*f->module)
		text_add_json_field(
			b, ",\"module\":", w->paths[function] ? w->paths[function] : f->module);
	buffer_add_string(b, inlined ? ",\"inlined\":true}}" : "}}");
}

static void find_paths(struct writer *w)
{
	const struct profile *p = w->p;

	w->paths = xcalloc(w->names.nr, sizeof(*w->paths));
	for (size_t i = 0; i < p->nr_frames; i++) {
		const struct profile_frame *f = &p->frames[i];

		for (size_t j = w->names.first[i]; j < w->names.first[i + 1]; j++) {
			uint32_t module = f->module, at = (uint32_t)(j - w->names.first[i]);

			if (f->nr_locations)
				module = p->functions[p->locations[f->first_location + at].function]
						 .module;
			if (module != PROFILE_NONE)
				w->paths[FRAME_FUNCTION(w->names.codes[j])] =
					profile_str(p, p->modules[module].path);
		}
	}
}

/* Frames are numbered in the order of names, so equal profiles give equal files. */
static void add_frames(struct writer *w)
{
	bool *used = naming_frames_used(w->p);
	uint32_t nr = 0;

	for (size_t i = 0; i < w->p->nr_frames; i++)
		for (size_t j = w->names.first[i]; used[i] && j < w->names.first[i + 1]; j++)
			w->number[frame_of(w->names.codes[j])] = 1;
	free(used);
	buffer_add_string(w->b, "\"shared\":{\"frames\":[");
	for (uint32_t i = 0; i < w->names.nr * 2; i++) {
		if (!w->number[i])
			continue;
		buffer_add_string(w->b, nr ? ",\n" : "\n");
		add_frame(w, i / 2, i % 2);
		w->number[i] = ++nr;
	}
	buffer_add_string(w->b, "\n]}");
}

static void add_stack(struct writer *w, uint32_t stack)
{
	struct naming_walk at = { .p = w->p, .names = &w->names, .stack = &w->p->stacks[stack] };
	const char *separator = "";

	buffer_add_char(w->b, '[');
	while (naming_next(&at)) {
		buffer_add_string(w->b, separator);
		buffer_add_u64(w->b, w->number[frame_of(at.code)] - 1);
		separator = ",";
	}
	buffer_add_char(w->b, ']');
}

/* The name in speedscope's list of profiles: "python (pid 12, tid 13) cpu". */
static void add_names(struct writer *w, const struct track *t)
{
	struct buffer name = { 0 };
	const char *column = column_info_of(w->p, t->column)->name;

	if (t->thread != PROFILE_NONE) {
		const struct profile_thread *thread = &w->p->threads[t->thread];

		buffer_printf(&name, "%s (pid %u, tid %u%s%s) ", profile_str(w->p, thread->comm),
			      thread->pid, thread->tid, hosts_joint(t->host), t->host);
	}
	buffer_add_string(&name, column);
	text_add_json_field(w->b, "\"name\":", buffer_cstring(&name));
	buffer_fini(&name);
	buffer_printf(w->b, ",\"sprof\":{\"column\":\"%s\"", column);
	if (t->thread != PROFILE_NONE) {
		const struct profile_thread *thread = &w->p->threads[t->thread];

		buffer_printf(w->b, ",\"pid\":%u,\"tid\":%u,\"thread\":", t->pid, thread->tid);
		text_add_json(w->b, profile_str(w->p, thread->comm));
	}
	buffer_add_char(w->b, '}');
}

/* speedscope knows units of time and of memory; anything else is "none". */
static const char *unit_of(const struct track *t)
{
	const char *unit = export_column_unit(t->column);

	return unit[0] == 'c' ? "none" : unit;
}

static void add_track(struct writer *w, const struct timeline *timeline, const struct track *t)
{
	buffer_add_string(w->b, "\n{\"type\":\"sampled\",");
	add_names(w, t);
	buffer_printf(w->b, ",\"unit\":\"%s\",\"startValue\":0,\"endValue\":", unit_of(t));
	buffer_add_u64(w->b, t->total);
	buffer_add_string(w->b, ",\n\"samples\":[");
	for (size_t i = 0; i < t->nr; i++) {
		buffer_add_string(w->b, i ? ",\n" : "\n");
		add_stack(w, w->p->samples[timeline->samples[t->first + i]].stack);
	}
	buffer_add_string(w->b, "\n],\n\"weights\":[");
	for (size_t i = 0; i < t->nr; i++) {
		if (i)
			buffer_add_char(w->b, ',');
		buffer_add_u64(w->b, w->p->samples[timeline->samples[t->first + i]].weight);
	}
	buffer_add_string(w->b, "]}");
}

/* The first profile to show: the one with most samples. */
static size_t busiest(const struct timeline *t)
{
	size_t best = 0;

	for (size_t i = 1; i < t->nr_tracks; i++)
		if (t->tracks[i].nr > t->tracks[best].nr)
			best = i;
	return best;
}

static int write_speedscope(struct buffer *b, const struct profile *p)
{
	struct writer w = { .p = p, .b = b };
	struct timeline timeline;
	int err = timeline_init(&timeline, p);

	if (err)
		return err;
	naming_init(&w.names, p);
	find_paths(&w);
	w.number = xcalloc(w.names.nr * 2 + 1, sizeof(*w.number));
	text_add_json_field(b,
			    "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n"
			    "\"exporter\":\"sprof@" SPROF_VERSION "\",\n\"name\":",
			    profile_str(p, p->meta.command));
	buffer_printf(b, ",\n\"activeProfileIndex\":%zu,\n", busiest(&timeline));
	add_frames(&w);
	buffer_add_string(b, ",\n\"profiles\":[");
	for (size_t i = 0; i < timeline.nr_tracks; i++) {
		if (i)
			buffer_add_char(b, ',');
		add_track(&w, &timeline, &timeline.tracks[i]);
	}
	buffer_add_string(b, "\n]}\n");
	free(w.number);
	free(w.paths);
	tree_functions_fini(&w.names);
	timeline_fini(&timeline);
	return 0;
}

const struct exporter export_speedscope = {
	.name = "speedscope",
	.suffix = ".speedscope.json",
	.help = "speedscope.app; a profile per thread",
	.write = write_speedscope,
};
