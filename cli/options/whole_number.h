/* Whole numbers on the command line, in decimal digits: any, frequencies, process numbers. */
#ifndef SPROF_WHOLE_NUMBER_H
#define SPROF_WHOLE_NUMBER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct argp_state;

/* False where the text is not a number of at most `max`. */
bool whole_number_parse(const char *text, uint64_t max, uint64_t *ret_number);

/* How often samples are taken: from 1 to 20000 Hz; ends the program if it is no such number. */
uint32_t frequency_argument(const char *text, struct argp_state *state);

/* The one -p of a command that looks at one process; ends the program if it is not a number. */
void pid_argument(const char *text, struct argp_state *state, pid_t *pid);

#endif
