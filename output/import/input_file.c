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

void import_lines(struct buffer *text, bool (*read_line)(void *reader, char *line), void *reader,
		  uint64_t *nr_bad)
{
	char *at, *end;
	bool more = true;

	buffer_cstring(text); /* ends the last line */
	at = text->data;
	end = at + text->size;
	while (at < end && more) {
		char *line = at, *newline = memchr(line, '\n', (size_t)(end - line));
		char *stop = newline ? newline : end;

		at = newline ? newline + 1 : end;
		if (stop > line && stop[-1] == '\r')
			stop--;
		if (stop - line < MAX_LINE && !memchr(line, '\0', (size_t)(stop - line))) {
			*stop = '\0';
			more = read_line(reader, line);
		} else {
			++*nr_bad;
		}
	}
}

int import_text(FILE *f, const char *name, bool (*read_line)(void *reader, char *line),
		void *reader, uint64_t *nr_bad)
{
	struct buffer text = { 0 };
	int err = import_read_all(f, name, &text);

	if (!err)
		import_lines(&text, read_line, reader, nr_bad);
	buffer_fini(&text);
	return err;
}

void import_left_out(const char *name, const char *what, uint64_t nr)
{
	if (nr)
		log_warning("'%s': %s: %llu", name, what, (unsigned long long)nr);
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
