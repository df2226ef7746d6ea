/*
 * NVTX looks for a tool once. If we come later (attach), every copy has fallen back to doing
 * nothing: its function pointers are NULL. The copies are in the initialized data of their
 * modules, with or without symbols, and are recognized by the sizes and the version with which
 * they begin.
 */
#include <string.h>

#include "gpu/agent/base/image.h"
#include "gpu/agent/base/state.h"
#include "gpu/agent/nvtx/nvtx.h"

static bool in_code(const struct dl_phdr_info *info, const void *function)
{
	for (uint16_t i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t start = info->dlpi_addr + p->p_vaddr, at = (uintptr_t)function;

		if (p->p_type == PT_LOAD && p->p_flags & PF_X && at >= start &&
		    at < start + p->p_memsz)
			return true;
	}
	return false;
}

/* Reads arbitrary data of the program, which other threads may be writing. */
__attribute__((no_sanitize("thread", "address"))) static bool
is_nvtx(const struct dl_phdr_info *info, const struct nvtx_globals *g)
{
	return g->callbacks.struct_size == sizeof(g->callbacks) &&
	       g->version.struct_size == sizeof(g->version) && g->version.version == NVTX_VERSION &&
	       !g->version.reserved && in_code(info, (const void *)g->callbacks.module_table) &&
	       in_code(info, (const void *)g->version.set_tool_version);
}

__attribute__((no_sanitize("address"))) static void scan(const struct dl_phdr_info *info,
							 uintptr_t start, size_t size)
{
	for (size_t at = 0; at + sizeof(struct nvtx_globals) <= size; at += 8) {
		const struct nvtx_globals *g = (const struct nvtx_globals *)(start + at);

		if (!is_nvtx(info, g))
			continue;
		/* a copy that has not looked yet will find us itself, or is found next time */
		if (__atomic_load_n(&g->state, __ATOMIC_ACQUIRE) == NVTX_STATE_COMPLETE &&
		    !g->first_slot && nvtx_install(&g->callbacks, false))
			agent_count(GPU_COUNT_NVTX_ADOPTED, 1);
	}
}

static int look(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size;
	(void)arg;
	for (uint16_t i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type == PT_LOAD && (p->p_flags & (PF_R | PF_W)) == (PF_R | PF_W))
			scan(info, (info->dlpi_addr + p->p_vaddr + 7) & ~(uintptr_t)7,
			     p->p_filesz & ~(size_t)7);
	}
	return 0;
}

void nvtx_adopt(void)
{
	dl_iterate_phdr(look, NULL); /* takes the loader's lock: no module is unloaded meanwhile */
}
