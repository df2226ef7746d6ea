/* The calls that sprof record --calls counted, by function of a tree. */
#ifndef SPROF_COUNTED_CALLS_H
#define SPROF_COUNTED_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct profile;
struct tree_function;

struct call_counts {
	const struct profile *p;
	struct call_count *list; /* by name */
	size_t nr;
};

/* Of the profile, which must outlive it. */
void call_counts_init(struct call_counts *counts, const struct profile *p);
void call_counts_fini(struct call_counts *counts);
/* False where the function was not counted, or not from the beginning on. */
bool call_counts_find(const struct call_counts *counts, const struct tree_function *f,
		      uint64_t *ret_calls);

#endif
