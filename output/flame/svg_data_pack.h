/* How the parts of the data of a picture become text: a raw deflate stream, in base64. */
#ifndef SPROF_SVG_DATA_PACK_H
#define SPROF_SVG_DATA_PACK_H

#include <stddef.h>

struct buffer;

/* Appends the parts, one after the other, and frees them. The first is always searched. */
void svg_data_pack(struct buffer *b, struct buffer *parts, size_t nr);

#endif
