/*
 * Every interpreter exports _PyRuntime and PyCode_Type, even a stripped one. They are found through
 * the hash table of the dynamic linker, so a file without them costs only a few reads. The version
 * is read from the file's data, never from its name.
 *
 * Source: System V gABI chapter 5; for .gnu.hash binutils' bfd/elflink.c.
 */
#include "sampler/runtimes/python/interpreter.h"

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "sampler/target/mapped_file.h"
#include "sampler/target/process.h"
#include "sampler/runtimes/python/layout_table.h"
#include "sampler/runtimes/python/tls_access_x86_64.h"
#include "sampler/unwind/image.h"

#define MAX_CHAIN 4096
#define MAX_RODATA (64u << 20)
#define MAX_SECTIONS 1024

struct dynamic_symbols {
	const struct unwind_image *image;
	Elf64_Shdr hash, symbols, strings, rodata;
	uint32_t nr_buckets, first_symbol, bloom_words;
};

static bool read_at(const struct unwind_image *image, uint64_t offset, void *to, size_t size)
{
	return !unwind_image_read(image, offset, to, size);
}

static bool find_sections(struct dynamic_symbols *d)
{
	const struct elf_headers *headers = &d->image->headers;

	if (headers->nr_sections > MAX_SECTIONS)
		return false;
	for (size_t i = 0; i < headers->nr_sections; i++) {
		const Elf64_Shdr *s = &headers->sections[i];

		if (s->sh_type == SHT_GNU_HASH)
			d->hash = *s;
		else if (s->sh_type == SHT_DYNSYM)
			d->symbols = *s;
		else if (s->sh_type == SHT_PROGBITS &&
			 elf_headers_section_is(&d->image->source, headers, i, ".rodata"))
			d->rodata = *s;
	}
	if (!d->hash.sh_type || !d->symbols.sh_type || d->symbols.sh_link >= headers->nr_sections)
		return false;
	d->strings = headers->sections[d->symbols.sh_link];
	return true;
}

static bool open_symbols(struct dynamic_symbols *d, const struct unwind_image *image)
{
	uint32_t head[4]; /* buckets, first symbol in the table, words and shift of the filter */

	*d = (struct dynamic_symbols){ .image = image };
	if (!find_sections(d) || !read_at(image, d->hash.sh_offset, head, sizeof(head)))
		return false;
	d->nr_buckets = head[0];
	d->first_symbol = head[1];
	d->bloom_words = head[2];
	return d->nr_buckets > 0;
}

static uint32_t hash_name(const char *name)
{
	uint32_t h = 5381;

	for (; *name; name++)
		h = h * 33 + (unsigned char)*name;
	return h;
}

static bool is_named(const struct dynamic_symbols *d, uint32_t index, const char *name,
		     Elf64_Sym *ret_symbol)
{
	size_t size = strlen(name) + 1;
	char found[64];

	return size <= sizeof(found) &&
	       read_at(d->image, d->symbols.sh_offset + index * sizeof(Elf64_Sym), ret_symbol,
		       sizeof(*ret_symbol)) &&
	       read_at(d->image, d->strings.sh_offset + ret_symbol->st_name, found, size) &&
	       !memcmp(found, name, size) && ret_symbol->st_shndx != SHN_UNDEF;
}

static bool find_symbol(const struct dynamic_symbols *d, const char *name, Elf64_Sym *ret_symbol)
{
	uint32_t h = hash_name(name), index, word;
	uint64_t buckets = d->hash.sh_offset + 16 + 8ull * d->bloom_words;
	uint64_t chains = buckets + 4ull * d->nr_buckets;

	if (!read_at(d->image, buckets + 4ull * (h % d->nr_buckets), &index, 4) ||
	    index < d->first_symbol)
		return false;
	for (int i = 0; i < MAX_CHAIN; i++, index++) {
		if (!read_at(d->image, chains + 4ull * (index - d->first_symbol), &word, 4))
			return false;
		if ((word | 1) == (h | 1) && is_named(d, index, name, ret_symbol))
			return true;
		if (word & 1)
			return false;
	}
	return false;
}

/* Every build contains "cpython-310" or the like, in the suffix of its extension modules. */
static bool version_of_suffix(const struct dynamic_symbols *d, unsigned int *ret_minor)
{
	static const char prefix[] = "cpython-3";
	size_t size = d->rodata.sh_size < MAX_RODATA ? d->rodata.sh_size : MAX_RODATA;
	char *data = xmalloc(size + 1), *at = NULL, *end = NULL;

	data[size] = '\0';
	if (size && read_at(d->image, d->rodata.sh_offset, data, size))
		at = memmem(data, size, prefix, sizeof(prefix) - 1);
	if (at)
		*ret_minor = (unsigned int)strtoul(at + sizeof(prefix) - 1, &end, 10);
	at = at && end != at + sizeof(prefix) - 1 ? at : NULL;
	free(data);
	return at;
}

static bool find_version(const struct dynamic_symbols *d, unsigned int *ret_minor)
{
	Elf64_Sym symbol;
	uint64_t version;

	if (find_symbol(d, "Py_Version", &symbol) &&
	    !unwind_image_read_at(d->image, symbol.st_value, &version, sizeof(version)) &&
	    version >> 24 == 3) {
		*ret_minor = version >> 16 & 0xff;
		return true;
	}
	return version_of_suffix(d, ret_minor);
}

/* From 3.15 on the thread's state is in a thread-local variable, which an accessor reads. */
static bool find_tls(const struct dynamic_symbols *d, struct py_layout *l)
{
	uint8_t code[32];
	Elf64_Sym symbol;

	if (!find_symbol(d, "PyGILState_GetThisThreadState", &symbol) ||
	    unwind_image_read_at(d->image, symbol.st_value, code, sizeof(code)))
		return false;
	return python_find_tls_access(code, sizeof(code), symbol.st_value, l);
}

static enum python_elf read_python(const struct dynamic_symbols *d, struct py_layout *ret_layout,
				   char *why, size_t why_size)
{
	uint64_t debug[PYTHON_DEBUG_WORDS] = { 0 };
	Elf64_Sym runtime, code_type, state, eval;
	unsigned int minor = 0;
	struct py_layout l;

	if (!find_symbol(d, "PyCode_Type", &code_type) ||
	    !find_symbol(d, "PyGILState_GetThisThreadState", &state))
		return PYTHON_ELF_NOT;
	if (!find_symbol(d, "_PyRuntime", &runtime)) {
		snprintf(why, why_size, "it has no _PyRuntime, so it is older than CPython 3.7");
		return PYTHON_ELF_UNSUPPORTED;
	}
	if (!find_version(d, &minor)) {
		snprintf(why, why_size, "it does not say its version");
		return PYTHON_ELF_UNSUPPORTED;
	}
	/* If it is not in the file, the checks of the layout fail. */
	unwind_image_read_at(d->image, runtime.st_value, debug, sizeof(debug));
	if (python_layout_fill(&l, minor, debug, why, why_size))
		return PYTHON_ELF_UNSUPPORTED;
	l.runtime = runtime.st_value;
	if (!l.tss_key && !find_tls(d, &l)) {
		snprintf(why, why_size,
			 "its PyGILState_GetThisThreadState does not show where it keeps the "
			 "state of a thread");
		return PYTHON_ELF_UNSUPPORTED;
	}
	l.code_type = code_type.st_value;
	if (l.chain == PY_CHAIN_EVAL && find_symbol(d, "_PyEval_EvalFrameDefault", &eval)) {
		l.eval_start = eval.st_value;
		l.eval_end = eval.st_value + eval.st_size;
	}
	*ret_layout = l;
	return PYTHON_ELF_FOUND;
}

enum python_elf python_elf_read(int fd, struct py_layout *ret_layout, char *why, size_t why_size)
{
	enum python_elf found = PYTHON_ELF_NOT;
	struct unwind_image image;
	struct dynamic_symbols d;

	if (unwind_image_open(&image, fd))
		return PYTHON_ELF_NOT;
	if (open_symbols(&d, &image))
		found = read_python(&d, ret_layout, why, why_size);
	unwind_image_close(&image);
	return found;
}

bool python_elf_bias(const struct mapping *m, uint64_t *ret_bias)
{
	uint64_t vaddr;

	if (m->code->kind != MODULE_ELF || !m->code->nr_segments ||
	    !mapped_file_vaddr(m->code, m->pgoff, &vaddr))
		return false;
	*ret_bias = m->start - vaddr;
	return true;
}

void python_elf_move(struct py_layout *layout, uint64_t bias)
{
	layout->runtime += bias;
	layout->code_type += bias;
	if (layout->eval_start) {
		layout->eval_start += bias;
		layout->eval_end += bias;
	}
}
