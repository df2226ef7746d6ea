/* Chooses the source with which sprof record takes samples. */
#ifndef SPROF_CHOOSE_SOURCE_H
#define SPROF_CHOOSE_SOURCE_H

struct record_opts;
struct source_ops;

/*
 * The source that was asked for, or with "auto" the first that works here and suits the targets.
 * What the chosen one leaves out is said. NULL: no source works, reported.
 */
const struct source_ops *record_source_choose(const struct record_opts *opts);

#endif
