/*
 * The three symbol tables of an ELF file as sources: .symtab of the file or of its debug file;
 * .gnu_debugdata, a small xz-compressed ELF file that distributions leave in a stripped binary with
 * the functions that .dynsym lacks; and .dynsym.
 */
#include <stdlib.h>
#include <string.h>
#include <lzma.h>

#include "core/base/alloc.h"
#include "core/base/log.h"
#include "core/base/memory_limit.h"
#include "symbolizer/lookup/elf_symbols.h"
#include "symbolizer/symbol_sources.h"

#define DEBUGDATA_MAX (64u << 20) /* bytes, decompressed; Fedora's largest are a few MiB */
#define XZ_RATIO_MAX 64		  /* 5 to 8 are usual */
#define XZ_MEMORY_MAX (256u << 20)
#define ELF_MODULES (1u << MODULE_ELF | 1u << MODULE_VDSO)

struct table {
	struct elf_image *own; /* closed with the table; NULL: the image is the module's */
	struct elf_symbols *symbols;
};

static struct elf_section *find_table(struct elf_image *image, uint32_t type)
{
	for (size_t i = 0; image && i < image->nr_sections; i++) {
		if (image->sections[i].type == type)
			return &image->sections[i];
	}
	return NULL;
}

/* Takes over `own`. */
static void *table_new(struct elf_image *image, uint32_t type, const struct elf_image *code,
		       struct elf_image *own)
{
	struct elf_section *section = find_table(image, type);
	struct elf_symbols *symbols = NULL;
	struct table *t;

	if (section)
		symbols = elf_symbols_new(image, section, code);
	if (!symbols) {
		elf_image_close(own);
		return NULL;
	}
	t = xcalloc(1, sizeof(*t));
	t->symbols = symbols;
	t->own = own;
	return t;
}

static void *symtab_open(const struct symbol_module *module)
{
	void *table = table_new(module->image, SHT_SYMTAB, module->image, NULL);

	return table ? table : table_new(module->debug, SHT_SYMTAB, module->image, NULL);
}

static void *dynsym_open(const struct symbol_module *module)
{
	return table_new(module->image, SHT_DYNSYM, module->image, NULL);
}

/* Opens an ELF image from xz data; NULL where it is damaged or larger than the limit. */
static struct elf_image *open_xz(const uint8_t *data, size_t size)
{
	struct elf_image *image = NULL;
	size_t capacity = 0, in_at = 0, out_at = 0;
	uint64_t limit = memory_limit_expanded(size, XZ_RATIO_MAX), memory = memory_available() / 4;
	uint8_t *out = NULL;
	lzma_ret ret = LZMA_BUF_ERROR;

	if (limit > DEBUGDATA_MAX)
		limit = DEBUGDATA_MAX;
	if (memory > XZ_MEMORY_MAX)
		memory = XZ_MEMORY_MAX;
	/*
	 * The decompressed size is not known, so decompression is repeated with more room until it
	 * fits.
	 */
	for (size_t want = size * 8; ret == LZMA_BUF_ERROR && capacity < limit; want *= 2) {
		if (want > limit)
			want = limit;
		out = xgrow(out, &capacity, want, 1);
		in_at = out_at = 0;
		ret = lzma_stream_buffer_decode(&memory, 0, NULL, data, &in_at, size, out, &out_at,
						capacity);
	}
	if (ret == LZMA_OK)
		elf_image_open_memory(out, out_at, &image);
	free(out);
	return image;
}

static void *debugdata_open(const struct symbol_module *module)
{
	struct elf_section *section;
	struct elf_image *image;
	const uint8_t *data;
	uint64_t size;

	section = elf_image_section(module->image, ".gnu_debugdata");
	if (!section || section->size > DEBUGDATA_MAX)
		return NULL;
	data = elf_section_data(module->image, section, &size);
	image = data ? open_xz(data, size) : NULL;
	elf_section_unload(module->image, section);
	if (!image) {
		log_debug("%s: .gnu_debugdata cannot be read", module->path);
		return NULL;
	}
	return table_new(image, SHT_SYMTAB, module->image, image);
}

static bool table_lookup(void *state, uint64_t address, struct symbol_chain *chain)
{
	const struct table *t = state;
	const char *name = elf_symbols_lookup(t->symbols, address);

	if (!name)
		return false;
	symbol_chain_add(chain)->name = name;
	return true;
}

static bool table_extent(void *state, uint64_t address, uint64_t *ret_start, uint64_t *ret_end)
{
	const struct table *t = state;

	return elf_symbols_extent(t->symbols, address, ret_start, ret_end);
}

static void table_close(void *state)
{
	struct table *t = state;

	elf_symbols_free(t->symbols);
	elf_image_close(t->own);
	free(t);
}

const struct symbol_source symtab_source = {
	.name = ".symtab",
	.kinds = ELF_MODULES,
	.open = symtab_open,
	.lookup = table_lookup,
	.extent = table_extent,
	.close = table_close,
};

const struct symbol_source debugdata_source = {
	.name = ".gnu_debugdata",
	.kinds = ELF_MODULES,
	.open = debugdata_open,
	.lookup = table_lookup,
	.extent = table_extent,
	.close = table_close,
};

const struct symbol_source dynsym_source = {
	.name = ".dynsym",
	.kinds = ELF_MODULES,
	.open = dynsym_open,
	.lookup = table_lookup,
	.extent = table_extent,
	.close = table_close,
};
