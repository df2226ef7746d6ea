/* What `sprof info` says about labels of samples: each key, and how many values it has. */
#ifndef SPROF_INFO_LABELS_H
#define SPROF_INFO_LABELS_H

struct buffer;
struct profile;

void info_labels_text(struct buffer *b, const struct profile *p);
void info_labels_json(struct buffer *b, const struct profile *p);

#endif
