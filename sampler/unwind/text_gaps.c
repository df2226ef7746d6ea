/*
 * All is read in blocks, and only as far as there are gaps: most files have FDEs for all of their
 * code.
 */
#include "sampler/unwind/text_gaps.h"

#include <elf.h>
#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/base/elf_headers.h"
#include "core/base/order.h"
#include "core/base/search.h"
#include "sampler/unwind/x86_64/code_references.h"

#define SYMBOLS_AT_ONCE 4096
#define WORDS_AT_ONCE 8192
#define MAX_SEARCHED (64u << 20)  /* bytes of code, or of data, to read for references */
#define MAX_WITH_FDES (16u << 20) /* bytes of text of a file whose other code is read too */
#define MAX_INIT 64		  /* bytes of .init and .fini */
#define ENTRY_CODE 64		  /* bytes at the entry point that name main() */

static void add_gap(struct text_gaps *gaps, uint64_t start, uint64_t end)
{
	gaps->gaps = xgrow(gaps->gaps, &gaps->gaps_capacity, gaps->nr + 1, sizeof(*gaps->gaps));
	gaps->gaps[gaps->nr++] = (struct text_gap){ start, end };
	gaps->size += end - start;
}

static void add(struct vaddr_list *list, uint64_t vaddr)
{
	list->vaddrs = xgrow(list->vaddrs, &list->capacity, list->nr + 1, sizeof(*list->vaddrs));
	list->vaddrs[list->nr++] = vaddr;
}

static bool is_in_gap(const struct text_gaps *gaps, uint64_t vaddr)
{
	size_t at;

	/* Most words of data are no addresses of code. */
	if (!gaps->nr || vaddr < gaps->gaps[0].start || vaddr >= gaps->gaps[gaps->nr - 1].end)
		return false;
	at = SEARCH(i, gaps->nr, gaps->gaps[i].end <= vaddr);
	return at < gaps->nr && vaddr >= gaps->gaps[at].start;
}

/* Hand-written code often has no symbol types; its labels have none either, but they are local. */
static bool is_function(const Elf64_Sym *symbol)
{
	unsigned int type = ELF64_ST_TYPE(symbol->st_info);

	if (symbol->st_shndx == SHN_UNDEF || symbol->st_shndx >= SHN_LORESERVE)
		return false;
	return type == STT_FUNC || type == STT_GNU_IFUNC ||
	       (type == STT_NOTYPE && ELF64_ST_BIND(symbol->st_info) != STB_LOCAL);
}

/* The entries of an array in the file that are still to be read. */
struct entries {
	const struct unwind_image *image;
	uint64_t offset, nr;
	size_t size; /* of one */
};

/* Reads the next entries, at most `max`. Returns how many; 0 at the end or what cannot be read. */
static uint64_t next_entries(struct entries *e, void *block, uint64_t max)
{
	uint64_t nr = e->nr < max ? e->nr : max;

	if (!nr || unwind_image_read(e->image, e->offset, block, nr * e->size))
		return 0;
	e->offset += nr * e->size;
	e->nr -= nr;
	return nr;
}

static void add_functions(struct text_gaps *gaps, const struct unwind_image *image,
			  const struct unwind_symbols *table)
{
	Elf64_Sym *symbols = xreallocarray(NULL, SYMBOLS_AT_ONCE, sizeof(*symbols));
	struct entries all = { image, table->offset, table->size / sizeof(*symbols),
			       sizeof(*symbols) };
	uint64_t nr;

	while ((nr = next_entries(&all, symbols, SYMBOLS_AT_ONCE)))
		for (uint64_t i = 0; i < nr; i++)
			if (is_function(&symbols[i]) && is_in_gap(gaps, symbols[i].st_value))
				add(&gaps->functions, symbols[i].st_value);
	free(symbols);
}

static void sort(struct vaddr_list *list)
{
	if (list->nr)
		qsort(list->vaddrs, list->nr, sizeof(*list->vaddrs), order_u64);
}

static void on_reference(void *context, enum code_reference kind, uint64_t vaddr)
{
	struct text_gaps *gaps = context;

	if (kind == REFERENCE_TABLE)
		add(&gaps->tables, vaddr);
	if (!is_in_gap(gaps, vaddr))
		add(&gaps->references, vaddr);
	else if (kind == REFERENCE_CALL)
		add(&gaps->functions, vaddr);
	else
		add(&gaps->hints, vaddr);
}

/* The entry point names main(). */
static void on_reference_of_entry(void *context, enum code_reference kind, uint64_t vaddr)
{
	struct text_gaps *gaps = context;

	if (kind != REFERENCE_TABLE && is_in_gap(gaps, vaddr))
		add(&gaps->functions, vaddr);
}

static void search_code(struct text_gaps *gaps, const struct unwind_image *image, uint64_t start,
			uint64_t end, code_reference_fn *found)
{
	const struct unwind_segment *segment = unwind_image_segment(image, start);
	uint64_t size = end - start, left;
	uint8_t *text;

	if (!segment || !segment->executable)
		return;
	left = segment->size - (start - segment->vaddr);
	size = size < left ? size : left;
	text = xmalloc(size);
	if (!unwind_image_read(image, segment->offset + (start - segment->vaddr), text, size))
		code_references_find(start, text, size, found, gaps);
	free(text);
}

/* Finds what the code of the gaps refers to, and, in small files, the other code too. */
static void search_all_code(struct text_gaps *gaps, const struct unwind_image *image,
			    const struct text_ranges *ranges)
{
	uint64_t left = MAX_SEARCHED, entry = image->headers.entry;

	if (entry)
		search_code(gaps, image, entry, entry + ENTRY_CODE, on_reference_of_entry);
	if (ranges->high - ranges->low <= MAX_WITH_FDES) {
		search_code(gaps, image, ranges->low, ranges->high, on_reference);
		return;
	}
	for (size_t i = 0; i < gaps->nr && left; i++) {
		const struct text_gap *gap = &gaps->gaps[i];
		uint64_t size = gap->end - gap->start;

		size = size < left ? size : left;
		search_code(gaps, image, gap->start, gap->start + size, on_reference);
		left -= size;
	}
}

/* Does a word at vaddr belong to a table of jumps? Those lead into functions. */
static bool is_in_table(const struct text_gaps *gaps, uint64_t vaddr)
{
	size_t table = vaddr_list_first(&gaps->tables, vaddr + 1);
	size_t next = vaddr_list_first(&gaps->references, vaddr + 1);

	return table && next && gaps->tables.vaddrs[table - 1] == gaps->references.vaddrs[next - 1];
}

/* Finds addresses of code among the data: pointers to functions. */
static void search_data(struct text_gaps *gaps, const struct unwind_image *image,
			const struct unwind_segment *segment)
{
	uint64_t *words = xreallocarray(NULL, WORDS_AT_ONCE, sizeof(*words));
	uint64_t skipped = -segment->vaddr & 7, vaddr = segment->vaddr + skipped, nr;
	struct entries all = { image, segment->offset + skipped, 0, sizeof(*words) };

	if (segment->size > skipped)
		all.nr = (segment->size - skipped) / sizeof(*words);
	while ((nr = next_entries(&all, words, WORDS_AT_ONCE)))
		for (uint64_t i = 0; i < nr; i++, vaddr += sizeof(*words))
			if (is_in_gap(gaps, words[i]) && !is_in_table(gaps, vaddr))
				add(&gaps->hints, words[i]);
	free(words);
}

/* In a file that is mapped at any address, relocations have these addresses. */
static void search_relocations(struct text_gaps *gaps, const struct unwind_image *image,
			       const Elf64_Shdr *section)
{
	Elf64_Rela *entries = xreallocarray(NULL, SYMBOLS_AT_ONCE, sizeof(*entries));
	struct entries all = { image, section->sh_offset, section->sh_size / sizeof(*entries),
			       sizeof(*entries) };
	uint64_t nr;

	while ((nr = next_entries(&all, entries, SYMBOLS_AT_ONCE))) {
		for (uint64_t i = 0; i < nr; i++) {
			uint64_t type = ELF64_R_TYPE(entries[i].r_info);

			if (type == ELF_OWN_IRELATIVE)
				add(&gaps->slots, entries[i].r_offset);
			if ((type == ELF_OWN_RELATIVE || type == ELF_OWN_IRELATIVE) &&
			    is_in_gap(gaps, (uint64_t)entries[i].r_addend))
				add(&gaps->hints, (uint64_t)entries[i].r_addend);
		}
	}
	free(entries);
}

static void search_all_data(struct text_gaps *gaps, const struct unwind_image *image)
{
	for (size_t i = 0; i < image->nr_segments; i++) {
		if (!image->segments[i].executable && image->segments[i].size <= MAX_SEARCHED)
			search_data(gaps, image, &image->segments[i]);
	}
	for (size_t i = 0; i < image->headers.nr_sections; i++) {
		const Elf64_Shdr *section = &image->headers.sections[i];

		if ((section->sh_flags & SHF_EXECINSTR) && section->sh_size <= MAX_INIT &&
		    is_in_gap(gaps, section->sh_addr))
			add(&gaps->hints, section->sh_addr); /* .init, .fini */
		if (section->sh_type == SHT_RELA && (section->sh_flags & SHF_ALLOC) &&
		    section->sh_size <= MAX_SEARCHED)
			search_relocations(gaps, image, section);
	}
}

void text_gaps_find(struct text_gaps *gaps, const struct unwind_image *image,
		    const struct text_ranges *ranges, uint64_t max_padding)
{
	uint64_t end = ranges->low;

	*gaps = (struct text_gaps){ 0 };
	for (size_t i = 0; i <= ranges->nr; i++) {
		uint64_t next = ranges->high;

		if (i < ranges->nr)
			next = ranges->low + ranges->ranges[i].start;
		if (next > end && next - end > max_padding)
			add_gap(gaps, end, next);
		if (i < ranges->nr && next + ranges->ranges[i].length > end)
			end = next + ranges->ranges[i].length;
	}
	if (!gaps->nr)
		return;
	add_functions(gaps, image, &image->symtab);
	add_functions(gaps, image, &image->dynsym);
	if (gaps->size >= TEXT_GAPS_MIN_SEARCHED) {
		search_all_code(gaps, image, ranges);
		sort(&gaps->references);
		sort(&gaps->tables);
		search_all_data(gaps, image);
	}
	sort(&gaps->functions);
	sort(&gaps->hints);
	sort(&gaps->slots);
}

size_t vaddr_list_first(const struct vaddr_list *list, uint64_t vaddr)
{
	return SEARCH(i, list->nr, list->vaddrs[i] < vaddr);
}

bool vaddr_list_has(const struct vaddr_list *list, uint64_t vaddr)
{
	size_t at = vaddr_list_first(list, vaddr);

	return at < list->nr && list->vaddrs[at] == vaddr;
}

void text_gaps_fini(struct text_gaps *gaps)
{
	free(gaps->gaps);
	free(gaps->functions.vaddrs);
	free(gaps->hints.vaddrs);
	free(gaps->references.vaddrs);
	free(gaps->tables.vaddrs);
	free(gaps->slots.vaddrs);
}
