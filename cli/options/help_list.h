/*
 * Lists in a command's --help, before the examples: the values of an option or an argument, with a
 * sentence for each.
 */
#ifndef SPROF_HELP_LIST_H
#define SPROF_HELP_LIST_H

struct grid;

void help_list_init(struct grid *list);
/* `detail` is a column between the name and the sentence, and may be "". */
void help_list_add(struct grid *list, const char *name, const char *detail, const char *help);
/* Returns the title, the list and `rest`, as text on the heap, and frees the list. */
char *help_list_end(struct grid *list, const char *title, const char *rest);

#endif
