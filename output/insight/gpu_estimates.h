/* How collecting was limited (sprof record --max-overhead), and estimates of what it missed. */
#ifndef SPROF_GPU_ESTIMATES_REPORT_H
#define SPROF_GPU_ESTIMATES_REPORT_H

#include <stdbool.h>
#include <stdint.h>

struct buffer;
struct profile;

/* A line for each change of how much is collected; nothing where there was none. */
void gpu_levels_add(struct buffer *b, const struct profile *p);
/* The table of estimates, with a title; nothing where there are none. */
void gpu_estimates_add(struct buffer *b, const struct profile *p, bool unicode, uint32_t max_rows);
/* Both, as the members "levels" and "estimates" of a JSON object, without a comma at the end. */
void gpu_estimates_add_json(struct buffer *b, const struct profile *p);

#endif
