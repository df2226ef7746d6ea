/* Frames and stacks of a recording: see record.h and decode.h. */
#ifndef SPROF_DECODE_STACKS_H
#define SPROF_DECODE_STACKS_H

#include <stdbool.h>

struct cursor;
struct decoder;

/* Read RECORD_FRAMES and RECORD_STACKS. Return false at a fault; what comes before it is taken. */
bool frames_decode(struct decoder *d, struct cursor *c);
bool stacks_decode(struct decoder *d, struct cursor *c);

#endif
