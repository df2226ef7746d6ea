/*
 * Computes the Damerau-Levenshtein distance (optimal string alignment) row by row. A name is near
 * if at most a third of the letters of the word differ.
 */
#include "cli/options/near_name.h"

#include <string.h>

enum { MAX_LETTERS = 40 };

static unsigned smallest(unsigned a, unsigned b, unsigned c)
{
	unsigned least = a < b ? a : b;

	return least < c ? least : c;
}

/* Both words have at most MAX_LETTERS letters. */
static unsigned distance_of(const char *a, const char *b)
{
	unsigned rows[3][MAX_LETTERS + 1], *before = rows[0], *last = rows[1], *row = rows[2];
	size_t nr_a = strlen(a), nr_b = strlen(b);

	for (size_t j = 0; j <= nr_b; j++)
		last[j] = (unsigned)j;
	for (size_t i = 1; i <= nr_a; i++) {
		unsigned *free_row = before;

		row[0] = (unsigned)i;
		for (size_t j = 1; j <= nr_b; j++) {
			row[j] = smallest(last[j] + 1, row[j - 1] + 1,
					  last[j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    before[j - 2] + 1 < row[j])
				row[j] = before[j - 2] + 1;
		}
		before = last;
		last = row;
		row = free_row;
	}
	return last[nr_b];
}

void near_name_offer(struct near_name *near, const char *name)
{
	size_t letters = strlen(near->word);
	unsigned limit = (unsigned)(letters + 2) / 3, distance;

	if (!letters || letters > MAX_LETTERS || strlen(name) > MAX_LETTERS)
		return;
	distance = distance_of(near->word, name);
	if (distance > limit || (near->best && distance >= near->distance))
		return;
	near->best = name;
	near->distance = distance;
}
