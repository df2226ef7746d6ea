/*
 * A line is written by one write() at the end of the file, so marks of several processes do not
 * mix.
 */
#include "core/segments/marks.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/full_io.h"
#include "core/rights/safe_open.h"

#define MARKS "marks"
#define MAX_BYTES (1 << 20)

static void clean(char to[MARK_TEXT_SIZE], const char *text)
{
	size_t nr = 0;

	for (; text[nr] && nr < MARK_TEXT_SIZE - 1; nr++)
		to[nr] = (unsigned char)text[nr] < ' ' || text[nr] == 0x7f ? ' ' : text[nr];
	to[nr] = '\0';
}

int marks_add(int folder, uint64_t realtime_ns, const char *text)
{
	char line[MARK_TEXT_SIZE + 32], cleaned[MARK_TEXT_SIZE];
	struct stat st;
	int fd, err, length;

	fd = openat(folder, MARKS,
		    O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	clean(cleaned, text);
	length = snprintf(line, sizeof(line), "%" PRIu64 " %s\n", realtime_ns, cleaned);
	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		err = -EINVAL;
	else if (st.st_size + length > MAX_BYTES)
		err = -EFBIG;
	else
		err = full_write(fd, line, (size_t)length);
	close(fd);
	return err;
}

struct mark *marks_read(int folder, size_t *ret_nr)
{
	int fd = safe_open_in_root_no_link(folder, MARKS, MAX_BYTES);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
	char line[MARK_TEXT_SIZE + 32], *text;
	struct mark *marks = NULL;
	size_t capacity = 0, nr = 0;

	if (fd >= 0 && !f)
		close(fd);
	while (f && fgets(line, sizeof(line), f)) {
		uint64_t ns = isdigit((unsigned char)line[0]) ? strtoull(line, &text, 10) : 0;

		if (!ns || *text != ' ')
			continue;
		text[strcspn(text, "\n")] = '\0';
		marks = xgrow(marks, &capacity, nr + 1, sizeof(*marks));
		marks[nr].realtime_ns = ns;
		clean(marks[nr++].text, text + 1);
	}
	if (f)
		fclose(f);
	*ret_nr = nr;
	return marks;
}

int marks_find(int folder, const char *text, uint64_t *ret_realtime_ns)
{
	size_t nr;
	struct mark *marks = marks_read(folder, &nr);
	int err = -ENODATA;

	while (err && nr-- > 0)
		if (!strcmp(marks[nr].text, text)) {
			*ret_realtime_ns = marks[nr].realtime_ns;
			err = 0;
		}
	free(marks);
	return err;
}
