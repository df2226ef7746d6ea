/* Writes annotated functions as JSON, with one line or instruction per line of text. */

#include "core/base/buffer.h"
#include "core/profile/column.h"
#include "output/annotate/instructions.h"
#include "output/tree/summary.h"
#include "output/text/text.h"

enum { VERSION = 1 };

static void add_sum(struct buffer *b, const struct annotation_sum *sum)
{
	buffer_printf(b,
		      "\"self\": %llu, \"total\": %llu, \"self_events\": %llu, \"total_events\": "
		      "%llu",
		      (unsigned long long)sum->self, (unsigned long long)sum->total,
		      (unsigned long long)sum->self_samples,
		      (unsigned long long)sum->total_samples);
}

static void add_lines(struct buffer *b, const struct annotated *f, const struct annotations *all)
{
	for (size_t i = 0; i < f->lines->nr_lines; i++) {
		const struct annotation_line *l = &f->lines->lines[i];

		buffer_printf(b, "%s\n{\"level\": %u, \"function\": ", i ? "," : "", l->level);
		text_add_json(b, all->names.list[l->function].name);
		text_add_json_field(b, ", \"file\": ", l->file);
		buffer_printf(b, ", \"line\": %u, ", l->line);
		add_sum(b, &l->sum);
		buffer_add_char(b, '}');
	}
}

static void add_chain(struct buffer *b, const struct profile *p, uint32_t frame)
{
	const struct profile_frame *f = &p->frames[frame];

	for (uint32_t i = 0; i < f->nr_locations; i++) {
		const struct profile_location *l = &p->locations[f->first_location + i];
		const struct profile_function *g = &p->functions[l->function];

		text_add_json_field(
			b, i ? ", {\"function\": " : "{\"function\": ", profile_str(p, g->name));
		text_add_json_field(b, ", \"file\": ", profile_str(p, g->file));
		buffer_printf(b, ", \"line\": %u}", l->line);
	}
}

/* Writes every instruction of the function, with or without samples. */
static void add_code(struct buffer *b, const struct annotation_code *c,
		     const struct annotation_opts *opts)
{
	const struct profile *p = opts->profile;
	const char *separator = "";

	text_add_json_field(b, "{\"module\": ", profile_str(p, p->modules[c->module].path));
	buffer_add_string(b, ", \"instructions\": [");
	for (size_t i = 0; i < c->code.nr; i++) {
		const struct instruction *in = &c->code.list[i];

		if (!c->shown[i])
			continue;
		buffer_printf(b, "%s\n{\"address\": %llu, \"size\": %u, \"text\": ", separator,
			      (unsigned long long)(c->vaddr + in->offset), in->size);
		text_add_json(b, c->code.text.data + in->text);
		buffer_add_string(b, ", ");
		add_sum(b, &c->sums[i]);
		buffer_add_string(b, ", \"from\": [");
		add_chain(b, opts->places, c->frames[i]);
		buffer_add_string(b, "]}");
		separator = ",";
	}
	buffer_add_string(b, "]}");
}

static void add_function(struct buffer *b, const struct annotated *f,
			 const struct annotation_opts *opts)
{
	const struct tree_function *names = opts->all->names.list;
	const struct tree_function *g = &names[f->lines->function];

	text_add_json_field(b, "{\"function\": ", g->name);
	text_add_json_field(b, ", \"module\": ", g->module);
	text_add_json_field(b, ", \"file\": ", g->file);
	buffer_printf(b, ", \"start_line\": %u, ", g->line);
	add_sum(b, &f->lines->sum);
	buffer_add_string(b, ", \"lines\": [");
	add_lines(b, f, opts->all);
	buffer_add_string(b, "], \"code\": [");
	for (size_t i = 0; i < f->nr_codes; i++) {
		buffer_add_string(b, i ? ",\n" : "\n");
		add_code(b, &f->codes[i], opts);
	}
	text_add_json_field(b, "], \"problem\": ", f->problem ? f->problem : "");
	buffer_add_char(b, '}');
}

void annotation_write_json(struct buffer *b, const struct annotated *functions, size_t nr,
			   const struct summary *summary, const struct annotation_opts *opts)
{
	static const char *const units[] = {
		[UNIT_NS] = "ns", [UNIT_COUNT] = "count", [UNIT_BYTES] = "bytes"
	};

	buffer_printf(b, "{\n\"version\": %d,\n\"column\": ", VERSION);
	text_add_json(b, summary->info->name);
	buffer_printf(b,
		      ",\n\"unit\": \"%s\",\n\"total\": %llu,\n\"events\": %llu,\n\"lost\": %llu,",
		      units[summary->info->unit], (unsigned long long)summary->total,
		      (unsigned long long)summary->samples, (unsigned long long)summary->lost);
	buffer_add_string(b, "\n\"functions\": [");
	for (size_t i = 0; i < nr; i++) {
		buffer_add_string(b, i ? ",\n" : "\n");
		add_function(b, &functions[i], opts);
	}
	buffer_add_string(b, "\n]\n}\n");
}
