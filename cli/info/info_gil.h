/* What `sprof info` says of Python's global interpreter lock. */
#ifndef SPROF_INFO_GIL_H
#define SPROF_INFO_GIL_H

struct buffer;
struct info;

/* A line, or nothing where nothing is known of it. */
void info_gil_text(struct buffer *b, const struct info *info);
/* ',\n  "gil": ' and an object, or null. */
void info_gil_json(struct buffer *b, const struct info *info);

#endif
