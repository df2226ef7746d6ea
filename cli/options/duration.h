/* Spans of time on the command line: 30, 30s, 500ms, 80us, 5m, 1h, 7d. */
#ifndef SPROF_DURATION_H
#define SPROF_DURATION_H

#include <stdint.h>

struct argp_state;

/* ns; 0: the text is not a duration greater than 0. */
uint64_t duration_parse(const char *text);

/* The same of an option's argument: ends the program where it is no duration. */
uint64_t duration_argument(const char *text, struct argp_state *state);

#endif
