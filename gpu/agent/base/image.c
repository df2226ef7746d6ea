/*
 * The images come from dl_iterate_phdr(); symbols are looked up in the tables of the dynamic
 * section, DT_GNU_HASH or DT_HASH (System V ABI, chapter 5).
 */
#include "gpu/agent/base/image.h"

#include <string.h>

struct search {
	const char *name;
	uintptr_t except;
	struct image *ret;
	int nr;
};

static const char *file_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static void describe(const struct dl_phdr_info *info, struct image *ret)
{
	size_t length = strlen(info->dlpi_name);

	ret->base = info->dlpi_addr;
	ret->phdrs = info->dlpi_phdr;
	ret->nr_phdrs = info->dlpi_phnum;
	if (length >= sizeof(ret->path))
		length = sizeof(ret->path) - 1;
	memcpy(ret->path, info->dlpi_name, length);
	ret->path[length] = 0;
}

static int match(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct search *s = arg;

	(void)size;
	if (strncmp(file_name(info->dlpi_name), s->name, strlen(s->name)) != 0 ||
	    (s->except && info->dlpi_addr == s->except))
		return 0;
	if (!s->nr++ && s->ret)
		describe(info, s->ret);
	return 0;
}

int image_find_except(const char *name, uintptr_t base, struct image *ret)
{
	struct search s = { .name = name, .except = base, .ret = ret };

	dl_iterate_phdr(match, &s);
	return s.nr;
}

int image_find(const char *name, struct image *ret)
{
	return image_find_except(name, 0, ret);
}

struct place {
	uintptr_t address;
	struct image *ret;
};

static int holds(struct dl_phdr_info *info, size_t size, void *arg)
{
	const struct place *p = arg;

	(void)size;
	for (uint16_t i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];

		if (ph->p_type != PT_LOAD ||
		    p->address - info->dlpi_addr - ph->p_vaddr >= ph->p_memsz)
			continue;
		describe(info, p->ret);
		return 1;
	}
	return 0;
}

bool image_at(const void *address, struct image *ret)
{
	struct place p = { (uintptr_t)address, ret };

	return dl_iterate_phdr(holds, &p);
}

const char *image_name(const struct image *image)
{
	return file_name(image->path);
}

struct tables {
	const ElfW(Sym) * symbols;
	const char *strings;
	const uint32_t *gnu_hash;
	const uint32_t *hash;
};

/* glibc has relocated these addresses in place; musl and the vdso have not. */
static uintptr_t absolute(const struct image *image, uintptr_t address)
{
	return address < image->base ? image->base + address : address;
}

static bool read_tables(const struct image *image, struct tables *ret)
{
	const ElfW(Dyn) *d = NULL;

	*ret = (struct tables){ 0 };
	for (uint16_t i = 0; i < image->nr_phdrs; i++)
		if (image->phdrs[i].p_type == PT_DYNAMIC)
			d = (const ElfW(Dyn) *)(image->base + image->phdrs[i].p_vaddr);
	for (; d && d->d_tag != DT_NULL; d++) {
		uintptr_t at = absolute(image, d->d_un.d_ptr);

		switch (d->d_tag) {
		case DT_SYMTAB: ret->symbols = (const void *)at; break;
		case DT_STRTAB: ret->strings = (const void *)at; break;
		case DT_GNU_HASH: ret->gnu_hash = (const void *)at; break;
		case DT_HASH: ret->hash = (const void *)at; break;
		}
	}
	return ret->symbols && ret->strings && (ret->gnu_hash || ret->hash);
}

static bool is_it(const struct tables *t, uint32_t index, const char *name)
{
	const ElfW(Sym) *s = &t->symbols[index];
	unsigned int type = ELF64_ST_TYPE(s->st_info);

	return s->st_shndx != SHN_UNDEF && (type == STT_FUNC || type == STT_OBJECT) &&
	       !strcmp(t->strings + s->st_name, name);
}

/* DT_GNU_HASH: header, Bloom filter, buckets, chains whose last hash has bit 0 set. */
static uint32_t find_gnu(const struct tables *t, const char *name)
{
	const uint32_t *h = t->gnu_hash, *buckets, *chains;
	uint32_t nr = h[0], offset = h[1], hash = 5381;

	for (const unsigned char *c = (const unsigned char *)name; *c; c++)
		hash = hash * 33 + *c;
	buckets = h + 4 + h[2] * (sizeof(ElfW(Addr)) / 4);
	chains = buckets + nr;
	if (!nr)
		return 0;
	for (uint32_t i = buckets[hash % nr]; i >= offset; i++) {
		if ((chains[i - offset] | 1) == (hash | 1) && is_it(t, i, name))
			return i;
		if (chains[i - offset] & 1)
			break;
	}
	return 0;
}

static uint32_t find_linear(const struct tables *t, const char *name)
{
	uint32_t nr = t->hash[1]; /* DT_HASH: there are as many chains as symbols */

	for (uint32_t i = 1; i < nr; i++)
		if (is_it(t, i, name))
			return i;
	return 0;
}

void *image_symbol(const struct image *image, const char *name)
{
	struct tables t;
	uint32_t i;

	if (!read_tables(image, &t))
		return NULL;
	i = t.gnu_hash ? find_gnu(&t, name) : find_linear(&t, name);
	return i ? (void *)(image->base + t.symbols[i].st_value) : NULL;
}

void *image_libc_symbol(const char *name)
{
	static const char *const libraries[] = { "libc.so.6", "libpthread.so.0", "libdl.so.2",
						 "libc.so" };

	for (size_t i = 0; i < sizeof(libraries) / sizeof(libraries[0]); i++) {
		struct image image;
		void *at;

		if (!image_find(libraries[i], &image))
			continue;
		at = image_symbol(&image, name);
		if (at)
			return at;
	}
	return NULL;
}
