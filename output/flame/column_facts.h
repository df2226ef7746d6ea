/*
 * The texts around a picture that depend on its column, as attributes of the element that holds the
 * column's data. The script takes them from there when it switches to another column.
 */
#ifndef SPROF_COLUMN_FACTS_H
#define SPROF_COLUMN_FACTS_H

struct buffer;
struct summary;
struct tree;

/*
 * Appends data-name, data-title, data-origin, data-facts and data-legend, escaped, a space before
 * each.
 */
void column_facts_add(struct buffer *b, const struct tree *tree, const struct summary *summary);

/* Appends data-name alone. */
void column_facts_add_name(struct buffer *b, const struct summary *summary);

#endif
