/*
 * Takes the frames of a profile through the chain of symbol sources, one module at a time, so that
 * only one module's tables are in memory. Each symbol is demangled and made a function of the
 * profile once.
 */
#include "symbolizer/symbolizer.h"

#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

#include "core/base/alloc.h"
#include "symbolizer/function_cache.h"
#include "symbolizer/lookup/source_path.h"
#include "symbolizer/symbol_module.h"
#include "symbolizer/symbol_sources.h"

#define NR_SOURCES_MAX 16
#define MATTERS_PART 100 /* a module with less than 1/100 of the addresses does not matter */

/* One frame to name. */
struct want {
	uint32_t module, frame;
	uint64_t address; /* ELF: the link-time address, once the module is open */
};

struct open_source {
	const struct symbol_source *ops;
	void *state;
};

/* The state of symbolizing one module. */
struct run {
	struct profile *profile;
	size_t nr_wants; /* of all modules */
	uint32_t module;
	enum function_kind kind;
	struct open_source sources[NR_SOURCES_MAX];
	size_t nr_sources;
	struct function_cache functions;
	struct symbol_chain chain, outermost;
	struct profile_location *locations;
	size_t locations_capacity;
};

static bool has_names(const struct profile_module *m)
{
	return m->kind == MODULE_ELF || m->kind == MODULE_VDSO || m->kind == MODULE_KERNEL ||
	       m->kind == MODULE_JIT;
}

static int compare_wants(const void *a, const void *b)
{
	const struct want *x = a, *y = b;

	if (x->module != y->module)
		return x->module < y->module ? -1 : 1;
	return (x->address > y->address) - (x->address < y->address);
}

static struct want *collect(const struct profile *p, size_t *ret_nr)
{
	struct want *wants = xcalloc(p->nr_frames, sizeof(*wants));
	size_t nr = 0;

	for (size_t i = 0; i < p->nr_frames; i++) {
		const struct profile_frame *f = &p->frames[i];

		if (f->nr_locations || !has_names(&p->modules[f->module]))
			continue;
		wants[nr++] = (struct want){ f->module, (uint32_t)i, f->address };
	}
	qsort(wants, nr, sizeof(*wants), compare_wants);
	*ret_nr = nr;
	return wants;
}

/*
 * Kernel addresses and perf maps have a meaning only on this machine and only since it booted: an
 * unfinished recording may be symbolized later.
 */
static bool recorded_here(const struct profile *p)
{
	struct timespec now, up;
	struct utsname host;
	uint64_t now_ns, up_ns;

	if (!p->meta.start_realtime_ns || uname(&host))
		return true;
	clock_gettime(CLOCK_REALTIME, &now);
	clock_gettime(CLOCK_BOOTTIME, &up);
	now_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
	up_ns = (uint64_t)up.tv_sec * 1000000000u + (uint64_t)up.tv_nsec;
	return p->meta.start_realtime_ns >= now_ns - up_ns &&
	       (!p->meta.hostname || !strcmp(profile_str(p, p->meta.hostname), host.nodename));
}

/* Translates file offsets of ELF frames to link-time addresses, and drops frames that have none. */
static size_t translate(const struct elf_image *image, struct want *wants, size_t nr)
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
		qsort(wants, kept, sizeof(*wants), compare_wants);
	return kept;
}

static uint64_t *addresses_of(const struct want *wants, size_t *nr)
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

		if (!(s->kinds & 1u << module->kind) ||
		    (s->has_inlines && module->opts->no_inlines))
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

static size_t name_addresses(struct run *r, const struct want *wants, size_t nr)
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

/* Names `nr` frames of one module. Returns how many got a name. */
static size_t run_module(struct run *r, struct want *wants, size_t nr,
			 const struct symbolizer_opts *opts)
{
	struct symbol_module module;
	uint64_t *addresses;
	size_t named;

	r->module = wants[0].module;
	if (symbol_module_init(&module, r->profile, r->module, nr >= r->nr_wants / MATTERS_PART,
			       opts))
		return 0;
	if (module.kind == MODULE_ELF)
		nr = translate(module.image, wants, nr);
	r->kind = function_kind_of(module.kind);
	module.nr_addresses = nr;
	addresses = addresses_of(wants, &module.nr_addresses);
	module.addresses = addresses;
	open_sources(r, &module);
	named = name_addresses(r, wants, nr);
	close_sources(r);
	function_cache_clear(&r->functions);
	free(addresses);
	symbol_module_fini(&module);
	return named;
}

void symbolizer_run(struct profile *p, const struct symbolizer_opts *opts,
		    struct symbolizer_stats *ret_stats)
{
	static const struct symbolizer_opts defaults;
	bool here = !(opts && opts->elsewhere) && recorded_here(p);
	struct run r = { .profile = p };
	struct want *wants;
	size_t nr, end, named = 0;

	wants = collect(p, &nr);
	r.nr_wants = nr;
	for (size_t at = 0; at < nr; at = end) {
		enum module_kind kind = p->modules[wants[at].module].kind;

		for (end = at + 1; end < nr && wants[end].module == wants[at].module;)
			end++;
		if (kind == MODULE_ELF || here)
			named += run_module(&r, wants + at, end - at, opts ? opts : &defaults);
	}
	free(wants);
	function_cache_fini(&r.functions);
	free(r.chain.frames);
	free(r.outermost.frames);
	free(r.locations);
	ret_stats->nr_frames = nr;
	ret_stats->nr_unnamed = nr - named;
}
