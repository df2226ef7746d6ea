/*
 * What `sprof info` says about allocation functions that could not be hooked: in text and in JSON.
 */
#ifndef SPROF_INFO_UNHOOKED_H
#define SPROF_INFO_UNHOOKED_H

struct buffer;
struct profile;

/* Appends a table; nothing where all were hooked. */
void info_unhooked_text(struct buffer *b, const struct profile *p);
/* Appends the key "unhooked", a row for each function of each process. */
void info_unhooked_json(struct buffer *b, const struct profile *p);

#endif
