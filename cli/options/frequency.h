/* How often samples are taken, on the command line: from 1 to 20000 times a second. */
#ifndef SPROF_FREQUENCY_H
#define SPROF_FREQUENCY_H

#include <stdint.h>

struct argp_state;

/* Returns Hz; ends the program if the text is not a frequency. */
uint32_t frequency_argument(const char *text, struct argp_state *state);

#endif
