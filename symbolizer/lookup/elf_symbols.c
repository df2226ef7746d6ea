/*
 * A symbol table as a sorted array. Sized symbols cover [start, start + size) and may nest. A
 * symbol without a size (an assembler label) covers the bytes up to the next symbol or the end of
 * its section, where no sized symbol does. Bytes between functions belong to none of them.
 *
 * Assembly that is made from a template (MKL's kernels) has the same local labels in each of its
 * functions: such a label ends nothing, and the bytes behind it belong to the function before it.
 */
#include "symbolizer/lookup/elf_symbols.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/order.h"
#include "core/base/search.h"

#define NO_SYMBOL UINT32_MAX
#define RANK_LABEL 0x10u
#define RANK_LOCAL 0x08u
#define RANK_REPEATED 0x20u /* a local label whose name occurs more than once */
#define NESTING_MAX 64	    /* symbols nest two or three deep; in a hostile table all of them may */

struct symbol {
	uint64_t start, end; /* start == end: no size */
	uint64_t limit;	     /* the end of its section */
	const char *name;
	uint32_t enclosing; /* index of the nearest earlier symbol that ends behind our start */
	uint32_t rank;	    /* lower is the better name */
};

struct elf_symbols {
	struct symbol *symbols;
	size_t nr;
};

/*
 * Ranks the names of one address: a function before a label; a global name before a local one; the
 * name that users write before the internal one of a library (write before __write, puts before
 * _IO_puts); then global before weak.
 */
static uint32_t symbol_rank(const Elf64_Sym *sym, const char *name)
{
	uint32_t type = ELF64_ST_TYPE(sym->st_info), bind = ELF64_ST_BIND(sym->st_info);
	uint32_t underscores = 0;

	/* _Z and _R begin a mangled name; those underscores do not count. */
	while (underscores < 3 && name[underscores] == '_')
		underscores++;
	if (underscores == 1 && (name[1] == 'Z' || name[1] == 'R'))
		underscores = 0;
	return (type == STT_NOTYPE ? RANK_LABEL : 0) | (bind == STB_LOCAL ? RANK_LOCAL : 0) |
	       underscores << 1 | (uint32_t)(bind == STB_WEAK);
}

/*
 * $x, $d, $a and $t mark code and data on Arm and RISC-V; .L names are internal to the assembler.
 */
static bool is_mapping_symbol(const char *name)
{
	if (name[0] == '$')
		return strchr("xdatm", name[1]) && (!name[2] || name[2] == '.');
	return name[0] == '.' && name[1] == 'L';
}

static bool is_function(const Elf64_Sym *sym, const char *name, const struct elf_image *code)
{
	uint32_t type = ELF64_ST_TYPE(sym->st_info);

	if (sym->st_shndx == SHN_UNDEF || sym->st_shndx == SHN_ABS || sym->st_shndx == SHN_COMMON)
		return false;
	if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE)
		return false;
	return name[0] && !is_mapping_symbol(name) && elf_image_is_code(code, sym->st_value);
}

static int compare_symbols(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	return ORDER(x->start, y->start)
	       ?: ORDER(x->start == x->end, y->start == y->end)
	       ?: ORDER(x->rank, y->rank)
	       ?: ORDER(strlen(x->name), strlen(y->name))
	       ?: strcmp(x->name, y->name);
}

/* Keeps one symbol per address: the best name, with the largest extent of all. */
static void merge_aliases(struct elf_symbols *t)
{
	size_t kept = 0;

	for (size_t i = 0; i < t->nr; i++) {
		struct symbol *last = kept ? &t->symbols[kept - 1] : NULL;

		if (last && last->start == t->symbols[i].start) {
			if (last->end < t->symbols[i].end)
				last->end = t->symbols[i].end;
			continue;
		}
		t->symbols[kept++] = t->symbols[i];
	}
	t->nr = kept;
}

static int compare_names(const void *a, const void *b)
{
	const struct symbol *const *x = a, *const *y = b;

	return strcmp((*x)->name, (*y)->name);
}

static void find_repeated_labels(struct elf_symbols *t)
{
	const uint32_t local_label = RANK_LABEL | RANK_LOCAL;
	struct symbol **labels = NULL;
	size_t nr = 0, capacity = 0;

	for (size_t i = 0; i < t->nr; i++) {
		struct symbol *s = &t->symbols[i];

		if (s->start != s->end || (s->rank & local_label) != local_label)
			continue;
		labels = xgrow(labels, &capacity, nr + 1, sizeof(*labels));
		labels[nr++] = s;
	}
	if (nr)
		qsort(labels, nr, sizeof(*labels), compare_names);
	for (size_t i = 1; i < nr; i++) {
		if (compare_names(&labels[i - 1], &labels[i]))
			continue;
		labels[i - 1]->rank |= RANK_REPEATED;
		labels[i]->rank |= RANK_REPEATED;
	}
	free(labels);
}

/* Keeps such a label only where no unsized function comes before it: then it is the only name. */
static void drop_repeated_labels(struct elf_symbols *t)
{
	size_t kept = 0;

	find_repeated_labels(t);
	for (size_t i = 0; i < t->nr; i++) {
		const struct symbol *last = kept ? &t->symbols[kept - 1] : NULL;

		if ((t->symbols[i].rank & RANK_REPEATED) && last && !(last->rank & RANK_REPEATED) &&
		    last->start == last->end && last->limit == t->symbols[i].limit)
			continue;
		t->symbols[kept++] = t->symbols[i];
	}
	t->nr = kept;
}

static void find_enclosing(struct elf_symbols *t)
{
	uint32_t open = NO_SYMBOL;

	for (uint32_t i = 0; i < t->nr; i++) {
		struct symbol *s = &t->symbols[i];

		while (open != NO_SYMBOL && t->symbols[open].end <= s->start)
			open = t->symbols[open].enclosing;
		s->enclosing = open;
		if (s->end > s->start)
			open = i;
	}
}

static uint64_t section_end(struct elf_image *image, uint16_t index)
{
	const struct elf_section *s = elf_image_section_at(image, index);

	return s && s->address + s->size >= s->address ? s->address + s->size : UINT64_MAX;
}

static void add_symbols(struct elf_symbols *t, struct elf_image *image,
			const struct elf_symbol_table *table, const struct elf_image *code)
{
	size_t capacity = 0;

	for (size_t i = 1; i < table->nr; i++) {
		const char *name;
		struct symbol *s;
		Elf64_Sym sym;

		if (!elf_symbol_table_get(table, i, &sym, &name) || !is_function(&sym, name, code))
			continue;
		t->symbols = xgrow(t->symbols, &capacity, t->nr + 1, sizeof(*t->symbols));
		s = &t->symbols[t->nr++];
		s->start = sym.st_value;
		s->end = sym.st_value + sym.st_size;
		if (s->end < s->start)
			s->end = s->start;
		s->limit = section_end(image, sym.st_shndx);
		s->name = name;
		s->rank = symbol_rank(&sym, name);
	}
}

struct elf_symbols *elf_symbols_new(struct elf_image *image, struct elf_section *section,
				    const struct elf_image *code)
{
	struct elf_symbol_table table;
	struct elf_symbols *t;

	if (!elf_symbol_table_read(image, section, &table) || table.nr >= NO_SYMBOL)
		return NULL;
	t = xcalloc(1, sizeof(*t));
	add_symbols(t, image, &table, code);
	elf_section_unload(image, section); /* the names stay in memory */
	if (!t->nr) {
		elf_symbols_free(t);
		return NULL;
	}
	qsort(t->symbols, t->nr, sizeof(*t->symbols), compare_symbols);
	merge_aliases(t);
	drop_repeated_labels(t);
	find_enclosing(t);
	return t;
}

void elf_symbols_free(struct elf_symbols *symbols)
{
	if (!symbols)
		return;
	free(symbols->symbols);
	free(symbols);
}

/* Returns the symbol that covers vaddr, or NULL; *ret_next is the first one behind vaddr. */
static const struct symbol *find(const struct elf_symbols *t, uint64_t vaddr, size_t *ret_next)
{
	size_t nr = SEARCH(i, t->nr, t->symbols[i].start <= vaddr);
	const struct symbol *last;
	uint32_t at;

	*ret_next = nr;
	if (!nr)
		return NULL;
	last = &t->symbols[nr - 1];
	at = (uint32_t)(nr - 1);
	for (int i = 0; i < NESTING_MAX && at != NO_SYMBOL; i++) {
		const struct symbol *s = &t->symbols[at];

		if (vaddr < s->end)
			return s;
		at = s->enclosing;
	}
	return last->start == last->end && vaddr < last->limit ? last : NULL;
}

const char *elf_symbols_lookup(const struct elf_symbols *t, uint64_t vaddr)
{
	size_t next;
	const struct symbol *s = find(t, vaddr, &next);

	return s ? s->name : NULL;
}

bool elf_symbols_extent(const struct elf_symbols *t, uint64_t vaddr, uint64_t *ret_start,
			uint64_t *ret_end)
{
	size_t next;
	const struct symbol *s = find(t, vaddr, &next);

	if (!s)
		return false;
	*ret_start = s->start;
	*ret_end = s->end;
	if (s->start == s->end)
		*ret_end = next < t->nr && t->symbols[next].start < s->limit
				   ? t->symbols[next].start
				   : s->limit;
	return true;
}
