/* sampler/alloc/alloc_memory.c: what a process maps while it is being hooked stays its own. */
// BUILD: -Wl,--wrap=near_gap_find
#include "tests/unit/unit.h"
#include "tests/unit/occupied.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>

#include "sampler/alloc/allocations.h"

#define SIZE (8u << 20)
#define DISTANCE (1ull << 30)

static uint8_t *taken;

uint64_t __wrap_near_gap_find(pid_t pid, uint64_t low, uint64_t high, uint64_t size);

/* As if the mapping had come after the maps were read. */
uint64_t __wrap_near_gap_find(pid_t pid, uint64_t low, uint64_t high, uint64_t size)
{
	(void)pid, (void)low, (void)high, (void)size;
	return (uint64_t)(uintptr_t)taken;
}

/* malloc of this process, and so of a child that is forked. */
static struct alloc_function find_malloc(void)
{
	struct alloc_function f = {
		.name = (char *)"malloc",
		.path = "libc.so.6",
		.entry = ALLOC_MALLOC,
		.is_main = true,
	};
	uint8_t *at = dlsym(RTLD_DEFAULT, "malloc");
	const ElfW(Sym) * symbol;
	Dl_info info;

	assert_non_null(at);
	assert_true(dladdr1(at, &info, (void **)&symbol, RTLD_DL_SYMENT));
	f.address = (uint64_t)(uintptr_t)at;
	f.size = symbol->st_size;
	f.text_start = f.address & ~UINT64_C(4095);
	f.text_end = f.text_start + 2 * 4096;
	memcpy(f.file, at, sizeof(f.file));
	return f;
}

static void what_a_process_maps_meanwhile_is_not_unmapped(void **state)
{
	struct alloc_function malloc_function = find_malloc();
	uint64_t wanted = (malloc_function.address - DISTANCE) & ~(uint64_t)(SIZE - 1);
	struct inject_reason reason = { 0 };
	struct allocations *a;
	pid_t pid;
	int err;

	(void)state;
	taken = occupied_map(wanted, SIZE);
	pid = occupied_start(taken, SIZE);
	assert_int_equal(allocations_new(0, false, NULL, NULL, &a), 0);
	err = allocations_attach(a, pid, &malloc_function, 1, &reason);
	occupied_was_refused(pid, err, &reason);
	allocations_free(a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_a_process_maps_meanwhile_is_not_unmapped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
