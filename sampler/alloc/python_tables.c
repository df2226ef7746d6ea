/*
 * From 3.12 on the three tables stand one after the other in _PyRuntime, whose layout differs from
 * build to build; so they are found by what they hold. Before, each is a static variable, whose
 * address PyObject_Malloc() and the others have as an operand relative to the pc.
 * Source: CPython's Objects/obmalloc.c and Include/internal/pycore_pymem_init.h of each version.
 */
#include "sampler/alloc/python_tables.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/portable/pylayout.h"
#include "sampler/alloc/alloc_names.h"
#include "sampler/alloc/hook_set.h"
#include "sampler/alloc/x86_64/hook_code.h"
#include "sampler/inject/inject_process.h"

#define SMALL_SIZE 512u	    /* pymalloc's SMALL_REQUEST_THRESHOLD, in all versions */
#define RUNTIME_SIZE 65536u /* of _PyRuntime; it is larger */
#define BODY_SIZE 64u	    /* of PyObject_Malloc(), and of those of the table raw */
#define PLT_SIZE 16u
#define TABLES_MINOR 12

enum { RAW, MEM, OBJ, NR_TABLES };

/* struct PyMemAllocatorEx */
struct table {
	uint64_t context;
	uint64_t functions[4]; /* malloc, calloc, realloc, free */
};

struct finder {
	const struct inject_process *process;
	const struct alloc_function *api[NR_TABLES]; /* PyMem_RawMalloc, ...; NULL: not found */
	uint64_t text_start, text_end;
};

static const struct alloc_function *function_of(const struct alloc_function *const *functions,
						size_t nr, unsigned int entry)
{
	for (size_t i = 0; i < nr; i++)
		if (functions[i]->entry == entry)
			return functions[i];
	return NULL;
}

static bool is_text(const struct finder *f, uint64_t address)
{
	return address >= f->text_start && address < f->text_end;
}

/* Does this look like a table? Stubs that were left are replaced by what they stand for. */
static bool is_table(const struct finder *f, struct table *t)
{
	for (int i = 0; i < 4; i++) {
		uint64_t *function = &t->functions[i];

		if (!is_text(f, *function) &&
		    (!hook_set_is_stub(f->process, *function, function) || !is_text(f, *function)))
			return false;
	}
	return t->functions[0] != t->functions[1] && t->functions[1] != t->functions[2] &&
	       t->functions[2] != t->functions[3];
}

/* 3.12 and later. Returns the address of the table raw, or 0. */
static uint64_t find_in_runtime(const struct finder *f, uint64_t runtime, struct table *ret)
{
	uint64_t *words = xmalloc(RUNTIME_SIZE), found = 0;
	size_t nr = RUNTIME_SIZE / 8 - NR_TABLES * sizeof(*ret) / 8;

	if (inject_process_read(f->process, runtime, words, RUNTIME_SIZE))
		nr = 0;
	for (size_t at = 0; at < nr && !found; at++) {
		memcpy(ret, words + at, NR_TABLES * sizeof(*ret));
		if (ret[MEM].functions[0] && is_table(f, &ret[RAW]) && is_table(f, &ret[MEM]) &&
		    is_table(f, &ret[OBJ]))
			found = runtime + at * 8;
	}
	free(words);
	return found;
}

/*
 * Up to 3.11. Every byte is taken for the start of an operand that is relative to the pc: it leads
 * to the context, or to the function behind that.
 */
static uint64_t find_by_code(const struct finder *f, const struct alloc_function *api,
			     struct table *ret)
{
	uint8_t body[BODY_SIZE];
	size_t size = api && api->size < BODY_SIZE ? (size_t)api->size : BODY_SIZE;

	if (!api || inject_process_read(f->process, api->address, body, size))
		return 0;
	for (size_t at = 0; at + 4 <= size; at++) {
		int32_t distance;
		uint64_t to;

		memcpy(&distance, body + at, sizeof(distance));
		to = api->address + at + 4 + (uint64_t)(int64_t)distance;
		for (int back = 0; to % 8 == 0 && back < 2; back++)
			if (!inject_process_read(f->process, to - 8u * (unsigned int)back, ret,
						 sizeof(*ret)) &&
			    is_table(f, ret))
				return to - 8u * (unsigned int)back;
	}
	return 0;
}

/* Is that the malloc(3) or free(3) that is hooked in any case? */
static bool is_main(const struct alloc_function *const *functions, size_t nr, uint64_t address,
		    const char *name)
{
	for (size_t i = 0; i < nr; i++)
		if (functions[i]->address == address && functions[i]->is_main &&
		    !strcmp(functions[i]->name, name))
			return true;
	return false;
}

/* Does a function of the table raw end in a jump to malloc(3) or free(3)? */
static bool leads_to(const struct finder *f, uint64_t function,
		     const struct alloc_function *const *functions, size_t nr, const char *name)
{
	uint8_t body[BODY_SIZE], plt[PLT_SIZE];
	uint64_t to, slot;
	size_t at = 0;

	if (inject_process_read(f->process, function, body, sizeof(body)))
		return false;
	to = hook_next_jump(body, sizeof(body), function, false, &at);
	if (!to || inject_process_read(f->process, to, plt, sizeof(plt)))
		return false;
	slot = hook_plt_slot(plt, sizeof(plt), to);
	if (slot && inject_process_read(f->process, slot, &to, sizeof(to)))
		return false;
	return is_main(functions, nr, to, name);
}

static size_t add_slots(const char *path, uint64_t table, uint32_t limit, bool by_malloc,
			struct alloc_function *ret, size_t nr)
{
	static const struct alloc_name names[4] = {
		{ "Python's malloc", ALLOC_PYTHON_MALLOC },
		{ "Python's calloc", ALLOC_PYTHON_CALLOC },
		{ "Python's realloc", ALLOC_PYTHON_REALLOC },
		{ "Python's free", ALLOC_PYTHON_FREE },
	};

	/* free is the last */
	for (unsigned int i = 0; i < (by_malloc ? 3u : 4u); i++)
		ret[nr++] = (struct alloc_function){
			.name = (char *)names[i].name,
			.path = path,
			.entry = names[i].entry,
			.address = table + offsetof(struct table, functions) + 8u * i,
			.size = 8,
			.is_slot = true,
			.limit = limit,
			.by_malloc = by_malloc,
		};
	return nr;
}

static bool find_tables(const struct finder *f, const struct py_layout *layout, uint64_t *at,
			struct table *tables)
{
	if (layout->minor >= TABLES_MINOR) {
		at[RAW] = find_in_runtime(f, layout->runtime, tables);
		at[MEM] = at[RAW] + sizeof(struct table);
		at[OBJ] = at[MEM] + sizeof(struct table);
		return at[RAW];
	}
	for (int i = 0; i < NR_TABLES; i++) {
		at[i] = find_by_code(f, f->api[i], &tables[i]);
		if (!at[i])
			return false;
	}
	return true;
}

size_t python_tables_find(const struct inject_process *process, const struct py_layout *layout,
			  const struct alloc_function *const *functions, size_t nr,
			  struct alloc_function *ret_slots, const char **ret_why)
{
	struct finder f = { .process = process };
	struct table tables[NR_TABLES];
	uint64_t at[NR_TABLES];
	bool by_malloc;
	uint32_t limit;

	*ret_why = NULL;
	for (unsigned int i = 0; i < NR_TABLES; i++)
		f.api[i] = function_of(functions, nr, ALLOC_NAME_PYTHON_RAW + i);
	if (!f.api[OBJ])
		return 0; /* no Python */
	f.text_start = f.api[OBJ]->text_start;
	f.text_end = f.api[OBJ]->text_end;
	*ret_why = "its version is not known";
	if (!layout->runtime)
		return 0;
	*ret_why = "its tables of allocators were not found";
	if (!find_tables(&f, layout, at, tables))
		return 0;
	*ret_why = "its allocators are wrapped, by PYTHONMALLOC=debug, tracemalloc or the like";
	if (tables[MEM].context || tables[OBJ].context)
		return 0;
	*ret_why = NULL;
	if (tables[OBJ].functions[0] == tables[RAW].functions[0])
		return 0; /* PYTHONMALLOC=malloc */
	/* pymalloc serves both domains by one function; mimalloc does not, and takes all sizes */
	limit = tables[MEM].functions[0] == tables[OBJ].functions[0] ? SMALL_SIZE : 0;
	by_malloc = limit && !tables[RAW].context &&
		    leads_to(&f, tables[RAW].functions[0], functions, nr, "malloc") &&
		    leads_to(&f, tables[RAW].functions[3], functions, nr, "free");
	nr = add_slots(f.api[OBJ]->path, at[MEM], limit, by_malloc, ret_slots, 0);
	return add_slots(f.api[OBJ]->path, at[OBJ], limit, by_malloc, ret_slots, nr);
}
