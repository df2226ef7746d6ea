/* Spans of time on the command line: 30, 30s, 500ms, 5m, 1h. */
#ifndef SPROF_DURATION_H
#define SPROF_DURATION_H

#include <stdint.h>

struct argp_state;

/* In ns, more than 0; ends the program where it is none. */
uint64_t parse_duration(const char *text, struct argp_state *state);
/* The same, also of microseconds: "80us". */
uint64_t parse_short_duration(const char *text, struct argp_state *state);

#endif
