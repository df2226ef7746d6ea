/*
 * Finds the instructions around the addresses of samples. The function's bytes are read from the
 * sampled file and disassembled; each instruction becomes a frame of a second profile, `places`,
 * which the symbolizer fills with source lines.
 */
#include "cli/report/report_annotate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/input/load.h"
#include "cli/input/view.h"
#include "core/base/alloc.h"
#include "core/base/buffer.h"
#include "core/base/log.h"
#include "core/base/order.h"
#include "output/text/number.h"
#include "output/annotate/instructions.h"
#include "output/report/table.h"
#include "symbolizer/function_code.h"
#include "symbolizer/symbolizer.h"

enum { MAX_PLACES = 10 /* places where a function was inlined, to show */ };

/* A module whose code is needed. */
struct module_file {
	bool tried;
	int err;
	struct code_file *file;
	uint32_t place_module; /* the same module in `places` */
};

/* The addresses of an annotation that lie in one function of a file. */
struct piece {
	struct function_code code;
	const struct annotation_address *addresses;
	size_t nr;
	struct annotation_sum sum;
};

struct annotator {
	const struct view *v;
	const struct report_annotate_opts *o;
	struct profile *places;
	struct module_file *files; /* by module of the profile */
	struct disassembler *disassembler;
	struct annotated *functions;
	size_t nr_functions;
};

static struct module_file *file_of(struct annotator *a, uint32_t module)
{
	const struct profile *p = a->v->profile;
	struct module_file *f = &a->files[module];
	struct profile_module copy = p->modules[module];

	if (f->tried)
		return f;
	f->tried = true;
	f->err = code_file_open(p, module, &f->file);
	if (f->err)
		return f;
	copy.path = profile_cstring(a->places, profile_str(p, copy.path));
	f->place_module = profile_module(a->places, &copy);
	return f;
}

static void set_problem(struct annotated *f, char *problem)
{
	free(f->problem);
	f->problem = problem;
}

static void say_why(const struct annotator *a, struct annotated *f, uint32_t module, int err)
{
	const struct profile *p = a->v->profile;
	const char *path = profile_str(p, p->modules[module].path);

	switch (p->modules[module].kind) {
	case MODULE_ELF: break;
	case MODULE_PYTHON: return; /* these are not expected to have code in a file */
	case MODULE_NAMED:
		set_problem(f, xstrdup("the profile holds names, and no addresses of code"));
		return;
	default: set_problem(f, xasprintf("the code of %s is in no file", path)); return;
	}
	if (err == -ESTALE)
		set_problem(f, xasprintf("'%s' is no longer the file that was sampled", path));
	else if (err == -ENOTSUP)
		set_problem(f, xasprintf("'%s' holds no x86-64 code", path));
	else
		set_problem(f, xasprintf("cannot read '%s': %s", path, strerror(-err)));
}

/* Reads the functions in which the addresses of one module lie. */
static struct piece *read_pieces(struct annotator *a, struct annotated *f, size_t *ret_nr)
{
	const struct annotation *x = f->lines;
	struct piece *pieces = NULL;
	size_t nr = 0, capacity = 0;

	for (size_t i = 0; i < x->nr_addresses;) {
		const struct annotation_address *first = &x->addresses[i];
		struct module_file *file = file_of(a, first->module);
		struct piece piece = { .addresses = first };
		int err = file->err;

		if (!err)
			err = code_file_read(file->file, first->address, &piece.code);
		if (err) {
			say_why(a, f, first->module, err);
			i++;
			continue;
		}
		for (; i < x->nr_addresses && x->addresses[i].module == first->module &&
		       x->addresses[i].address - piece.code.address < piece.code.size;
		     i++, piece.nr++)
			annotation_sum_add(&piece.sum, &x->addresses[i].sum);
		pieces = xgrow(pieces, &capacity, nr + 1, sizeof(*pieces));
		pieces[nr++] = piece;
	}
	*ret_nr = nr;
	return pieces;
}

static int compare_pieces(const void *x, const void *y)
{
	const struct piece *a = x, *b = y;
	int order =
		ranking_order(RANKING_SELF, a->sum.self, a->sum.total, b->sum.self, b->sum.total);

	/* in the order of module and address */
	return order ?: ORDER(a->addresses, b->addresses);
}

static void make_code(struct annotator *a, const struct piece *piece, struct annotation_code *c)
{
	const struct module_file *file = &a->files[piece->addresses->module];

	*c = (struct annotation_code){
		.module = piece->addresses->module,
		.address = piece->code.address,
		.vaddr = piece->code.vaddr,
	};
	disassemble(a->disassembler, piece->code.bytes, piece->code.size, c->vaddr, &c->code);
	annotation_code_add_up(c, piece->addresses, piece->nr);
	c->frames = xcalloc(c->code.nr + 1, sizeof(*c->frames));
	c->targets = xcalloc(c->code.nr + 1, sizeof(*c->targets));
	for (size_t i = 0; i < c->code.nr; i++) {
		const struct instruction *in = &c->code.list[i];
		uint64_t address;

		c->frames[i] =
			profile_frame(a->places, file->place_module, c->address + in->offset);
		c->targets[i] = PROFILE_NONE;
		/* A target inside the function is shown as an offset, and needs no name. */
		if (in->target && in->target - c->vaddr - 1 >= piece->code.size - 1 &&
		    code_file_address(file->file, in->target, &address))
			c->targets[i] = profile_frame(a->places, file->place_module, address);
	}
}

static void find_code(struct annotator *a, struct annotated *f)
{
	struct piece *pieces;
	size_t nr;

	pieces = read_pieces(a, f, &nr);
	if (nr && !a->disassembler)
		a->disassembler = disassembler_open();
	if (nr && !a->disassembler)
		set_problem(f, xasprintf("%s is not installed", disassembler_library));
	if (nr)
		qsort(pieces, nr, sizeof(*pieces), compare_pieces);
	f->nr_codes = a->o->max_functions && nr > MAX_PLACES ? MAX_PLACES : nr;
	f->nr_more = nr - f->nr_codes;
	if (!a->disassembler)
		f->nr_codes = f->nr_more = 0;
	f->codes = xcalloc(f->nr_codes + 1, sizeof(*f->codes));
	for (size_t i = 0; i < nr; i++) {
		if (i < f->nr_codes)
			make_code(a, &pieces[i], &f->codes[i]);
		free(pieces[i].code.bytes);
	}
	free(pieces);
}

static void name_places(struct annotator *a)
{
	struct symbolizer_stats stats;

	symbolizer_run(a->places, NULL, &stats);
	for (size_t i = 0; i < a->nr_functions; i++) {
		struct annotated *f = &a->functions[i];

		for (size_t k = 0; k < f->nr_codes; k++)
			annotation_code_choose(&f->codes[k], a->places, f->lines->plain);
	}
}

static void write_all(struct buffer *b, const struct annotator *a, const struct annotations *all)
{
	const struct profile_meta *meta = &a->v->profile->meta;
	const struct annotation_opts opts = {
		.profile = a->v->profile,
		.places = a->places,
		.all = all,
		.columns = a->o->terminal.columns,
		.unicode = a->o->terminal.unicode,
		.color = a->o->terminal.color,
		.recorded_ns = meta->start_realtime_ns
				       ? meta->start_realtime_ns + a->v->summary.duration_ns
				       : 0,
	};

	if (a->o->json) {
		annotation_write_json(b, a->functions, a->nr_functions, &a->v->summary, &opts);
		return;
	}
	table_add_head(b, &a->v->summary);
	for (size_t i = 0; i < a->nr_functions; i++) {
		buffer_add_string(b, i ? "\n" : "");
		annotation_write(b, &a->functions[i], &a->v->summary, &opts);
	}
	if (all->nr > a->nr_functions) {
		buffer_add_char(b, '\n');
		number_add_more(b, all->nr - a->nr_functions, "function", "functions");
	}
}

static void fini(struct annotator *a)
{
	for (size_t i = 0; i < a->nr_functions; i++) {
		for (size_t k = 0; k < a->functions[i].nr_codes; k++)
			annotation_code_fini(&a->functions[i].codes[k]);
		free(a->functions[i].codes);
		free(a->functions[i].problem);
	}
	for (size_t i = 0; i < a->v->profile->nr_modules; i++)
		code_file_close(a->files[i].file);
	disassembler_close(a->disassembler);
	free(a->functions);
	free(a->files);
	profile_free(a->places);
}

int report_annotate(struct buffer *b, const struct view *v, const struct report_annotate_opts *o)
{
	struct annotator a = { .v = v, .o = o, .places = profile_new() };
	struct annotations all;
	int err = 0;

	annotations_init(&all, v->profile, v->summary.column, o->pattern, o->key);
	a.files = xcalloc(v->profile->nr_modules + 1, sizeof(*a.files));
	a.nr_functions = o->max_functions && all.nr > o->max_functions ? o->max_functions : all.nr;
	a.functions = xcalloc(a.nr_functions + 1, sizeof(*a.functions));
	for (size_t i = 0; i < a.nr_functions; i++) {
		a.functions[i].lines = &all.list[i];
		find_code(&a, &a.functions[i]);
	}
	name_places(&a);
	if (all.nr || o->json) {
		write_all(b, &a, &all);
	} else {
		log_error(0, "annotate '%s': no sample lies in a function of that name",
			  o->input ? o->input : LOAD_DEFAULT_PATH);
		log_hint("sprof report -n 0 lists the functions");
		err = -ENODATA;
	}
	fini(&a);
	annotations_fini(&all);
	return err;
}
