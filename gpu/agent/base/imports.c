/*
 * A slot is found by the relocation that names its symbol: those of the PLT (lazy binding) and
 * those of the GOT (-fno-plt, addresses taken). Relocations: System V ABI chapter 4 and the
 * psABIs; RELRO is the PT_GNU_RELRO segment.
 */
#include "gpu/agent/base/imports.h"

#include <elf.h>
#include <link.h>
#include <string.h>

#if defined(__x86_64__)
#define RELOCATION_SLOT R_X86_64_JUMP_SLOT
#define RELOCATION_ADDRESS R_X86_64_GLOB_DAT
#else
#define RELOCATION_SLOT R_AARCH64_JUMP_SLOT
#define RELOCATION_ADDRESS R_AARCH64_GLOB_DAT
#endif

struct exchange {
	const char *library;
	const struct import *imports;
	size_t nr;
	bool back;
	size_t prefix; /* how many bytes all names begin with */
	size_t nr_read_only;
};

struct module {
	const struct dl_phdr_info *info;
	const ElfW(Sym) * symbols;
	const char *strings;
	const ElfW(Rela) * relocations, *jump_slots;
	size_t bytes, nr_relative, jump_bytes;
	bool needs;
};

/* glibc relocates the addresses of the dynamic section in place, musl does not. */
static uintptr_t absolute(const struct dl_phdr_info *info, uintptr_t address)
{
	return address < info->dlpi_addr ? info->dlpi_addr + address : address;
}

static const ElfW(Dyn) * dynamic_of(const struct dl_phdr_info *info)
{
	for (uint16_t i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
			return (const void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
	return NULL;
}

/* False where the module does not need the library or has no dynamic symbols. */
static bool read_module(const struct dl_phdr_info *info, const char *library, struct module *ret)
{
	const ElfW(Dyn) *dynamic = dynamic_of(info), *d;
	struct module m = { .info = info };

	for (d = dynamic; d && d->d_tag != DT_NULL; d++) {
		uintptr_t at = absolute(info, d->d_un.d_ptr);

		switch (d->d_tag) {
		case DT_SYMTAB: m.symbols = (const void *)at; break;
		case DT_STRTAB: m.strings = (const void *)at; break;
		case DT_RELA: m.relocations = (const void *)at; break;
		case DT_RELASZ: m.bytes = d->d_un.d_val; break;
		case DT_RELACOUNT: m.nr_relative = d->d_un.d_val; break;
		case DT_JMPREL: m.jump_slots = (const void *)at; break;
		case DT_PLTRELSZ: m.jump_bytes = d->d_un.d_val; break;
		}
	}
	for (d = dynamic; m.strings && d->d_tag != DT_NULL; d++)
		if (d->d_tag == DT_NEEDED)
			m.needs |= !strncmp(m.strings + d->d_un.d_val, library, strlen(library));
	*ret = m;
	return m.needs && m.symbols;
}

static bool is_in_code(const struct dl_phdr_info *info, uintptr_t at)
{
	for (uint16_t i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t start = info->dlpi_addr + p->p_vaddr;

		if (p->p_type == PT_LOAD && p->p_flags & PF_X && at >= start &&
		    at < start + p->p_memsz)
			return true;
	}
	return false;
}

static bool is_writable(const struct dl_phdr_info *info, uintptr_t at)
{
	bool in_data = false;

	for (uint16_t i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t start = info->dlpi_addr + p->p_vaddr;

		if (at < start || at + sizeof(uintptr_t) > start + p->p_memsz)
			continue;
		if (p->p_type == PT_GNU_RELRO)
			return false;
		in_data |= p->p_type == PT_LOAD && p->p_flags & PF_W;
	}
	return in_data;
}

/*
 * A slot is exchanged only if it holds the real function, or the module's own stub that binds it
 * at the first call. Before the loader has relocated a slot it holds neither: an offset within the
 * file.
 */
static void exchange_slot(const struct module *m, uintptr_t at, const struct import *i,
			  struct exchange *e)
{
	uintptr_t *slot = (uintptr_t *)at; // NOLINT(performance-no-int-to-ptr)
	uintptr_t is, becomes = e->back ? i->real : i->ours;

	if (!i->real || at % sizeof(*slot))
		return;
	if (!is_writable(m->info, at)) {
		e->nr_read_only += !e->back && __atomic_load_n(slot, __ATOMIC_RELAXED) == i->real;
		return;
	}
	is = __atomic_load_n(slot, __ATOMIC_RELAXED);
	if (e->back ? is == i->ours : is == i->real || is_in_code(m->info, is))
		__atomic_compare_exchange_n(slot, &is, becomes, false, __ATOMIC_RELEASE,
					    __ATOMIC_RELAXED);
}

static void look_through(const struct module *m, struct exchange *e, const ElfW(Rela) * r,
			 size_t nr)
{
	for (; nr; nr--, r++) {
		const ElfW(Sym) *symbol = &m->symbols[ELF64_R_SYM(r->r_info)];

		if (ELF64_R_TYPE(r->r_info) != RELOCATION_SLOT &&
		    (ELF64_R_TYPE(r->r_info) != RELOCATION_ADDRESS || r->r_addend))
			continue;
		if (symbol->st_shndx != SHN_UNDEF ||
		    strncmp(m->strings + symbol->st_name, e->imports[0].name, e->prefix) != 0)
			continue;
		for (size_t i = 0; i < e->nr; i++)
			if (!strcmp(m->strings + symbol->st_name, e->imports[i].name))
				exchange_slot(m, m->info->dlpi_addr + r->r_offset, &e->imports[i],
					      e);
	}
}

static int look(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct exchange *e = arg;
	struct module m;

	(void)size;
	if (!read_module(info, e->library, &m))
		return 0;
	if (m.jump_slots)
		look_through(&m, e, m.jump_slots, m.jump_bytes / sizeof(*m.jump_slots));
	/* relative relocations come first; they name no symbol, and most are of that kind */
	if (m.relocations && m.bytes / sizeof(*m.relocations) > m.nr_relative)
		look_through(&m, e, m.relocations + m.nr_relative,
			     m.bytes / sizeof(*m.relocations) - m.nr_relative);
	return 0;
}

static size_t common_prefix(const struct import *imports, size_t nr)
{
	size_t length = strlen(imports[0].name);

	for (size_t i = 1; i < nr; i++)
		while (strncmp(imports[0].name, imports[i].name, length) != 0)
			length--;
	return length;
}

size_t imports_exchange(const char *library, const struct import *imports, size_t nr, bool back)
{
	struct exchange e = { library, imports, nr, back, common_prefix(imports, nr), 0 };

	dl_iterate_phdr(look, &e); /* takes the loader's lock: no module is unloaded meanwhile */
	return e.nr_read_only;
}
