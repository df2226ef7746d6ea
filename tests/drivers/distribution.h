/* Collects durations and prints their quantiles, for the drivers. */
#ifndef SPROF_TESTS_DISTRIBUTION_H
#define SPROF_TESTS_DISTRIBUTION_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/alloc.h"

struct distribution {
	uint64_t *ns;
	size_t nr, capacity;
};

static inline void distribution_add(struct distribution *d, uint64_t ns)
{
	d->ns = xgrow(d->ns, &d->capacity, d->nr + 1, sizeof(*d->ns));
	d->ns[d->nr++] = ns;
}

static inline int distribution_compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Prints "NAME us p50 .. p90 .. p99 .. max .. n .." and frees. */
static inline void distribution_print(struct distribution *d, const char *name)
{
	if (d->nr) {
		qsort(d->ns, d->nr, sizeof(*d->ns), distribution_compare);
		printf("%s us p50 %.0f p90 %.0f p99 %.0f max %.0f n %zu\n", name,
		       (double)d->ns[d->nr / 2] / 1e3, (double)d->ns[d->nr * 9 / 10] / 1e3,
		       (double)d->ns[d->nr * 99 / 100] / 1e3, (double)d->ns[d->nr - 1] / 1e3,
		       d->nr);
	}
	free(d->ns);
	*d = (struct distribution){ 0 };
}

#endif
