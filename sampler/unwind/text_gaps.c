/*
 * Functions come from .symtab and .dynsym, which are read in blocks and only if there are gaps.
 */
#include "sampler/unwind/text_gaps.h"

#include <elf.h>
#include <stdlib.h>

#include "core/base/alloc.h"

#define SYMBOLS_AT_ONCE 4096

static void add_gap(struct text_gaps *gaps, uint64_t start, uint64_t end)
{
	gaps->gaps = xgrow(gaps->gaps, &gaps->gaps_capacity, gaps->nr + 1, sizeof(*gaps->gaps));
	gaps->gaps[gaps->nr++] = (struct text_gap){ start, end };
}

static bool is_in_gap(const struct text_gaps *gaps, uint64_t vaddr)
{
	size_t lo = 0, hi = gaps->nr;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (gaps->gaps[mid].end <= vaddr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < gaps->nr && vaddr >= gaps->gaps[lo].start;
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

static void add_functions(struct text_gaps *gaps, const struct unwind_image *image,
			  const struct unwind_symbols *table)
{
	Elf64_Sym *symbols = xreallocarray(NULL, SYMBOLS_AT_ONCE, sizeof(*symbols));
	uint64_t nr = table->size / sizeof(*symbols);

	for (uint64_t first = 0; first < nr; first += SYMBOLS_AT_ONCE) {
		uint64_t count = nr - first < SYMBOLS_AT_ONCE ? nr - first : SYMBOLS_AT_ONCE;

		if (unwind_image_read(image, table->offset + first * sizeof(*symbols), symbols,
				      count * sizeof(*symbols)))
			break;
		for (uint64_t i = 0; i < count; i++) {
			if (!is_function(&symbols[i]) || !is_in_gap(gaps, symbols[i].st_value))
				continue;
			gaps->functions = xgrow(gaps->functions, &gaps->functions_capacity,
						gaps->nr_functions + 1, sizeof(*gaps->functions));
			gaps->functions[gaps->nr_functions++] = symbols[i].st_value;
		}
	}
	free(symbols);
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
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
	if (gaps->nr_functions)
		qsort(gaps->functions, gaps->nr_functions, sizeof(*gaps->functions), compare);
}

size_t text_gaps_first_function(const struct text_gaps *gaps, uint64_t vaddr)
{
	size_t lo = 0, hi = gaps->nr_functions;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (gaps->functions[mid] < vaddr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

void text_gaps_fini(struct text_gaps *gaps)
{
	free(gaps->gaps);
	free(gaps->functions);
}
