/*
 * An answer is a head, the two names, and the runs of lines. It is checked, not understood: sizes
 * within limits, and runs whose ends ascend. Names may be any bytes, as those that a target chooses
 * are.
 */
#include "sampler/runtimes/python/code_decode.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/buffer.h"
#include "core/base/cursor.h"
#include "sampler/runtimes/python/line_table.h"

struct head {
	uint32_t name_size, file_size, nr_runs, pad;
};
_Static_assert(DECODED_MAX == sizeof(struct head) + 2 * CODE_TEXT_MAX +
				      CODE_RUNS_MAX * sizeof(struct line_run),
	       "the largest answer");

/* ---- in the child: strings, from CPython's three widths to UTF-8 */

static void add_utf8(struct buffer *b, uint32_t c)
{
	if (c < 0x80) {
		buffer_add_char(b, (char)c);
	} else if (c < 0x800) {
		buffer_add_char(b, (char)(0xc0 | c >> 6));
		buffer_add_char(b, (char)(0x80 | (c & 63)));
	} else if (c < 0x10000) {
		buffer_add_char(b, (char)(0xe0 | c >> 12));
		buffer_add_char(b, (char)(0x80 | (c >> 6 & 63)));
		buffer_add_char(b, (char)(0x80 | (c & 63)));
	} else {
		buffer_add_char(b, (char)(0xf0 | (c >> 18 & 7)));
		buffer_add_char(b, (char)(0x80 | (c >> 12 & 63)));
		buffer_add_char(b, (char)(0x80 | (c >> 6 & 63)));
		buffer_add_char(b, (char)(0x80 | (c & 63)));
	}
}

void code_string_add_text(struct buffer *b, const struct code_string *s)
{
	size_t width = s->form & ~CODE_STRING_ASCII, size = s->size, before = b->size;

	if (size > CODE_NAME_SIZE || (width != 1 && width != 2 && width != 4))
		size = 0;
	if (s->cut)
		buffer_add_string(b, "\xe2\x80\xa6");
	for (size_t i = 0; i + width <= size && width; i += width) {
		uint32_t c = 0;

		memcpy(&c, s->text + i, width);
		if (c)
			add_utf8(b, c);
	}
	if (b->size == before)
		buffer_add_string(b, "[unknown]");
}

void code_decode(const struct code_record *code, size_t size, struct buffer *to)
{
	size_t copied = size - sizeof(*code), at = to->size, names;
	struct head head = { 0 };
	struct line_run *runs;

	if (copied > code->linetable_copied)
		copied = code->linetable_copied;
	buffer_add(to, &head, sizeof(head));
	names = to->size;
	code_string_add_text(to, &code->name);
	head.name_size = (uint32_t)(to->size - names);
	code_string_add_text(to, &code->file);
	head.file_size = (uint32_t)(to->size - names) - head.name_size;
	runs = xcalloc(CODE_RUNS_MAX, sizeof(*runs));
	head.nr_runs = (uint32_t)python_lines(code->minor, (const uint8_t *)(code + 1), copied,
					      code->first_line, runs, CODE_RUNS_MAX);
	buffer_add(to, runs, head.nr_runs * sizeof(*runs));
	free(runs);
	memcpy(to->data + at, &head, sizeof(head));
}

/* ---- in the recorder */

static char *copy(const void *from, size_t size)
{
	return size ? memcpy(xmalloc(size), from, size) : NULL;
}

static int runs_ascend(const struct line_run *runs, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (runs[i].end <= (i ? runs[i - 1].end : 0) || runs[i].line > INT32_MAX)
			return 0;
	return 1;
}

size_t decoded_code_take(const void *answer, size_t size, struct decoded_code *ret)
{
	struct cursor c = cursor_at(answer, size, 0);
	const uint8_t *name, *file, *runs, *at = cursor_take(&c, sizeof(struct head));
	struct decoded_code code;
	struct head head;

	if (!at)
		return 0;
	memcpy(&head, at, sizeof(head));
	if (head.name_size > CODE_TEXT_MAX || head.file_size > CODE_TEXT_MAX ||
	    head.nr_runs > CODE_RUNS_MAX)
		return 0;
	name = cursor_take(&c, head.name_size);
	file = cursor_take(&c, head.file_size);
	runs = cursor_take(&c, head.nr_runs * sizeof(struct line_run));
	if (c.bad)
		return 0;
	code = (struct decoded_code){
		.name = copy(name, head.name_size),
		.file = copy(file, head.file_size),
		.runs = (struct line_run *)copy(runs, head.nr_runs * sizeof(struct line_run)),
		.name_size = head.name_size,
		.file_size = head.file_size,
		.nr_runs = head.nr_runs,
	};
	if (!runs_ascend(code.runs, code.nr_runs)) {
		decoded_code_fini(&code);
		return 0;
	}
	*ret = code;
	return size - cursor_left(&c);
}

void decoded_code_fini(struct decoded_code *code)
{
	free(code->name);
	free(code->file);
	free(code->runs);
	*code = (struct decoded_code){ 0 };
}
