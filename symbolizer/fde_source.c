/*
 * Where a stripped file has no symbol, its unwind information still says where each function
 * begins. Such a function is called "cc1+0x5a3f0", by its link-time address, so that it stays apart
 * from others and can be found in a disassembly. It counts as unnamed. Code between two functions
 * belongs to neither: programs built without unwind information have much of it.
 *
 * Source: LSB 5.0, "Exception Frame Header": a sorted table of (function, FDE) pairs. Linkers write
 * it in one encoding, the only one read here.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/path.h"
#include "core/base/search.h"
#include "symbolizer/dwarf/fde_length.h"
#include "symbolizer/lookup/string_pool.h"
#include "symbolizer/symbol_sources.h"

#define HEADER_SIZE 12
#define ENTRY_SIZE 8

struct fde_source {
	struct elf_image *image;
	const char *file_name;
	const uint8_t *table;
	uint64_t nr;
	uint64_t base;	       /* address of the section, to which functions are relative */
	const uint8_t *frames; /* .eh_frame, which has the lengths of functions; NULL: none */
	uint64_t frames_address, frames_size;
	struct string_pool names;
};

static void *source_open(const struct symbol_module *module)
{
	/* version 1; pc-relative and data-relative 4-byte pointers, a 4-byte count */
	static const uint8_t encoding[] = { 1, 0x1b, 0x03, 0x3b };
	struct elf_section *section = elf_image_section(module->image, ".eh_frame_hdr");
	struct fde_source *s;
	const uint8_t *data;
	uint64_t size;
	uint32_t nr;

	data = section ? elf_section_data(module->image, section, &size) : NULL;
	if (!data || size < HEADER_SIZE || memcmp(data, encoding, sizeof(encoding)) != 0)
		return NULL;
	memcpy(&nr, data + 8, sizeof(nr));
	if (nr > (size - HEADER_SIZE) / ENTRY_SIZE)
		nr = (uint32_t)((size - HEADER_SIZE) / ENTRY_SIZE);
	s = xcalloc(1, sizeof(*s));
	s->image = module->image;
	s->file_name = path_base_name(module->path);
	s->table = data + HEADER_SIZE;
	s->nr = nr;
	s->base = section->address;
	section = elf_image_section(module->image, ".eh_frame");
	s->frames = section ? elf_section_data(module->image, section, &s->frames_size) : NULL;
	s->frames_address = section ? section->address : 0;
	return s;
}

static uint64_t function_at(const struct fde_source *s, uint64_t index)
{
	int32_t offset;

	memcpy(&offset, s->table + index * ENTRY_SIZE, sizeof(offset));
	return s->base + (uint64_t)(int64_t)offset;
}

/* Where function `index` ends; the next one may begin much later, after code without an FDE. */
static uint64_t end_of(const struct fde_source *s, uint64_t index)
{
	uint64_t start = function_at(s, index), length = UINT64_MAX;
	uint64_t next = index + 1 < s->nr ? function_at(s, index + 1) : UINT64_MAX;
	int32_t fde;

	memcpy(&fde, s->table + index * ENTRY_SIZE + 4, sizeof(fde));
	if (s->frames)
		length = fde_length(s->frames, s->frames_size,
				    s->base + (uint64_t)(int64_t)fde - s->frames_address);
	return length < next - start ? start + length : next;
}

/*
 * Returns 1 + the index of the function that holds the address; 0 if none does.
 */
static uint64_t find(const struct fde_source *s, uint64_t address)
{
	uint64_t nr = SEARCH(i, s->nr, function_at(s, i) <= address);

	return nr && address < end_of(s, nr - 1) && elf_image_is_code(s->image, address) ? nr : 0;
}

static bool source_lookup(void *state, uint64_t address, struct symbol_chain *chain)
{
	struct fde_source *s = state;
	uint64_t at = find(s, address);
	struct symbol_frame *frame;
	char *name;

	if (!at)
		return false;
	name = xasprintf("%s+0x%llx", s->file_name, (unsigned long long)function_at(s, at - 1));
	frame = symbol_chain_add(chain);
	frame->name = string_pool_add(&s->names, name);
	frame->is_address = true;
	free(name);
	return true;
}

static bool source_extent(void *state, uint64_t address, uint64_t *ret_start, uint64_t *ret_end)
{
	const struct fde_source *s = state;
	uint64_t at = find(s, address);

	if (!at)
		return false;
	*ret_start = function_at(s, at - 1);
	*ret_end = end_of(s, at - 1);
	return true;
}

static void source_close(void *state)
{
	struct fde_source *s = state;

	string_pool_fini(&s->names);
	free(s);
}

const struct symbol_source fde_source = {
	.name = "fde",
	.kinds = 1u << MODULE_ELF,
	.open = source_open,
	.lookup = source_lookup,
	.extent = source_extent,
	.close = source_close,
};
