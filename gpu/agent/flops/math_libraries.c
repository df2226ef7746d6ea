/*
 * The loader counts what it has loaded and unloaded, so that tables are gone through only when that
 * has changed, and some times more: a function may be bound for the first time just then.
 */
#include "gpu/agent/flops/math_libraries.h"

#include <link.h>
#include <stdbool.h>

#include "gpu/agent/base/image.h"
#include "gpu/agent/base/report.h"
#include "gpu/agent/base/state.h"
#include "gpu/agent/flops/shape.h"

#define LOOKS_AFTER_CHANGE 3

static const struct math_library *const libraries[] = { &math_cublas, &math_cublaslt, &math_cudnn };
#define NR_LIBRARIES (sizeof(libraries) / sizeof(*libraries))

static bool is_watching;
static uintptr_t bases[NR_LIBRARIES]; /* of the copies whose functions are known; 0: none */
static uint64_t nr_loaded;	      /* and unloaded, when it was looked last */
static uint32_t looks_left;

static int count_loads(struct dl_phdr_info *info, size_t size, void *arg)
{
	if (size >= offsetof(struct dl_phdr_info, dlpi_subs) + sizeof(info->dlpi_subs))
		*(uint64_t *)arg = info->dlpi_adds + info->dlpi_subs;
	return 1;
}

static void set_real(struct import *imports, size_t nr, const struct image *image)
{
	for (size_t i = 0; i < nr; i++)
		__atomic_store_n(&imports[i].real,
				 image ? (uintptr_t)image_symbol(image, imports[i].name) : 0,
				 __ATOMIC_RELAXED);
}

/* False where functions of ours would not know what they need. */
static bool has_needed(const struct math_library *l)
{
	for (size_t i = 0; i < l->nr_needed; i++)
		if (!l->needed[i].real)
			return false;
	return true;
}

static void report_copies(const struct math_library *l)
{
	struct text text = { .length = 0 };

	text_add(&text, "several copies of ");
	text_add(&text, l->file);
	text_add(&text, " are loaded: the operations of its calls are not counted");
	report(GPU_FAIL_FLOPS, 0, &text);
}

/*
 * Finds the functions of a library. Of several copies it is unknown which one a module's stub would
 * find. False where there is nothing to replace.
 */
static bool find_functions(size_t i)
{
	const struct math_library *l = libraries[i];
	struct image image;
	int nr = image_find(l->file, &image);

	if (nr > 1)
		report_copies(l);
	if (nr != 1)
		return false;
	if (bases[i] != image.base) {
		set_real(l->needed, l->nr_needed, &image);
		set_real(l->imports, l->nr, has_needed(l) ? &image : NULL);
		bases[i] = image.base;
	}
	return true;
}

static void exchange(void)
{
	uint64_t read_only = 0;

	for (size_t i = 0; i < NR_LIBRARIES; i++)
		if (find_functions(i))
			read_only += imports_exchange(libraries[i]->file, libraries[i]->imports,
						      libraries[i]->nr, false);
	__atomic_store_n(&agent.region->counters[GPU_COUNT_FLOPS_READ_ONLY], read_only,
			 __ATOMIC_RELAXED);
}

void math_libraries_watch(void)
{
	if (!is_watching)
		shape_read_environment();
	is_watching = true;
	looks_left = LOOKS_AFTER_CHANGE;
	exchange();
}

void math_libraries_look(void)
{
	uint64_t now = nr_loaded;

	if (!is_watching)
		return;
	dl_iterate_phdr(count_loads, &now);
	if (now != nr_loaded)
		looks_left = LOOKS_AFTER_CHANGE;
	nr_loaded = now;
	if (!looks_left)
		return;
	looks_left--;
	exchange();
}

void math_libraries_ignore(void)
{
	for (size_t i = 0; is_watching && i < NR_LIBRARIES; i++)
		if (bases[i])
			imports_exchange(libraries[i]->file, libraries[i]->imports,
					 libraries[i]->nr, true);
	is_watching = false;
}
