/*
 * Writes everything a profile holds as JSON, one entry of a table per line; docs/export-json.md
 * describes it. Entries refer to others by index. Samples are many, so each of their fields is one
 * array.
 */
#include "output/export/exporter.h"

#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/base/buffer.h"
#include "core/profile/column.h"
#include "core/profile/hosts.h"
#include "output/codec/column_units.h"
#include "output/tree/naming.h"
#include "output/tree/ranking.h"
#include "output/text/text.h"

enum { VERSION = 2 };

struct writer {
	const struct profile *p;
	struct buffer *b;
	struct tree_functions names;
	uint32_t *stack_numbers; /* by stack: its index in the file + 1, 0 = has no sample */
};

static void add_field(struct buffer *b, const char *key, const char *text)
{
	buffer_printf(b, "\"%s\": ", key);
	text_add_json(b, text);
	buffer_add_string(b, ", ");
}

static void add_head(struct writer *w)
{
	const struct profile_meta *m = &w->p->meta;
	bool present[NR_COLUMNS];
	const char *separator = "";

	buffer_printf(w->b, "{\n\"format\": \"sprof profile\", \"version\": %d,\n", VERSION);
	add_field(w->b, "command", profile_str(w->p, m->command));
	add_field(w->b, "hostname", profile_str(w->p, m->hostname));
	add_field(w->b, "source", profile_str(w->p, m->source));
	add_field(w->b, "event", profile_str(w->p, m->event));
	buffer_printf(w->b, "\n\"frequency\": %u, \"start_realtime_ns\": %llu, ", m->freq_hz,
		      (unsigned long long)m->start_realtime_ns);
	buffer_printf(w->b, "\"start_ns\": %llu, \"end_ns\": %llu, ",
		      (unsigned long long)m->start_ns, (unsigned long long)m->end_ns);
	buffer_printf(w->b, "\"lost\": %llu, \"unfinished\": %s,\n\"columns\": [",
		      (unsigned long long)w->p->stats.nr_lost, m->unfinished ? "true" : "false");
	columns_present(w->p, present);
	for (unsigned int c = 0; c < NR_COLUMNS; c++) {
		if (!present[c])
			continue;
		buffer_printf(w->b, "%s{\"name\": \"%s\", \"unit\": \"%s\"}", separator,
			      column_info_of(w->p, c)->name, export_column_unit(c));
		separator = ", ";
	}
	buffer_add_string(w->b, "],\n");
}

static void add_functions(struct writer *w)
{
	buffer_add_string(w->b, "\"functions\": [");
	for (size_t i = 0; i < w->names.nr; i++) {
		const struct tree_function *f = &w->names.list[i];

		buffer_add_string(w->b, i ? ",\n{" : "\n{");
		add_field(w->b, "name", f->name);
		add_field(w->b, "module", f->module);
		add_field(w->b, "file", f->file);
		buffer_printf(w->b, "\"line\": %u, \"kind\": \"%s\"}", f->line,
			      ranking_kind_name(f->kind));
	}
	buffer_add_string(w->b, "\n],\n");
}

static void add_threads(struct writer *w)
{
	buffer_add_string(w->b, "\"threads\": [");
	for (size_t i = 0; i < w->p->nr_threads; i++) {
		const struct profile_thread *t = &w->p->threads[i];

		buffer_add_string(w->b, i ? ",\n{" : "\n{");
		add_field(w->b, "name", profile_str(w->p, t->comm));
		if (w->p->has_hosts)
			add_field(w->b, "host", hosts_name(w->p, hosts_process(t)));
		buffer_printf(w->b, "\"pid\": %u, \"tid\": %u}", t->pid, t->tid);
	}
	buffer_add_string(w->b, "\n],\n");
}

/* Writes [function, line, inlined] of each frame, root first. */
static void add_stack(struct writer *w, const struct profile_stack *s)
{
	struct naming_walk at = { .p = w->p, .names = &w->names, .stack = s };
	const char *separator = "[";

	while (naming_next(&at)) {
		buffer_printf(w->b, "%s[%u, %u, %d]", separator, FRAME_FUNCTION(at.code), at.line,
			      (at.code & CODE_INLINED) != 0);
		separator = ", ";
	}
	buffer_add_string(w->b, *separator == '[' ? "[]" : "]");
}

static void add_stacks(struct writer *w)
{
	uint32_t nr = 0;

	buffer_add_string(w->b, "\"stacks\": [");
	for (size_t i = 0; i < w->p->nr_samples; i++)
		w->stack_numbers[w->p->samples[i].stack] = 1;
	for (size_t i = 0; i < w->p->nr_stacks; i++) {
		if (!w->stack_numbers[i])
			continue;
		buffer_add_string(w->b, nr ? ",\n" : "\n");
		add_stack(w, &w->p->stacks[i]);
		w->stack_numbers[i] = ++nr;
	}
	buffer_add_string(w->b, "\n],\n");
}

enum field { TIME, CPU, THREAD, STACK, COLUMN, WEIGHT, NR_FIELDS };

static void add_value(struct writer *w, enum field field, const struct profile_sample *s)
{
	switch (field) {
	case TIME: buffer_add_u64(w->b, s->time_ns); break;
	case CPU: buffer_add_u64(w->b, s->cpu); break;
	case THREAD:
		if (s->thread == PROFILE_NONE)
			buffer_add_string(w->b, "null");
		else
			buffer_add_u64(w->b, s->thread);
		break;
	case STACK: buffer_add_u64(w->b, w->stack_numbers[s->stack] - 1); break;
	case COLUMN: buffer_printf(w->b, "\"%s\"", column_info_of(w->p, s->column)->name); break;
	case WEIGHT: buffer_add_u64(w->b, s->weight); break;
	case NR_FIELDS: break;
	}
}

static void add_samples(struct writer *w)
{
	static const char *const names[NR_FIELDS] = { "time_ns", "cpu",	   "thread",
						      "stack",	 "column", "weight" };

	buffer_add_string(w->b, "\"samples\": {");
	for (int f = 0; f < NR_FIELDS; f++) {
		buffer_printf(w->b, "%s\n\"%s\": [", f ? "," : "", names[f]);
		for (size_t i = 0; i < w->p->nr_samples; i++) {
			if (i)
				buffer_add_char(w->b, ',');
			add_value(w, f, &w->p->samples[i]);
		}
		buffer_add_char(w->b, ']');
	}
	buffer_add_string(w->b, "\n}\n}\n");
}

static int write_json(struct buffer *b, const struct profile *p)
{
	struct writer w = { .p = p, .b = b };

	naming_init(&w.names, p);
	w.stack_numbers = xcalloc(p->nr_stacks + 1, sizeof(*w.stack_numbers));
	add_head(&w);
	add_functions(&w);
	add_threads(&w);
	add_stacks(&w);
	add_samples(&w);
	free(w.stack_numbers);
	tree_functions_fini(&w.names);
	return 0;
}

const struct exporter export_json = {
	.name = "json",
	.suffix = ".json",
	.help = "programs of your own: every sample, docs/export-json.md",
	.write = write_json,
};
