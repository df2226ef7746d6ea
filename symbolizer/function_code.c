/*
 * The extent of a function comes from the first symbol source that knows it; its bytes are read
 * from the file, after the checks that symbolization makes.
 */
#include "symbolizer/function_code.h"

#include <errno.h>
#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/base/elf_headers.h"
#include "symbolizer/symbol_module.h"
#include "symbolizer/symbol_sources.h"

#define NR_SOURCES_MAX 16

struct open_source {
	const struct symbol_source *ops;
	void *state;
};

struct code_file {
	struct symbolizer_opts opts;
	struct symbol_module module;
	struct open_source sources[NR_SOURCES_MAX];
	size_t nr_sources;
};

static void open_sources(struct code_file *f)
{
	for (size_t i = 0; symbol_sources[i] && f->nr_sources < NR_SOURCES_MAX; i++) {
		const struct symbol_source *s = symbol_sources[i];
		void *state;

		if (!s->extent || !(s->kinds & 1u << MODULE_ELF))
			continue;
		state = s->open(&f->module);
		if (state)
			f->sources[f->nr_sources++] = (struct open_source){ s, state };
	}
}

int code_file_open(const struct profile *p, uint32_t module, struct code_file **ret_file)
{
	struct code_file *f;
	int err;

	if (p->modules[module].kind != MODULE_ELF)
		return -ENOTSUP;
	f = xcalloc(1, sizeof(*f));
	err = symbol_module_init(&f->module, p, module, false, &f->opts);
	if (err) {
		free(f);
		return err;
	}
	if (f->module.image->machine != ELF_OWN_MACHINE) {
		code_file_close(f);
		return -ENOEXEC;
	}
	open_sources(f);
	*ret_file = f;
	return 0;
}

void code_file_close(struct code_file *f)
{
	if (!f)
		return;
	while (f->nr_sources) {
		const struct open_source *s = &f->sources[--f->nr_sources];

		s->ops->close(s->state);
	}
	symbol_module_fini(&f->module);
	free(f);
}

static bool find_extent(const struct code_file *f, uint64_t vaddr, uint64_t *ret_start,
			uint64_t *ret_end)
{
	for (size_t i = 0; i < f->nr_sources; i++) {
		const struct open_source *s = &f->sources[i];

		/* A damaged table may give an extent that does not hold the address. */
		if (s->ops->extent(s->state, vaddr, ret_start, ret_end) && *ret_start <= vaddr &&
		    vaddr < *ret_end)
			return true;
	}
	return false;
}

int code_file_read(struct code_file *f, uint64_t address, struct function_code *ret_code)
{
	const struct elf_image *image = f->module.image;
	uint64_t vaddr, start, end, offset, left;
	uint8_t *bytes;
	int err;

	if (!elf_image_vaddr(image, address, &vaddr) || !find_extent(f, vaddr, &start, &end) ||
	    !elf_image_code_offset(image, start, &offset, &left))
		return -ENOENT;
	if (left > end - start)
		left = end - start;
	if (left > FUNCTION_CODE_MAX)
		left = FUNCTION_CODE_MAX;
	if (address < offset || address - offset >= left)
		return -ENOENT;
	bytes = xmalloc(left);
	err = elf_source_read(&image->source, offset, bytes, left);
	if (err) {
		free(bytes);
		return err == -ERANGE ? -EIO : err;
	}
	*ret_code = (struct function_code){ offset, start, bytes, left };
	return 0;
}

bool code_file_address(const struct code_file *f, uint64_t vaddr, uint64_t *ret_address)
{
	uint64_t left;

	return elf_image_code_offset(f->module.image, vaddr, ret_address, &left);
}
