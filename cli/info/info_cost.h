/*
 * What `sprof info` says about what the recorder itself took, and about changes of its rate: in
 * text and in JSON.
 */
#ifndef SPROF_INFO_COST_H
#define SPROF_INFO_COST_H

struct buffer;
struct profile;

/* Append lines; nothing where the recording has no such facts. */
void info_cost_text(struct buffer *b, const struct profile *p);
void info_rates_text(struct buffer *b, const struct profile *p);
/* Appends the keys "cost", an object or null, and "rates", a row for each change. */
void info_cost_json(struct buffer *b, const struct profile *p);

#endif
