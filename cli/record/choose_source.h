/* Which source sprof record samples with. */
#ifndef SPROF_CHOOSE_SOURCE_H
#define SPROF_CHOOSE_SOURCE_H

struct source_ops;

/* The source of that name, or with "auto" the first that works here; NULL: none does, reported. */
const struct source_ops *record_source_choose(const char *name);

#endif
