/*
 * Does what dlsym(RTLD_NEXT, ...) does, without dlsym: that lies in another library, or has another
 * version, before and after glibc 2.34. Reads the tables of the loaded libraries. Called once per
 * function, never from a handler.
 */
#define _GNU_SOURCE
#include <elf.h>
#include <link.h>

#include "sampler/agent/preload.h"

#define HIDDEN_VERSION 0x8000 /* of a version that is not the default */

struct search {
	const char *name;
	void *found;
	int past_us;
};

struct tables {
	const Elf64_Sym *symbols;
	const char *names;
	const Elf64_Half *versions;
	const Elf64_Word *hash;
};

static int same(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return *a == *b;
}

static const void *place(const struct dl_phdr_info *info, Elf64_Addr pointer)
{
	/* the loader has added the base to them, except where it must not write */
	return (const void *)(pointer < info->dlpi_addr ? pointer + info->dlpi_addr : pointer);
}

static int find_tables(const struct dl_phdr_info *info, struct tables *ret)
{
	const Elf64_Dyn *dynamic = (void *)0;

	*ret = (struct tables){ 0 };
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
			dynamic = (void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
	for (; dynamic && dynamic->d_tag != DT_NULL; dynamic++) {
		const void *at = place(info, dynamic->d_un.d_ptr);

		switch (dynamic->d_tag) {
		case DT_SYMTAB: ret->symbols = at; break;
		case DT_STRTAB: ret->names = at; break;
		case DT_VERSYM: ret->versions = at; break;
		case DT_GNU_HASH: ret->hash = at; break;
		}
	}
	return ret->symbols && ret->names && ret->hash;
}

static void *look_up(const struct dl_phdr_info *info, const char *name)
{
	Elf64_Word hash = 5381, at;
	const Elf64_Word *buckets, *chains;
	struct tables t;

	if (!find_tables(info, &t) || !t.hash[0])
		return (void *)0;
	for (const char *c = name; *c; c++)
		hash = hash * 33 + (unsigned char)*c;
	buckets = t.hash + 4 + t.hash[2] * 2; /* behind the bloom filter, of 64-bit words */
	chains = buckets + t.hash[0];
	for (at = buckets[hash % t.hash[0]]; at >= t.hash[1] && at; at++) {
		Elf64_Word word = chains[at - t.hash[1]];
		const Elf64_Sym *s = &t.symbols[at];

		if ((word | 1) == (hash | 1) && s->st_shndx != SHN_UNDEF &&
		    ELF64_ST_TYPE(s->st_info) == STT_FUNC && same(t.names + s->st_name, name) &&
		    !(t.versions && t.versions[at] & HIDDEN_VERSION))
			return (void *)(info->dlpi_addr + s->st_value);
		if (word & 1)
			break;
	}
	return (void *)0;
}

static int holds_us(const struct dl_phdr_info *info)
{
	Elf64_Addr us = (Elf64_Addr)agent_next_function;

	for (int i = 0; i < info->dlpi_phnum; i++) {
		const Elf64_Phdr *p = &info->dlpi_phdr[i];

		if (p->p_type == PT_LOAD && us - info->dlpi_addr - p->p_vaddr < p->p_memsz)
			return 1;
	}
	return 0;
}

static int visit(struct dl_phdr_info *info, size_t size, void *context)
{
	struct search *search = context;

	(void)size;
	if (!search->past_us)
		search->past_us = holds_us(info);
	else
		search->found = look_up(info, search->name);
	return search->found != (void *)0;
}

void *agent_next_function(const char *name)
{
	struct search search = { .name = name };

	dl_iterate_phdr(visit, &search);
	return search.found;
}
