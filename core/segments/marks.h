/*
 * Marks of moments in a folder of segments, made by sprof mark: lines of DIR/marks, each the time
 * of day in ns and a text. A mark needs no recorder that runs.
 */
#ifndef SPROF_MARKS_H
#define SPROF_MARKS_H

#include <stddef.h>
#include <stdint.h>

#define MARK_TEXT_SIZE 200 /* with the NUL; longer texts are cut */

struct mark {
	uint64_t realtime_ns;
	char text[MARK_TEXT_SIZE];
};

/*
 * Adds a mark; unprintable bytes of the text become spaces. 0 or -errno: -EFBIG if there are as
 * many marks as are ever read.
 */
int marks_add(int folder, uint64_t realtime_ns, const char *text);
/* The marks, in the order of the file; the caller frees them. NULL: there are none. */
struct mark *marks_read(int folder, size_t *ret_nr);
/* Finds the last mark with that text. 0 or -ENODATA. */
int marks_find(int folder, const char *text, uint64_t *ret_realtime_ns);

#endif
