// BUILD: -O0 -fno-builtin
/* An allocator that a program loads late: it hands out one array, and takes nothing back. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define SIZE (160u << 20)

static _Alignas(16) char arena[SIZE];
static size_t used;

void *malloc(size_t size);
void *calloc(size_t number, size_t size);
void *realloc(void *block, size_t size);
void free(void *block);

void *malloc(size_t size)
{
	size_t *block = (size_t *)(void *)(arena + used);

	if (size > SIZE - 32 || used > SIZE - 32 - size)
		return NULL;
	block[0] = size;
	used += 16 + ((size + 15) & ~(size_t)15);
	return block + 2;
}

void *calloc(size_t number, size_t size)
{
	return malloc(number * size); /* nothing is used twice */
}

void *realloc(void *block, size_t size)
{
	void *moved = malloc(size);

	if (moved && block) {
		size_t was = ((size_t *)block)[-2];

		memcpy(moved, block, was < size ? was : size);
	}
	return moved;
}

void free(void *block)
{
	if (block)
		((size_t *)block)[-2] = 0;
}
