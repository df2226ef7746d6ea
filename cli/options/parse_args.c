/*
 * argp and getopt print arguments as they are, on stderr. While they run, stderr is a stream that
 * cleans each line and writes it to the real one. They may end the program: exit(3) flushes it.
 */
#include "cli/options/parse_args.h"

#include <argp.h>
#include <stdio.h>
#include <string.h>

#include "core/base/buffer.h"
#include "core/base/clean_text.h"

struct cleaner {
	FILE *to;
	struct buffer line; /* the line, as far as it was written */
};

static void pass_on(struct cleaner *c, const char *end)
{
	struct buffer clean = { 0 };

	text_add_clean(&clean, c->line.data, c->line.size);
	buffer_add_string(&clean, end);
	fwrite(clean.data, 1, clean.size, c->to);
	buffer_fini(&clean);
	c->line.size = 0;
}

static ssize_t write_clean(void *cookie, const char *bytes, size_t size)
{
	struct cleaner *c = cookie;

	for (size_t i = 0; i < size; i++) {
		if (bytes[i] == '\n')
			pass_on(c, "\n");
		else
			buffer_add_char(&c->line, bytes[i]);
	}
	return (ssize_t)size;
}

static int close_cleaner(void *cookie)
{
	struct cleaner *c = cookie;

	if (c->line.size)
		pass_on(c, "");
	buffer_fini(&c->line);
	return 0;
}

void parse_args(const struct argp *argp, int argc, char **argv, void *input)
{
	const cookie_io_functions_t functions = { .write = write_clean, .close = close_cleaner };
	struct cleaner cleaner = { .to = stderr };
	FILE *clean = fopencookie(&cleaner, "w", functions);

	if (clean) {
		setvbuf(clean, NULL, _IOLBF, BUFSIZ);
		stderr = clean;
	}
	argp_parse(argp, argc, argv, ARGP_IN_ORDER, NULL, input);
	stderr = cleaner.to;
	if (clean)
		fclose(clean);
}
