/*
 * Reads files whole, up to a limit that keeps offsets within 32 bits: in most formats what comes
 * first refers to what comes later, so they cannot be read as a stream.
 */
#include "output/import/input_file.h"

#include <string.h>

#include "core/base/buffer.h"
#include "core/base/log.h"
#include "core/profile/profile.h"

#define MAX_SIZE ((size_t)2 << 30)

enum { MAX_LINE = 1 << 20 };

int import_read_all(FILE *f, const char *name, struct buffer *data)
{
	int err = buffer_add_file(data, f, MAX_SIZE);

	if (err)
		log_error(-err, "read '%s'", name);
	return err;
}

char *import_next_line(struct import_lines *lines)
{
	while (lines->at < lines->end) {
		char *line = lines->at, *newline = memchr(line, '\n', (size_t)(lines->end - line));
		char *stop = newline ? newline : lines->end;

		lines->at = newline ? newline + 1 : lines->end;
		if (stop > line && stop[-1] == '\r')
			stop--;
		if (stop - line < MAX_LINE && !memchr(line, '\0', (size_t)(stop - line))) {
			*stop = '\0';
			return line;
		}
		lines->nr_bad++;
	}
	return NULL;
}

int import_text(FILE *f, const char *name, struct profile *p,
		int (*read)(void *reader, struct import_lines *lines), void *reader,
		struct profile **ret_profile)
{
	struct buffer data = { 0 };
	int err = import_read_all(f, name, &data);

	if (!err) {
		struct import_lines lines = { 0 };

		buffer_add_char(&data, '\0'); /* the end of the last line */
		lines.at = data.data;
		lines.end = data.data + data.size - 1;
		err = read(reader, &lines);
	}
	buffer_fini(&data);
	return import_end(p, err, ret_profile);
}

void import_describe(struct profile *p, const char *name, const char *source)
{
	if (!p->meta.command)
		p->meta.command = profile_cstring(p, name);
	if (!p->meta.source)
		p->meta.source = profile_cstring(p, source);
	p->stats.nr_samples = p->nr_samples;
}

int import_end(struct profile *p, int err, struct profile **ret_profile)
{
	if (err)
		profile_free(p);
	else
		*ret_profile = p;
	return err;
}
