// Thread-local storage in a library that storm.c loads and unloads.
#include <stdint.h>

static __thread uint64_t own;

uint64_t *storage_own(void);
uint64_t *storage_own(void)
{
	return &own;
}
