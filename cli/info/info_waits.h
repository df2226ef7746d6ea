/*
 * What `sprof info` says about the exact times of threads, on a CPU and off: in text and in JSON.
 */
#ifndef SPROF_INFO_WAITS_H
#define SPROF_INFO_WAITS_H

struct buffer;
struct profile;

/* Appends a table; nothing where the recording did not follow waits. */
void info_waits_text(struct buffer *b, const struct profile *p);
/* Appends the keys "times", the sums of all threads or null, and "thread_times", a row for each. */
void info_waits_json(struct buffer *b, const struct profile *p);

#endif
