/*
 * The lists at the end of a command's --help: what an option or an argument may name, with a
 * sentence for each, before the examples.
 */
#ifndef SPROF_HELP_LIST_H
#define SPROF_HELP_LIST_H

struct grid;

void help_list_init(struct grid *list);
/* `detail` stands in a column between the name and the sentence; "": nothing. */
void help_list_add(struct grid *list, const char *name, const char *detail, const char *help);
/* Frees the list. Returns it with its title, and `rest` below it, on the heap. */
char *help_list_end(struct grid *list, const char *title, const char *rest);

#endif
