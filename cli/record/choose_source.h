/* Chooses the source with which sprof record takes samples. */
#ifndef SPROF_CHOOSE_SOURCE_H
#define SPROF_CHOOSE_SOURCE_H

struct source_ops;

/*
 * The source of that name, or with "auto" the first that works here. NULL: no source works,
 * reported.
 */
const struct source_ops *record_source_choose(const char *name);

#endif
