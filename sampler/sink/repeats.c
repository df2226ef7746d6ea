/*
 * At each place the runs of every length are tried, the shortest first. Nearly all fail at the
 * first comparison, so a stack of 4096 frames takes about a tenth of a millisecond.
 */
#include "sampler/sink/repeats.h"

#include <string.h>

#include "core/profile/markers.h"

#define MIN_LEFT_OUT 16u /* frames; fewer are not worth a marker */

/* How many times the run at words[0] is repeated right after it. */
static size_t count_more(const uint64_t *words, size_t nr, size_t length)
{
	size_t more = 0;

	while ((more + 2) * length <= nr &&
	       !memcmp(words, words + (more + 1) * length, length * sizeof(*words)))
		more++;
	return more;
}

struct repeat repeats_next(const uint64_t *words, size_t nr, size_t from)
{
	for (size_t i = from; i + MIN_LEFT_OUT < nr; i++) {
		size_t left = nr - 1 - i;

		for (size_t length = 1; length <= REPEAT_MAX_FRAMES && 2 * length <= left;
		     length++) {
			size_t more;

			if (words[i] != words[i + length])
				continue;
			more = count_more(words + i, left, length);
			if (more * length >= MIN_LEFT_OUT)
				return (struct repeat){ i, (uint32_t)length, (uint32_t)more };
		}
	}
	return (struct repeat){ .start = nr };
}
