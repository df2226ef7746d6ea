/*
 * Which of two values comes first in a sorted list. The keys of a sort are joined by "?:", the most
 * important first; a descending key has its values exchanged:
 *
 *	return ORDER(y->total_ns, x->total_ns) ?: ORDER(x->pid, y->pid);
 */
#ifndef SPROF_ORDER_H
#define SPROF_ORDER_H

#include <stdint.h>

/* -1, 0 or 1 as for qsort(). Each argument is evaluated twice. */
#define ORDER(a, b) (((a) > (b)) - ((a) < (b)))

/* For qsort() and bsearch() of numbers of 64 bits. */
static inline int order_u64(const void *a, const void *b)
{
	return ORDER(*(const uint64_t *)a, *(const uint64_t *)b);
}

#endif
