/*
 * /proc files have no size, so the file is read in large chunks until it ends or the limit is
 * passed.
 */
#include "core/base/text_file.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/base/alloc.h"

#define CHUNK_SIZE (1u << 20) /* large: each read of a /proc file seeks from its start */

int text_file_read(int fd, size_t max_size, char **ret_text, size_t *ret_size)
{
	size_t size = 0, capacity = 0;
	char *text = NULL;
	int err = 0;

	for (;;) {
		ssize_t n;

		text = xgrow(text, &capacity, size + CHUNK_SIZE + 1, 1);
		n = read(fd, text + size, CHUNK_SIZE);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			err = -errno;
		if (n <= 0)
			break;
		size += (size_t)n;
		if (size > max_size) {
			err = -EFBIG;
			break;
		}
	}
	close(fd);
	if (err) {
		free(text);
		return err;
	}
	text[size] = '\0';
	*ret_text = text;
	*ret_size = size;
	return 0;
}
