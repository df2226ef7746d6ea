/*
 * Maps a symbol to a function of the profile, once per symbol: most frames of a module lie in
 * functions that were seen before, and demangling costs more than a lookup. Symbols are told apart
 * by the addresses of their strings, so a cache is for the sources of one module.
 */
#ifndef SPROF_FUNCTION_CACHE_H
#define SPROF_FUNCTION_CACHE_H

#include "symbolizer/lookup/symbol_source.h"

struct function_cache_slot;

/* Zeroed is a valid empty cache. */
struct function_cache {
	struct function_cache_slot *slots;
	size_t nr_slots, nr;
};

/* Returns the function id of frame->name (not NULL) in the profile. */
uint32_t function_cache_get(struct function_cache *cache, struct profile *p, uint32_t module,
			    enum function_kind kind, const struct symbol_frame *frame);
void function_cache_fini(struct function_cache *cache);

#endif
