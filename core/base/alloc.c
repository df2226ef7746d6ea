/*
 * The xmalloc family: each call returns memory or ends the program with a message, so that callers
 * never check.
 */
#include "core/base/alloc.h"

#include <malloc.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEPT_MAX (256 << 10) /* bytes that each thread keeps after alloc_return_memory() */

static void (*report)(void); /* NULL: the message of this file */

void alloc_set_report(void (*fn)(void))
{
	report = fn;
}

static void __attribute__((noreturn)) out_of_memory(size_t nr, size_t size)
{
	if (report) {
		report();
		exit(1);
	}
	fprintf(stderr, "sprof: cannot allocate %zu x %zu bytes: out of memory\n", nr, size);
	exit(1);
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
	return p;
}

void *xreallocarray(void *old, size_t nr, size_t size)
{
	void *p = reallocarray(old, nr ? nr : 1, size ? size : 1);

	if (!p)
		out_of_memory(nr, size);
	return p;
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

void *xgrow_to(void *array, size_t *capacity, size_t *nr, size_t index, size_t size)
{
	if (index < *nr)
		return array;
	array = xgrow(array, capacity, index + 1, size);
	memset((char *)array + *nr * size, 0, (index + 1 - *nr) * size);
	*nr = index + 1;
	return array;
}

/* A size that is set does not follow what is freed any more (mallopt(3)). */
void alloc_return_memory(void)
{
	mallopt(M_MMAP_THRESHOLD, KEPT_MAX);
	mallopt(M_TRIM_THRESHOLD, KEPT_MAX);
}
