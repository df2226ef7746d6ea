/*
 * Sums of a recording that is added to others: how long threads waited for locks, what they did
 * with their time, which system calls were made. Such a row grows while the recording is made and
 * is written again and again, so the rows of a recording are added to those of the others when all
 * of it was read.
 */
#ifndef SPROF_PART_SUMS_H
#define SPROF_PART_SUMS_H

#include <stdbool.h>

#include "core/profile/facts.h"

struct decoder;

/* Are rows of that kind such sums? */
bool part_sums_take(enum fact_kind kind);
/* Puts a row, with ids of the decoder's profile, in place of an earlier one with its key. */
bool part_sums_put(struct decoder *d, enum fact_kind kind, const uint64_t *row);
/*
 * All of the recording was read, and profile.meta is still its own: adds the rows to the profile
 * if a part of its time is wanted.
 */
void part_sums_add(struct decoder *d);

#endif
