/* What `sprof info` says about Python's global interpreter lock (GIL): in text and in JSON. */
#ifndef SPROF_INFO_GIL_H
#define SPROF_INFO_GIL_H

struct buffer;
struct info;

/* Appends a line; nothing where the lock's state is not known. */
void info_gil_text(struct buffer *b, const struct info *info);
/*
 * Appends ',
 * "gil": ' and an object, or null.
 */
void info_gil_json(struct buffer *b, const struct info *info);

#endif
