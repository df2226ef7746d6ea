/* The calls that sprof record --calls counted, for the functions of a tree. */
#ifndef SPROF_COUNTED_CALLS_H
#define SPROF_COUNTED_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct profile;
struct tree_function;

struct counted_calls {
	const struct profile *p;
	struct call_count *list; /* by name */
	size_t nr;
};

/* The profile must outlive it. */
void counted_calls_init(struct counted_calls *counts, const struct profile *p);
void counted_calls_fini(struct counted_calls *counts);
/* Returns false if the function was not counted, or not from the beginning of the recording. */
bool counted_calls_find(const struct counted_calls *counts, const struct tree_function *f,
			uint64_t *ret_calls);

#endif
