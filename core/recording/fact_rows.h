/* The payload of RECORD_FACTS, written and read; see record.h. */
#ifndef SPROF_FACT_ROWS_H
#define SPROF_FACT_ROWS_H

#include <stdbool.h>

#include "core/profile/facts.h"

struct buffer;
struct cursor;
struct decoder;

/* Appends an entry; ids are the encoder's. `entry` is room for it, and is emptied first. */
void facts_encode(struct buffer *b, struct buffer *entry, enum fact_kind kind, const void *row);

/* Puts the entries into the decoder's profile. False where they do not follow the format. */
bool facts_decode(struct decoder *d, struct cursor *c);

#endif
