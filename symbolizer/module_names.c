/*
 * Takes the frames of one module through the chain of symbol sources. Each symbol is demangled and
 * made a function of the profile once.
 */
#include "symbolizer/module_names.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/order.h"
#include "symbolizer/function_cache.h"
#include "symbolizer/lookup/source_path.h"
#include "symbolizer/symbol_module.h"
#include "symbolizer/symbol_sources.h"

#define NR_SOURCES_MAX 16

struct open_source {
	const struct symbol_source *ops;
	void *state;
};

/* The state of symbolizing one module. */
struct run {
	struct profile *profile;
	uint32_t module;
	enum function_kind kind;
	struct open_source sources[NR_SOURCES_MAX];
	size_t nr_sources;
	struct function_cache functions;
	struct symbol_chain chain, outermost;
	struct profile_location *locations;
	size_t locations_capacity;
};

int wanted_name_compare(const void *a, const void *b)
{
	const struct wanted_name *x = a, *y = b;

	return ORDER(x->module, y->module) ?: ORDER(x->address, y->address);
}

/* Translates file offsets of ELF frames to link-time addresses, and drops frames that have none. */
static size_t translate(const struct elf_image *image, struct wanted_name *wants, size_t nr)
{
	bool sorted = true;
	size_t kept = 0;

	for (size_t i = 0; i < nr; i++) {
		if (!elf_image_vaddr(image, wants[i].address, &wants[kept].address))
			continue;
		wants[kept].module = wants[i].module;
		wants[kept].frame = wants[i].frame;
		sorted &= !kept || wants[kept - 1].address <= wants[kept].address;
		kept++;
	}
	if (!sorted) /* segments may be in another order in memory */
		qsort(wants, kept, sizeof(*wants), wanted_name_compare);
	return kept;
}

static uint64_t *addresses_of(const struct wanted_name *wants, size_t *nr)
{
	uint64_t *addresses = xcalloc(*nr, sizeof(*addresses));
	size_t kept = 0;

	for (size_t i = 0; i < *nr; i++) {
		if (!kept || addresses[kept - 1] != wants[i].address)
			addresses[kept++] = wants[i].address;
	}
	*nr = kept;
	return addresses;
}

static void open_sources(struct run *r, const struct symbol_module *module)
{
	r->nr_sources = 0;
	for (size_t i = 0; symbol_sources[i] && r->nr_sources < NR_SOURCES_MAX; i++) {
		const struct symbol_source *s = symbol_sources[i];
		void *state;

		if (!(s->kinds & 1u << module->kind))
			continue;
		state = s->open(module);
		if (state)
			r->sources[r->nr_sources++] = (struct open_source){ s, state };
	}
}

static void close_sources(struct run *r)
{
	while (r->nr_sources) {
		const struct open_source *s = &r->sources[--r->nr_sources];

		s->ops->close(s->state);
	}
}

/*
 * Returns whether the symbol table's name of the outermost function is better than DWARF's. It is
 * where DWARF has only the source's name ("part", not "shapes::part(int)"), and where the symbol is
 * a part or a clone of the function that DWARF means (name.cold). Otherwise DWARF is right: of
 * equal functions that the linker merged, the table may name any; and name.lto_priv.0 is the
 * function itself, renamed because another unit has one of that name.
 */
static bool symbol_is_better(const struct symbol_frame *dwarf, const char *symbol)
{
	static const char renamed[] = ".lto_priv.";
	size_t length = dwarf->name ? strlen(dwarf->name) : 0;
	const char *tail = symbol + length;

	if (!length || strncmp(symbol, dwarf->name, length))
		return !dwarf->is_linkage_name;
	if (strncmp(tail, renamed, sizeof(renamed) - 1))
		return true;
	tail += sizeof(renamed) - 1;
	return tail[strspn(tail, "0123456789")] != '\0';
}

/* Asks the sources in turn. Sets r->chain. */
static bool find_chain(struct run *r, uint64_t address)
{
	r->chain.nr = 0;
	for (size_t i = 0; i < r->nr_sources; i++) {
		const struct open_source *s = &r->sources[i];

		if (!r->chain.nr) {
			if (s->ops->lookup(s->state, address, &r->chain) && !s->ops->has_inlines)
				return true;
			continue;
		}
		if (s->ops->has_inlines) /* it is less precise than the one that answered */
			continue;
		r->outermost.nr = 0;
		if (s->ops->lookup(s->state, address, &r->outermost)) {
			if (r->outermost.frames[0].is_address)
				continue;
			if (symbol_is_better(&r->chain.frames[0], r->outermost.frames[0].name))
				r->chain.frames[0].name = r->outermost.frames[0].name;
			return true;
		}
	}
	return r->chain.nr && r->chain.frames[0].name;
}

/*
 * A location has no file of its own, so a line of another file than the function's would mislead.
 */
static uint32_t line_in_function(const struct symbol_frame *f)
{
	if (f->declared_file && f->file && f->declared_file != f->file &&
	    !source_path_same(f->declared_file, f->file))
		return 0;
	return f->line;
}

static void set_locations(struct run *r, uint32_t frame)
{
	size_t nr = 0;

	r->locations =
		xgrow(r->locations, &r->locations_capacity, r->chain.nr, sizeof(*r->locations));
	for (size_t i = 0; i < r->chain.nr; i++) {
		const struct symbol_frame *f = &r->chain.frames[i];

		if (!f->name)
			continue;
		r->locations[nr] = (struct profile_location){
			.function =
				function_cache_get(&r->functions, r->profile, r->module,
						   f->is_address ? FUNCTION_UNKNOWN : r->kind, f),
			.line = line_in_function(f),
			.inlined = nr > 0,
		};
		nr++;
	}
	profile_set_locations(r->profile, frame, r->locations, nr);
}

static size_t name_addresses(struct run *r, const struct wanted_name *wants, size_t nr)
{
	size_t named = 0;

	for (size_t i = 0; i < nr; i++) {
		if (!find_chain(r, wants[i].address))
			continue;
		set_locations(r, wants[i].frame);
		named += !r->chain.frames[0].is_address;
	}
	return named;
}

static enum function_kind function_kind_of(enum module_kind kind)
{
	return kind == MODULE_KERNEL ? FUNCTION_KERNEL
	       : kind == MODULE_JIT  ? FUNCTION_JIT
				     : FUNCTION_NATIVE;
}

size_t module_names_find(struct profile *p, uint32_t id, struct symbol_module *module,
			 struct wanted_name *wants, size_t nr)
{
	struct run r = { .profile = p, .module = id, .kind = function_kind_of(module->kind) };
	uint64_t *addresses;
	size_t named;

	if (module->kind == MODULE_ELF)
		nr = translate(module->image, wants, nr);
	module->nr_addresses = nr;
	addresses = addresses_of(wants, &module->nr_addresses);
	module->addresses = addresses;
	open_sources(&r, module);
	named = name_addresses(&r, wants, nr);
	close_sources(&r);
	function_cache_fini(&r.functions);
	free(r.chain.frames);
	free(r.outermost.frames);
	free(r.locations);
	free(addresses);
	module->addresses = NULL;
	return named;
}
