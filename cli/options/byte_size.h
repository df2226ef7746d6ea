/* Sizes on the command line: 65536, 64k, 500M, 2G, 1.5T. */
#ifndef SPROF_BYTE_SIZE_H
#define SPROF_BYTE_SIZE_H

#include <stdint.h>

struct argp_state;

/* Returns bytes, or 0 if the text is not a size above 0. K, M, G and T are powers of 1024. */
uint64_t byte_size_parse(const char *text);

/* The same for an option's argument of 1M or more; ends the program if it is not such a size. */
uint64_t byte_size_argument(const char *text, struct argp_state *state);

#endif
