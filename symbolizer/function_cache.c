/*
 * An open-addressing table from (name, file, line) of a symbol to the function id in the profile.
 * Strings are compared by address.
 */
#include "symbolizer/function_cache.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "symbolizer/lookup/demangle.h"

struct function_cache_slot {
	const char *name; /* NULL = empty */
	const char *file;
	uint32_t line, function;
};

static size_t hash_of(const char *name, const char *file, uint32_t line)
{
	uint64_t h = (uintptr_t)name * 0x9e3779b97f4a7c15u;

	h = (h ^ (uintptr_t)file ^ (uint64_t)line << 40) * 0xff51afd7ed558ccdu;
	return (size_t)(h ^ h >> 32);
}

static struct function_cache_slot *find_slot(const struct function_cache *cache, const char *name,
					     const char *file, uint32_t line)
{
	size_t mask = cache->nr_slots - 1;
	size_t at = hash_of(name, file, line) & mask;

	while (cache->slots[at].name &&
	       (cache->slots[at].name != name || cache->slots[at].file != file ||
		cache->slots[at].line != line))
		at = (at + 1) & mask;
	return &cache->slots[at];
}

static void grow(struct function_cache *cache)
{
	struct function_cache bigger = { .nr_slots = cache->nr_slots ? 2 * cache->nr_slots : 1024,
					 .nr = cache->nr };

	bigger.slots = xcalloc(bigger.nr_slots, sizeof(*bigger.slots));
	for (size_t i = 0; i < cache->nr_slots; i++) {
		const struct function_cache_slot *s = &cache->slots[i];

		if (s->name)
			*find_slot(&bigger, s->name, s->file, s->line) = *s;
	}
	free(cache->slots);
	*cache = bigger;
}

static uint32_t make_function(struct profile *p, uint32_t module, enum function_kind kind,
			      const struct symbol_frame *frame, const char *file)
{
	struct profile_function function = {
		.module = module,
		.start_line = frame->declared_line,
		.kind = (uint8_t)kind,
	};
	char *readable = kind == FUNCTION_NATIVE ? demangle(frame->name) : NULL;

	function.system_name = profile_cstring(p, frame->name);
	function.name = readable ? profile_cstring(p, readable) : function.system_name;
	if (file)
		function.file = profile_cstring(p, file);
	free(readable);
	return profile_function(p, &function);
}

uint32_t function_cache_get(struct function_cache *cache, struct profile *p, uint32_t module,
			    enum function_kind kind, const struct symbol_frame *frame)
{
	/* Assembly has lines but no declarations, so the file of its lines is taken. */
	const char *file = frame->declared_file ? frame->declared_file : frame->file;
	struct function_cache_slot *slot;

	if (2 * cache->nr >= cache->nr_slots)
		grow(cache);
	slot = find_slot(cache, frame->name, file, frame->declared_line);
	if (!slot->name) {
		slot->name = frame->name;
		slot->file = file;
		slot->line = frame->declared_line;
		slot->function = make_function(p, module, kind, frame, file);
		cache->nr++;
	}
	return slot->function;
}

void function_cache_fini(struct function_cache *cache)
{
	free(cache->slots);
	*cache = (struct function_cache){ 0 };
}
