/* Durations on the command line: 30, 30s, 500ms, 80us, 5m, 1h, 7d. */
#ifndef SPROF_DURATION_H
#define SPROF_DURATION_H

#include <stdint.h>

/* ns; 0: the text is not a duration greater than 0. */
uint64_t duration_parse(const char *text);

#endif
