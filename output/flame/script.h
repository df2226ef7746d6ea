/*
 * The script of the flame graph and its style sheet: the files flame*.js, and for a page page*.js, as
 * one function; comments and indentation left out.
 */
#ifndef SPROF_SCRIPT_H
#define SPROF_SCRIPT_H

#include <stdbool.h>

struct buffer;

/* Neither holds what would end a CDATA section or a <script> or <style> element. */
void script_add(struct buffer *b, bool page);
/* With the colours of kinds, or (changes) those of changes as well. */
void script_add_style(struct buffer *b, bool page, bool changes);

#endif
