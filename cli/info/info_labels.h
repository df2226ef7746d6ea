/* The labels of samples, as pprof has them, by key, with the number of their values. */
#ifndef SPROF_INFO_LABELS_H
#define SPROF_INFO_LABELS_H

struct buffer;
struct profile;

void info_labels_text(struct buffer *b, const struct profile *p);
void info_labels_json(struct buffer *b, const struct profile *p);

#endif
