/*
 * The text of a source file, by line, for reports that show it beside their numbers. The file is that
 * of the machine the report is made on; whether it is still what ran is for the caller to say.
 */
#ifndef SPROF_SOURCE_TEXT_H
#define SPROF_SOURCE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buffer;
struct source_text;

/*
 * NULL where there is nothing to show: no absolute path, no regular file, not readable, or larger
 * than 16 MiB.
 */
struct source_text *source_text_open(const char *path);
void source_text_free(struct source_text *text); /* NULL is fine */

/*
 * Appends line `line`, 1 being the first, as clean text, with tabs as blanks up to the next multiple of 8; without its
 * indentation unless `indented`. Appends nothing for a line that the file does not have.
 */
void source_text_add_line(struct buffer *b, const struct source_text *text, uint32_t line,
			  bool indented);

/* When it was last written, Unix time. */
uint64_t source_text_changed_ns(const struct source_text *text);

#endif
