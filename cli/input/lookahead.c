/*
 * Makes a stdio stream that begins again at the start of its input. A file is wound back; a pipe
 * cannot be, so the bytes that were read ahead are given out again before the rest.
 */
#include "cli/input/lookahead.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/memory_limit.h"

enum { BUFFER_SIZE = 64 * 1024 };

static ssize_t read_on(void *cookie, char *data, size_t size)
{
	struct lookahead *l = cookie;
	size_t left = l->size - l->at;

	if (!left) {
		size_t got = fread(data, 1, size, l->inner);

		if (l->is_pipe)
			memory_guard_read(got);
		return !got && ferror(l->inner) ? -1 : (ssize_t)got;
	}
	size = size < left ? size : left;
	memcpy(data, l->head + l->at, size);
	l->at += size;
	return (ssize_t)size;
}

/*
 * Returns NULL if the input cannot be wound back. The new stream shares the file offset with `f`,
 * which must not be read any more.
 */
static FILE *open_again(FILE *f, off_t start)
{
	struct stat st;
	FILE *again;
	int fd;

	if (start < 0 || fstat(fileno(f), &st) < 0 || !S_ISREG(st.st_mode))
		return NULL;
	fd = fcntl(fileno(f), F_DUPFD_CLOEXEC, 0);
	if (fd < 0)
		return NULL;
	again = fdopen(fd, "rb");
	if (!again)
		close(fd);
	else if (lseek(fd, start, SEEK_SET) == start)
		return again;
	else
		fclose(again);
	return NULL;
}

int lookahead_init(struct lookahead *l, FILE *f, size_t size)
{
	off_t start = ftello(f);

	*l = (struct lookahead){ .inner = f, .head = xmalloc(size) };
	errno = 0;
	l->size = fread(l->head, 1, size, f);
	if (ferror(f)) {
		int err = errno ? -errno : -EIO;

		lookahead_fini(l);
		return err;
	}
	l->file = open_again(f, start);
	/* A file in memory has no descriptor, and the guard knows its size already. */
	l->is_pipe = !l->file && fileno(f) >= 0;
	if (l->is_pipe)
		memory_guard_read(l->size);
	if (!l->file)
		l->file = fopencookie(l, "r", (cookie_io_functions_t){ .read = read_on });
	if (!l->file) {
		lookahead_fini(l);
		return -ENOMEM;
	}
	l->buffer = xmalloc(BUFFER_SIZE);
	setvbuf(l->file, l->buffer, _IOFBF, BUFFER_SIZE);
	return 0;
}

void lookahead_fini(struct lookahead *l)
{
	if (l->file)
		fclose(l->file);
	free(l->buffer);
	free(l->head);
	*l = (struct lookahead){ 0 };
}
