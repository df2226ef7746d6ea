/*
 * The text of a source file by line, for reports that show it beside their numbers. The file is
 * read on the machine where the report is made; the caller says if it was changed after the
 * recording.
 */
#ifndef SPROF_SOURCE_TEXT_H
#define SPROF_SOURCE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buffer;
struct source_text;

/*
 * Returns NULL for a relative path and for a file that is not regular, not readable or larger than
 * 16 MiB.
 */
struct source_text *source_text_open(const char *path);
void source_text_free(struct source_text *text); /* NULL is fine */

/*
 * Appends line `line`, 1 being the first, as clean text, with tabs as blanks up to the next
 * multiple of 8; without its indentation unless `indented`. Appends nothing for a line that the
 * file does not have.
 */
void source_text_add_line(struct buffer *b, const struct source_text *text, uint32_t line,
			  bool indented);

/* When the file was last written, in ns of Unix time. */
uint64_t source_text_changed_ns(const struct source_text *text);

#endif
