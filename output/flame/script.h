/*
 * The script and style sheet of the flame graph, assembled from the files in output/flame/web. The
 * script is one function of flame*.js, in an HTML page also page*.js, without comments and
 * indentation.
 */
#ifndef SPROF_SCRIPT_H
#define SPROF_SCRIPT_H

#include <stdbool.h>

struct buffer;

/* Neither text contains what would end a CDATA section or a <script> or <style> element. */
void script_add(struct buffer *b, bool page);
/* `changes` adds the colours of changes, for a diff. */
void script_add_style(struct buffer *b, bool page, bool changes);

#endif
