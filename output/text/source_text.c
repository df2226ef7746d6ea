/*
 * Reads a source file and finds its lines. A recording can name any path, so only regular files up
 * to a limit are opened.
 */
#include "output/text/source_text.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/buffer.h"
#include "core/base/full_io.h"
#include "core/rights/safe_open.h"
#include "output/text/align.h"
#include "output/text/text.h"

#define MAX_SIZE (16u << 20)

struct source_text {
	char *data;
	size_t size;
	size_t *starts; /* by line - 1; one more for the end */
	size_t nr_lines;
	uint64_t changed_ns;
};

static void find_lines(struct source_text *t)
{
	size_t capacity = 0;
	const char *at = t->data, *end = t->data + t->size;

	for (;;) {
		t->starts = xgrow(t->starts, &capacity, t->nr_lines + 2, sizeof(*t->starts));
		t->starts[t->nr_lines] = (size_t)(at - t->data);
		if (at == end)
			return;
		t->nr_lines++;
		at = memchr(at, '\n', (size_t)(end - at));
		at = at ? at + 1 : end;
	}
}

struct source_text *source_text_open(const char *path)
{
	struct source_text *t = NULL;
	struct stat st;
	int fd;

	if (path[0] != '/')
		return NULL;
	fd = safe_open(path, MAX_SIZE);
	if (fd < 0)
		return NULL;
	if (fstat(fd, &st) || st.st_size <= 0 || st.st_size > MAX_SIZE)
		goto out;
	t = xcalloc(1, sizeof(*t));
	t->size = (size_t)st.st_size;
	t->data = xmalloc(t->size);
	t->changed_ns = (uint64_t)st.st_mtim.tv_sec * 1000000000 + (uint64_t)st.st_mtim.tv_nsec;
	if (full_read_at(fd, t->data, t->size, 0)) {
		source_text_free(t);
		t = NULL;
		goto out;
	}
	find_lines(t);
out:
	close(fd);
	return t;
}

void source_text_free(struct source_text *text)
{
	if (!text)
		return;
	free(text->data);
	free(text->starts);
	free(text);
}

/* Returns a line without its newline; *ret_size is 0 beyond the last line. */
static const char *line_at(const struct source_text *text, uint32_t line, size_t *ret_size)
{
	size_t start, end;

	*ret_size = 0;
	if (!line || line > text->nr_lines)
		return "";
	start = text->starts[line - 1];
	end = text->starts[line];
	while (end > start && (text->data[end - 1] == '\n' || text->data[end - 1] == '\r'))
		end--;
	*ret_size = end - start;
	return text->data + start;
}

void source_text_add_line(struct buffer *b, const struct source_text *text, uint32_t line,
			  bool indented)
{
	struct buffer plain = { 0 };
	size_t size;
	const char *s = line_at(text, line, &size);

	for (size_t i = 0; i < size; i++) {
		if (!plain.size && !indented && (s[i] == ' ' || s[i] == '\t'))
			continue;
		if (s[i] != '\t')
			buffer_add_char(&plain, s[i]);
		else
			align_add_spaces(&plain, 8 - plain.size % 8);
	}
	text_add_clean(b, plain.data, plain.size);
	buffer_fini(&plain);
}

uint64_t source_text_changed_ns(const struct source_text *text)
{
	return text->changed_ns;
}
