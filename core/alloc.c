/* The xmalloc family: an allocation succeeds or the program ends with a message. */
#include "core/alloc.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096, HUGE_MIN = 4 << 20 };

static void __attribute__((noreturn)) out_of_memory(size_t nr, size_t size)
{
	fprintf(stderr, "sprof: cannot allocate %zu x %zu bytes: out of memory\n", nr, size);
	exit(1);
}

/*
 * Asks for huge pages under a large array, where the system gives them to who asks: bringing in its
 * small pages one by one took a sixth of the time of drawing a million stacks. The whole of a mapping
 * is asked for, with the 16 bytes that malloc has before the array: one of two kinds cannot grow in place.
 */
static void *in_huge_pages(void *p, size_t size)
{
	uintptr_t start = (uintptr_t)p & -(uintptr_t)PAGE;
	uintptr_t end = ((uintptr_t)p + size + PAGE - 1) & -(uintptr_t)PAGE;

	if (size >= HUGE_MIN)
		madvise((void *)start, end - start, MADV_HUGEPAGE);
	return p;
}

void *xmalloc(size_t size)
{
	void *p = malloc(size ? size : 1);

	if (!p)
		out_of_memory(1, size);
	return p;
}

void *xcalloc(size_t nr, size_t size)
{
	void *p = calloc(nr ? nr : 1, size ? size : 1);

	if (!p)
		out_of_memory(nr, size);
	return in_huge_pages(p, nr * size);
}

void *xreallocarray(void *old, size_t nr, size_t size)
{
	void *p = reallocarray(old, nr ? nr : 1, size ? size : 1);

	if (!p)
		out_of_memory(nr, size);
	return in_huge_pages(p, nr * size);
}

char *xstrdup(const char *s)
{
	char *p = strdup(s);

	if (!p)
		out_of_memory(1, strlen(s) + 1);
	return p;
}

char *xasprintf(const char *format, ...)
{
	va_list ap;
	char *s;
	int n;

	va_start(ap, format);
	n = vasprintf(&s, format, ap);
	va_end(ap);
	if (n < 0)
		out_of_memory(1, strlen(format));
	return s;
}

void *xgrow(void *array, size_t *capacity, size_t need, size_t size)
{
	size_t n = *capacity ? *capacity : 16;

	if (need <= *capacity)
		return array;
	while (n < need) {
		if (n > SIZE_MAX / 2)
			out_of_memory(need, size);
		n *= 2;
	}
	array = xreallocarray(array, n, size);
	*capacity = n;
	return array;
}
