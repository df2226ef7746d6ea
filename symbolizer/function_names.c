/*
 * Scans the symbol tables of the file and of its debug file in their own order. Demangling every
 * symbol would take seconds, so each glob has a word that a fitting name must contain; elf_symbols
 * chooses the name to show for an address.
 */
#include "symbolizer/function_names.h"

#include <ctype.h>
#include <elf.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/order.h"
#include "symbolizer/lookup/demangle.h"
#include "symbolizer/lookup/elf_symbols.h"
#include "symbolizer/lookup/symbol_source.h"

struct search {
	const struct elf_image *code;
	const char *const *globs;
	char **words; /* by glob: the text that a fitting mangled name contains */
	size_t nr_globs;
	struct named_function *found;
	size_t nr, capacity;
};

/*
 * Returns "a::f" of "a::f(int, char) const": the name up to its last list of parameters; to free().
 */
static char *without_parameters(const char *name)
{
	const char *end = strrchr(name, ')');
	size_t open = 0;

	for (const char *at = end; at && at > name; at--) {
		open += *at == ')';
		open -= *at == '(';
		/* "operator()" and "(anonymous namespace)" are not lists of parameters. */
		if (!open && at != name && strncmp(at, "(anonymous namespace)", 21) != 0)
			return strndup(name, (size_t)(at - name));
	}
	return xstrdup(name);
}

/*
 * Returns the last component of a glob, or "" where that is a pattern or an operator. Every name
 * that fits contains it, mangled or not. Demangling half a million names only to reject them takes
 * seconds.
 */
static char *own_name(const char *glob)
{
	size_t end = strcspn(glob, "("), start;

	for (start = end;
	     start && (isalnum((unsigned char)glob[start - 1]) || glob[start - 1] == '_');)
		start--;
	return strndup(glob + start, end - start);
}

/* Returns the first glob that fits, or nr_globs. */
static size_t find_glob(const struct search *s, const char *name)
{
	char *readable = NULL, *bare = NULL;
	size_t i;

	for (i = 0; i < s->nr_globs; i++) {
		if (!strstr(name, s->words[i]))
			continue;
		if (!readable) {
			readable = demangle(name);
			readable = readable ? readable : xstrdup(name);
			bare = without_parameters(readable);
		}
		if (!fnmatch(s->globs[i], name, 0) || !fnmatch(s->globs[i], readable, 0) ||
		    !fnmatch(s->globs[i], bare, 0))
			break;
	}
	free(bare);
	free(readable);
	return i;
}

/*
 * Returns the cheapest place for a probe: the kernel single-steps an endbr64 out of line but
 * emulates a push. A push behind the endbr64 is reached only through it.
 */
static uint64_t probe_offset(const struct elf_image *code, uint64_t offset)
{
	static const uint8_t endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	uint8_t bytes[6];

	if (elf_source_read(&code->source, offset, bytes, sizeof(bytes)) ||
	    memcmp(bytes, endbr64, sizeof(endbr64)) != 0)
		return offset;
	if ((bytes[4] & 0xf8) == 0x50 || (bytes[4] == 0x41 && (bytes[5] & 0xf8) == 0x50))
		return offset + sizeof(endbr64);
	return offset;
}

static void add(struct search *s, const struct elf_symbols *names, const Elf64_Sym *sym,
		const char *name, size_t glob)
{
	const char *best = elf_symbols_lookup(names, sym->st_value);
	uint64_t offset, left, skipped;
	char *readable;

	if (!elf_image_code_offset(s->code, sym->st_value, &offset, &left))
		return;
	skipped = probe_offset(s->code, offset) - offset;
	offset += skipped;
	best = best ? best : name;
	readable = demangle(best);
	s->found = xgrow(s->found, &s->capacity, s->nr + 1, sizeof(*s->found));
	s->found[s->nr] = (struct named_function){
		.name = readable ? readable : xstrdup(best),
		.offset = offset,
		.size = sym->st_size > skipped ? sym->st_size - skipped : 0,
		.order = s->nr,
		.glob = glob,
		.is_resolver = ELF64_ST_TYPE(sym->st_info) == STT_GNU_IFUNC,
		.is_local = ELF64_ST_BIND(sym->st_info) == STB_LOCAL,
	};
	s->nr++;
}

static void search_table(struct search *s, struct elf_image *image, struct elf_section *section)
{
	struct elf_symbols *names = elf_symbols_new(image, section, s->code);
	struct elf_symbol_table table = { 0 };

	if (!names)
		return;
	elf_symbol_table_read(image, section, &table);
	for (size_t i = 1; i < table.nr; i++) {
		const char *name;
		uint32_t type;
		Elf64_Sym sym;
		size_t glob;

		if (!elf_symbol_table_get(&table, i, &sym, &name))
			continue;
		type = ELF64_ST_TYPE(sym.st_info);
		if ((type != STT_FUNC && type != STT_GNU_IFUNC) || sym.st_shndx == SHN_UNDEF ||
		    !elf_image_is_code(s->code, sym.st_value))
			continue;
		glob = find_glob(s, name);
		if (glob < s->nr_globs)
			add(s, names, &sym, name, glob);
	}
	elf_symbols_free(names);
	elf_section_unload(image, section);
}

static void search_image(struct search *s, struct elf_image *image, uint32_t type)
{
	for (size_t i = 0; image && i < image->nr_sections; i++)
		if (image->sections[i].type == type)
			search_table(s, image, &image->sections[i]);
}

static int compare_offsets(const void *a, const void *b)
{
	const struct named_function *x = a, *y = b;

	return ORDER(x->offset, y->offset) ?: ORDER(x->order, y->order);
}

/* Of the names that lead to one offset, the one that was found first stays. */
static void sort_by_offset(struct search *s)
{
	size_t kept = 0;

	if (s->nr)
		qsort(s->found, s->nr, sizeof(*s->found), compare_offsets);
	for (size_t i = 0; i < s->nr; i++) {
		if (kept && s->found[kept - 1].offset == s->found[i].offset)
			free(s->found[i].name);
		else
			s->found[kept++] = s->found[i];
	}
	s->nr = kept;
}

void function_names_search(const struct symbol_module *module, const char *const *globs,
			   size_t nr_globs, struct named_function **ret_functions, size_t *ret_nr)
{
	struct search s = { .code = module->image, .globs = globs, .nr_globs = nr_globs };

	s.words = xcalloc(nr_globs, sizeof(*s.words));
	for (size_t i = 0; i < nr_globs; i++)
		s.words[i] = own_name(globs[i]);
	search_image(&s, module->image, SHT_SYMTAB);
	search_image(&s, module->debug, SHT_SYMTAB);
	search_image(&s, module->image, SHT_DYNSYM);
	sort_by_offset(&s);
	for (size_t i = 0; i < nr_globs; i++)
		free(s.words[i]);
	free(s.words);
	*ret_functions = s.found;
	*ret_nr = s.nr;
}

void function_names_free(struct named_function *functions, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		free(functions[i].name);
	free(functions);
}
