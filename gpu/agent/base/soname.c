/*
 * The loader compares a wanted name with the string that DT_SONAME of each mapped library points to
 * at that moment (glibc, _dl_map_object). Index 0 of every string table is the empty string, which
 * no module needs.
 */
#include "gpu/agent/base/soname.h"

#include <sys/mman.h>
#include <unistd.h>

/* True if the address is in what the loader makes read-only after relocation. */
static bool is_read_only(const struct image *image, uintptr_t at)
{
	for (uint16_t i = 0; i < image->nr_phdrs; i++) {
		const ElfW(Phdr) *p = &image->phdrs[i];

		if (p->p_type == PT_GNU_RELRO && at - image->base - p->p_vaddr < p->p_memsz)
			return true;
	}
	return false;
}

static ElfW(Dyn) * find(const struct image *image)
{
	for (uint16_t i = 0; i < image->nr_phdrs; i++) {
		uintptr_t at = image->base + image->phdrs[i].p_vaddr;

		if (image->phdrs[i].p_type != PT_DYNAMIC)
			continue;
		// NOLINTNEXTLINE(performance-no-int-to-ptr)
		for (ElfW(Dyn) *d = (ElfW(Dyn) *)at; d->d_tag != DT_NULL; d++)
			if (d->d_tag == DT_SONAME)
				return d;
	}
	return NULL;
}

bool soname_hide(const struct image *image)
{
	ElfW(Dyn) *d = find(image);
	uintptr_t at = (uintptr_t)d, page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t start = at & ~(page - 1);
	size_t length = ((at + sizeof(*d) + page - 1) & ~(page - 1)) - start;
	bool protected = d && is_read_only(image, at);

	if (!d)
		return false;
	// NOLINTNEXTLINE(performance-no-int-to-ptr)
	if (protected && mprotect((void *)start, length, PROT_READ | PROT_WRITE))
		return false;
	__atomic_store_n(&d->d_un.d_val, 0, __ATOMIC_RELEASE);
	if (protected)
		// NOLINTNEXTLINE(performance-no-int-to-ptr)
		mprotect((void *)start, length, PROT_READ);
	return true;
}
