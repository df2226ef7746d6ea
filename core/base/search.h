/*
 * Binary search in an array with any order: the caller says which elements come before the one that
 * is searched.
 */
#ifndef SPROF_SEARCH_H
#define SPROF_SEARCH_H

#include <stddef.h>

/*
 * The first of the indices 0 to nr - 1 for which `is_before`, an expression of `i`, is false; nr if
 * it is true for all. Those for which it is true must come first.
 *
 *	at = SEARCH(i, t->nr, t->symbols[i].start < address);
 */
#define SEARCH(i, nr, is_before)                                                                   \
	({                                                                                         \
		size_t search_low = 0, search_high = (nr);                                         \
                                                                                                   \
		while (search_low < search_high) {                                                 \
			size_t i = search_low + (search_high - search_low) / 2;                    \
                                                                                                   \
			if (is_before)                                                             \
				search_low = i + 1;                                                \
			else                                                                       \
				search_high = i;                                                   \
		}                                                                                  \
		search_low;                                                                        \
	})

#endif
