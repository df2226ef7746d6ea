/* Spans of time on the command line: 30, 30s, 500ms, 80us, 5m, 1h, 7d. */
#ifndef SPROF_DURATION_H
#define SPROF_DURATION_H

#include <stdbool.h>
#include <stdint.h>

struct argp_state;

/* False where the text is not a duration; 0, with or without a unit, is one. */
bool duration_read(const char *text, uint64_t *ret_ns);

/* Returns ns, or 0 if the text is not a duration above 0. */
uint64_t duration_parse(const char *text);

/* The same for an option's argument; ends the program if it is not a duration. */
uint64_t duration_argument(const char *text, struct argp_state *state);

#endif
