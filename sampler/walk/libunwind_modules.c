/*
 * libunwind reads call frame information word by word, so the file's pages are cached here: a
 * direct mapped cache of 1 MiB. The list of functions replaces the search in .eh_frame_hdr, which
 * trusts the linker, but where memory is limited.
 */
#include "sampler/walk/libunwind_modules.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/hash_table.h"
#include "core/base/alloc.h"
#include "sampler/unwind/eh_frame.h"
#include "sampler/unwind/image.h"
#include "sampler/unwind/text_ranges.h"

#define PAGE_SIZE 4096u
#define NR_CACHED_PAGES 256u	    /* 1 MiB: the CFI of the code that samples hit */
#define SMALL_EH_FRAME (256u << 10) /* bytes: its list of functions takes less */

struct libunwind_module {
	uint64_t key;
	bool loaded; /* false: not a readable ELF file, only the key is set */
	struct unwind_image image;
	struct text_ranges ranges;
	uint64_t eh_frame;	  /* virtual address */
	struct fde_header header; /* searched in place of the ranges; nr 0: it is not */
	UT_hash_handle hh;
};

struct cached_page {
	const struct libunwind_module *module; /* NULL: empty */
	uint64_t offset;		       /* in the file */
	uint8_t bytes[PAGE_SIZE];
};

struct libunwind_modules {
	const struct snapshot_ops *ops;
	void *context;
	struct libunwind_module *by_key;
	struct cached_page *pages;
};

struct libunwind_modules *libunwind_modules_new(const struct snapshot_ops *ops, void *context)
{
	struct libunwind_modules *modules = xcalloc(1, sizeof(*modules));

	modules->ops = ops;
	modules->context = context;
	modules->pages = xcalloc(NR_CACHED_PAGES, sizeof(*modules->pages));
	return modules;
}

static void free_module(struct libunwind_modules *modules, struct libunwind_module *module)
{
	HASH_DEL(modules->by_key, module);
	text_ranges_fini(&module->ranges);
	unwind_image_close(&module->image);
	free(module);
}

void libunwind_modules_forget(struct libunwind_modules *modules, uint64_t key)
{
	struct libunwind_module *module;

	HASH_FIND(hh, modules->by_key, &key, sizeof(key), module);
	if (!module)
		return;
	for (size_t i = 0; i < NR_CACHED_PAGES; i++)
		if (modules->pages[i].module == module)
			modules->pages[i].module = NULL;
	free_module(modules, module);
}

void libunwind_modules_free(struct libunwind_modules *modules)
{
	struct libunwind_module *module, *next;

	if (!modules)
		return;
	HASH_ITER (hh, modules->by_key, module, next)
		free_module(modules, module);
	free(modules->pages);
	free(modules);
}

/* Fills the list of functions, which is empty without .eh_frame. The section is not kept. */
static void load_functions(struct libunwind_module *module)
{
	struct eh_frame frame;
	struct eh_reader reader;

	if (unwind_image_load_eh_frame(&module->image, &frame))
		return;
	module->eh_frame = frame.vaddr;
	eh_reader_init(&reader, &frame);
	if (!text_ranges_init(&module->ranges, &module->image)) {
		text_ranges_collect(&module->ranges, &reader, 0);
		text_ranges_sort(&module->ranges);
	}
	eh_reader_fini(&reader);
	free((void *)frame.data);
}

/* The size is not known where there are no section headers. */
static bool is_large(const struct unwind_image *image)
{
	return image->eh_frame == image->eh_frame_end ||
	       image->eh_frame_end - image->eh_frame > SMALL_EH_FRAME;
}

static struct libunwind_module *find_module(struct libunwind_modules *modules, uint64_t key)
{
	struct libunwind_module *module;
	struct snapshot_file file;
	int err = -1;

	HASH_FIND(hh, modules->by_key, &key, sizeof(key), module);
	if (module)
		return module;
	module = xcalloc(1, sizeof(*module));
	module->key = key;
	if (modules->ops->open_module(modules->context, key, &file))
		err = modules->ops->take_turn && !file.memory
			      ? unwind_image_open_segments(&module->image, file.fd, file.segments,
							   file.nr_segments)
		      : file.memory
			      ? unwind_image_open_memory(&module->image, file.memory, file.size)
			      : unwind_image_open(&module->image, file.fd);
	if (!err) {
		module->loaded = true;
		if (modules->ops->take_turn)
			; /* its functions are looked up where libunwind runs */
		else if (!modules->ops->by_header || !is_large(&module->image) ||
			 fde_header_open(&module->header, &module->image))
			load_functions(module);
	}
	HASH_ADD(hh, modules->by_key, key, sizeof(module->key), module);
	return module;
}

size_t libunwind_modules_nr(const struct libunwind_modules *modules)
{
	return HASH_COUNT(modules->by_key);
}

bool libunwind_modules_find(struct libunwind_modules *modules, uint64_t address,
			    struct snapshot_place *ret)
{
	struct snapshot_mapping mapping;
	const struct libunwind_module *module;

	if (!modules->ops->find_mapping(modules->context, address, &mapping))
		return false;
	*ret = (struct snapshot_place){
		.start = mapping.start,
		.end = mapping.end,
		.over_limit = mapping.over_limit,
	};
	module = mapping.module ? find_module(modules, mapping.module) : NULL;
	if (!module || !module->loaded)
		return true;
	for (size_t i = 0; i < module->image.nr_segments; i++) {
		const struct unwind_segment *segment = &module->image.segments[i];
		uint64_t offset = mapping.file_offset + (address - mapping.start);

		if (!segment->executable || offset - segment->offset >= segment->size)
			continue;
		ret->module = module;
		ret->key = mapping.module;
		ret->bias = address - (segment->vaddr + (offset - segment->offset));
	}
	return true;
}

bool libunwind_module_fde(const struct libunwind_module *module, uint64_t vaddr,
			  struct snapshot_fde *ret)
{
	const struct text_range *range;

	if (module->header.nr)
		return fde_header_find(&module->header, &module->image, vaddr, &ret->start,
				       &ret->end, &ret->vaddr);
	range = text_ranges_find(&module->ranges, vaddr);
	if (!range)
		return false;
	ret->start = module->ranges.low + range->start;
	ret->end = ret->start + range->length;
	ret->vaddr = module->eh_frame + range->fde;
	return true;
}

static const struct cached_page *find_page(struct libunwind_modules *modules,
					   const struct libunwind_module *module, uint64_t offset)
{
	size_t slot = (offset / PAGE_SIZE + module->key * 37) % NR_CACHED_PAGES;
	struct cached_page *page = &modules->pages[slot];
	uint64_t size = PAGE_SIZE;

	if (page->module == module && page->offset == offset)
		return page;
	if (offset >= module->image.source.size)
		return NULL;
	if (size > module->image.source.size - offset)
		size = module->image.source.size - offset;
	page->module = NULL;
	memset(page->bytes, 0, PAGE_SIZE);
	if (unwind_image_read(&module->image, offset, page->bytes, size))
		return NULL;
	page->module = module;
	page->offset = offset;
	return page;
}

bool libunwind_modules_read(struct libunwind_modules *modules,
			    const struct libunwind_module *module, uint64_t vaddr, uint64_t *ret)
{
	const struct unwind_segment *segment = unwind_image_segment(&module->image, vaddr);
	const struct cached_page *page;
	uint64_t offset;

	if (!segment)
		return false;
	offset = segment->offset + (vaddr - segment->vaddr);
	if (offset % 8)
		return false; /* a segment is placed at its address modulo the page size */
	page = find_page(modules, module, offset & ~(uint64_t)(PAGE_SIZE - 1));
	if (!page)
		return false;
	memcpy(ret, page->bytes + offset % PAGE_SIZE, 8);
	return true;
}
