/*
 * What `sprof info` says about memory that PyTorch's allocators reported: in text and in JSON.
 */
#ifndef SPROF_INFO_TENSORS_H
#define SPROF_INFO_TENSORS_H

struct buffer;
struct profile;

/* Appends a table; nothing where the recording has none of that memory. */
void info_tensors_text(struct buffer *b, const struct profile *p);
/* Appends the key "tensors", a row for each device of each process. */
void info_tensors_json(struct buffer *b, const struct profile *p);

#endif
