/* Writes and reads the payload of RECORD_FACTS; see record.h. */
#ifndef SPROF_FACT_ROWS_H
#define SPROF_FACT_ROWS_H

#include <stdbool.h>

#include "core/profile/facts.h"

struct buffer;
struct cursor;
struct decoder;

/* Appends an entry, with ids of the encoder. `entry` is scratch space and is emptied first. */
void facts_encode(struct buffer *b, struct buffer *entry, enum fact_kind kind, const void *row);

/* Puts the entries into the decoder's profile. Returns false where they break the format. */
bool facts_decode(struct decoder *d, struct cursor *c);

#endif
