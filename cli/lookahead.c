/* A stream of our own: first what was read ahead, then the rest of the file. */
#include "cli/lookahead.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/alloc.h"

enum { BUFFER_SIZE = 64 * 1024 };

static ssize_t read_on(void *cookie, char *data, size_t size)
{
	struct lookahead *l = cookie;
	size_t left = l->size - l->at;

	if (!left) {
		size_t got = fread(data, 1, size, l->inner);

		return !got && ferror(l->inner) ? -1 : (ssize_t)got;
	}
	size = size < left ? size : left;
	memcpy(data, l->head + l->at, size);
	l->at += size;
	return (ssize_t)size;
}

int lookahead_init(struct lookahead *l, FILE *f, size_t size)
{
	*l = (struct lookahead){ .inner = f, .head = xmalloc(size) };
	errno = 0;
	l->size = fread(l->head, 1, size, f);
	if (ferror(f)) {
		int err = errno ? -errno : -EIO;

		lookahead_fini(l);
		return err;
	}
	l->file = fopencookie(l, "r", (cookie_io_functions_t){ .read = read_on });
	if (!l->file) {
		lookahead_fini(l);
		return -ENOMEM;
	}
	setvbuf(l->file, NULL, _IOFBF, BUFFER_SIZE);
	return 0;
}

void lookahead_fini(struct lookahead *l)
{
	if (l->file)
		fclose(l->file);
	free(l->head);
	*l = (struct lookahead){ 0 };
}
