/*
 * What a picture says of a column beside its boxes, for the script: attributes of the element that holds
 * its data. A script that may show several columns takes them from there.
 */
#ifndef SPROF_COLUMN_FACTS_H
#define SPROF_COLUMN_FACTS_H

struct buffer;
struct summary;
struct tree;

/* Appends data-name, data-title, data-origin, data-facts and data-legend, escaped, a space before each. */
void column_facts_add(struct buffer *b, const struct tree *tree, const struct summary *summary);

#endif
