/*
 * DWARF as a symbol source: lines, and chains of inlined functions. All addresses of a module are
 * looked up when the source is opened; lookup() only reads the answers.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/log.h"
#include "core/base/memory_limit.h"
#include "symbolizer/lookup/debug_file.h"
#include "symbolizer/dwarf/answers.h"
#include "symbolizer/symbol_sources.h"

/* for the budget; a deep chain of inlined functions takes some hundreds */
#define WORK_PER_ADDRESS 1024
#define ALT_LINK_MAX (4096 + BUILD_ID_MAX)

struct dwarf_source {
	struct elf_image *alt_image;
	struct dwarf_file *file, *alt;
	struct dwarf_answers *answers;
};

/* The limit is a quarter of the memory that is left: more than that is not worth its names. */
static uint64_t max_dwarf_bytes(void)
{
	return memory_available() / 4;
}

static struct dwarf_file *open_dwarf(struct elf_image *image, const char *path)
{
	uint64_t size = dwarf_file_bytes(image), limit = size ? max_dwarf_bytes() : 0;

	if (size > limit)
		log_warning("'%s': lines and inlined functions are missing: its debug data takes "
			    "%.0f MB of memory, and the limit here is %.0f MB",
			    path, (double)size / 1e6, (double)limit / 1e6);
	return size && size <= limit ? dwarf_file_new(image, limit) : NULL;
}

static struct elf_image *open_alt(const struct symbol_module *module, struct elf_image *image)
{
	struct elf_section *section = elf_image_section(image, ".gnu_debugaltlink");
	const uint8_t *data = NULL;
	const char *name;
	uint64_t size;

	if (section && section->size <= ALT_LINK_MAX)
		data = elf_section_data(image, section, &size);
	if (!data)
		return NULL;
	name = (const char *)data;
	if (strlen(name) + 1 >= size)
		return NULL;
	return debug_file_alt(module, name, data + strlen(name) + 1, size - strlen(name) - 1);
}

static void *source_open(const struct symbol_module *module)
{
	struct elf_image *image = module->debug ? module->debug : module->image;
	struct dwarf_source *s;
	struct dwarf_file *file;
	struct dwarf_losses losses;

	if (module->opts->no_inlines)
		return NULL;
	file = open_dwarf(image, module->debug ? module->debug_path : module->path);
	if (!file)
		return NULL;
	s = xcalloc(1, sizeof(*s));
	s->file = file;
	file->path = module->debug ? module->debug_path : module->path_in_root;
	file->root = module->debug ? module->debug_root : &module->root;
	s->alt_image = open_alt(module, image);
	if (s->alt_image)
		s->alt = file->alt = open_dwarf(s->alt_image, "the file of .gnu_debugaltlink");
	if (s->alt)
		dwarf_file_load_info(s->alt);
	file->budget += module->nr_addresses * WORK_PER_ADDRESS;
	s->answers = dwarf_answers_new(file, module->addresses, module->nr_addresses, &losses);
	if (losses.damaged)
		log_warning("'%s': its DWARF is damaged; some lines are missing", module->path);
	if (losses.nr_split_missing)
		log_warning("'%s': %" PRIu64 " .dwo files of its split DWARF are missing; "
			    "functions inlined there are not shown",
			    module->path, losses.nr_split_missing);
	return s;
}

static bool source_lookup(void *state, uint64_t address, struct symbol_chain *chain)
{
	const struct dwarf_source *s = state;

	return dwarf_answers_get(s->answers, address, chain);
}

static void source_close(void *state)
{
	struct dwarf_source *s = state;

	dwarf_answers_free(s->answers);
	dwarf_file_free(s->file);
	dwarf_file_free(s->alt);
	debug_file_warn(s->alt_image, "the file of .gnu_debugaltlink");
	elf_image_close(s->alt_image);
	free(s);
}

const struct symbol_source dwarf_source = {
	.name = "DWARF",
	.kinds = 1u << MODULE_ELF,
	.has_inlines = true,
	.open = source_open,
	.lookup = source_lookup,
	.close = source_close,
};
